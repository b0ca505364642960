"""Every check can hold, fail and leave open what the numbers do not separate, and is documented."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_cells import (
    AB,
    ALPHA,
    CURVE,
    NEEDS,
    NOISE,
    TIME,
    A,
    B,
    C,
    against_reference,
    answer,
    at_epsilons,
    by_rows,
    cell,
    findings,
    level,
    pair,
    shaped,
)

from dpbench.base.options import options_of
from dpbench.experiments.claims import CHECKS
from dpbench.records.cell_record import CellRecord, DetailInMemory

WIDE, NARROW = level(0.5, 0.1, 1), level(0.5, 0.001, 2)


def widening(last: float, spread: float = 0.001) -> list[CellRecord]:
    own = at_epsilons(level(0.1, spread, 0), level(0.1, spread, 1))
    return own + at_epsilons(level(0.2, spread, 2), level(last, spread, 3), mechanism="b")


def traded(metric: np.ndarray, loss: np.ndarray, other: np.ndarray, loss_of_other: np.ndarray) -> list[CellRecord]:
    return [cell("a", metric, more={"utility/mse": loss}), cell("b", other, more={"utility/mse": loss_of_other})]


CASES: dict[str, tuple[dict[str, Any], list[CellRecord], list[CellRecord], list[CellRecord]]] = {
    # the check's options, and cells for which it holds, does not hold, and cannot be decided
    "below": (AB, pair(level(0.1), level(0.2)), pair(level(0.2), level(0.1)), pair(level(0.1), level(0.1, index=1))),
    "above": (AB, pair(level(0.2), level(0.1)), pair(level(0.1), level(0.2)), pair(level(0.1), level(0.1, index=1))),
    "between": (
        {"cells": A, "over": B, "under": C},
        [*pair(level(0.2), level(0.1, index=1)), cell("c", level(0.3, index=2))],
        [*pair(level(0.2), level(0.1, index=1)), cell("c", level(0.15, index=2))],
        [*pair(level(0.2), level(0.1, index=1)), cell("c", level(0.2, index=2))],
    ),
    "trades_off": (
        {**AB, "loses": ["utility/mse"]},
        traded(level(0.1), level(0.3), level(0.2, index=1), level(0.1, index=2)),
        traded(level(0.1), level(0.3), level(0.2, index=1), level(0.4, index=2)),
        traded(level(0.1), level(0.3), level(0.2, index=1), level(0.3, index=2)),
    ),
    "exceeds": (
        {**AB, "by": 0.05},
        pair(level(0.26), level(0.2, index=1)),
        pair(level(0.24), level(0.2, index=1)),
        pair(level(0.25, 0.1), level(0.2, 0.1, 1)),
    ),
    "within": (
        {**AB, "ratio": 1.05},
        pair(level(1.04, 0.001), level(1, 0.001, 1)),
        pair(level(1.06, 0.001), level(1, 0.001, 1)),
        pair(level(1.05, 0.1), level(1, 0.1, 1)),
    ),
    "near": (
        {**AB, "ratio": 1.05},
        pair(level(0.97, 0.001), level(1, 0.001, 1)),
        pair(level(0.94, 0.001), level(1, 0.001, 1)),
        pair(level(0.952, 0.1), level(1, 0.1, 1)),
    ),
    "faster": (
        {**AB, "times": 10},
        [cell("a", 1.0, **TIME), cell("b", 13.0, **TIME)],
        [cell("a", 1.0, **TIME), cell("b", 8.0, **TIME)],
        [cell("a", 1.0, **TIME), cell("b", 11.0, **TIME)],
    ),
    "wider": (AB, pair(WIDE, NARROW), pair(NARROW, WIDE), pair(WIDE, WIDE + 1e-6 * NOISE[3])),
    "skewed": (
        {"cells": A, "times": 1.5},
        [cell("a", [*[1.0] * 30, *[9.0] * 10])],
        [cell("a", level(1, 0.01))],
        [cell("a", [*[1.0] * 38, *[15.0] * 2])],
    ),
    "in_range": (
        {"cells": A, "low": 0.93, "high": 0.97},
        [cell("a", level(0.95))],
        [cell("a", level(0.98))],
        [cell("a", level(0.931))],
    ),
    "falls": (
        CURVE,
        at_epsilons(level(0.3), level(0.2, index=1), level(0.1, index=2)),
        at_epsilons(level(0.3), level(0.1, index=1), level(0.2, index=2)),
        at_epsilons(level(0.3), level(0.3, index=1), level(0.3, index=2)),
    ),
    "rises": (
        CURVE,
        at_epsilons(level(0.1), level(0.2, index=1), level(0.3, index=2)),
        at_epsilons(level(0.1), level(0.3, index=1), level(0.2, index=2)),
        at_epsilons(level(0.3), level(0.3, index=1), level(0.3, index=2)),
    ),
    "approaches": (
        {**CURVE, "ratio": 1.05},
        [
            replace(row, params={**row.params, "epsilon": e})
            for row, e in ((against_reference(level(2), level(1)), "1"), (against_reference(level(1.01), level(1)), "9"))
        ],
        [
            replace(row, params={**row.params, "epsilon": e})
            for row, e in ((against_reference(level(2), level(1)), "1"), (against_reference(level(1.2), level(1)), "9"))
        ],
        [
            replace(row, params={**row.params, "epsilon": e})
            for row, e in ((against_reference(level(2), level(1)), "1"), (against_reference(level(1.05, 0.1), level(1)), "9"))
        ],
    ),
    "stable": (
        {**CURVE, "share": 0.05},
        at_epsilons(level(1), level(1.01, index=1), level(1.02, index=2)),
        at_epsilons(level(1), level(1.1, index=1), level(1, index=2)),
        at_epsilons(level(1, 0.1), level(1.05, 0.1, 1), level(1, 0.1, 2)),
    ),
    "settles": (CURVE, at_epsilons(WIDE, NARROW), at_epsilons(NARROW, WIDE), at_epsilons(WIDE, level(0.5, 0.07, 2))),
    "unsettled": (CURVE, at_epsilons(NARROW, WIDE), at_epsilons(WIDE, NARROW), at_epsilons(WIDE, level(0.5, 0.07, 2))),
    "u_shape": (ALPHA, shaped(0.3, 0.1, 0.3), shaped(0.3, 0.2, 0.1), shaped(0.3, 0.3, 0.3)),
    "needs_less": (
        NEEDS,
        [*by_rows((0.2, 0.9, 1), "a"), *by_rows((0, 0.1, 0.9), "b")],
        [*by_rows((0, 0.1, 0.9), "a"), *by_rows((0.2, 0.9, 1), "b")],
        [*by_rows((0.2, 0.5, 1), "a", 0.3), *by_rows((0.2, 0.5, 1), "b", 0.31)],
    ),
    "grows_faster": (
        {**AB, "metric": ["time/fit_seconds"]},
        [*at_epsilons(1.0, 9.0, **TIME), *at_epsilons(1.0, 3.0, mechanism="b", **TIME)],
        [*at_epsilons(1.0, 3.0, **TIME), *at_epsilons(1.0, 9.0, mechanism="b", **TIME)],
        [*at_epsilons(1.0, 3.3, **TIME), *at_epsilons(1.0, 3.0, mechanism="b", **TIME)],
    ),
    "widens": ({**AB, "along": "epsilon"}, widening(0.4), widening(0.15), widening(0.2, 0.03)),
}


@pytest.mark.parametrize("name", CHECKS)
class TestCheck:
    def test_it_holds_where_it_does(self, name: str) -> None:
        options, holds, _, _ = CASES[name]
        assert answer(name, options, holds) is True

    def test_it_does_not_hold_where_it_does_not(self, name: str) -> None:
        options, _, fails, _ = CASES[name]
        assert answer(name, options, fails) is False

    def test_what_the_numbers_do_not_separate_is_left_open(self, name: str) -> None:
        options, _, _, open_ = CASES[name]
        assert answer(name, options, open_) is None

    def test_few_repeats_decide_nothing(self, name: str) -> None:
        options, holds, _, _ = CASES[name]
        if name in ("faster", "grows_faster", "within", "near", "in_range"):
            return  # one timing has its own margin; Student's t knows how few there are
        few = [
            replace(row, detail=replace(DetailInMemory(), runs={key: values[:3] for key, values in row.detail.runs.items()}))
            for row in holds
        ]
        assert answer(name, options, few) is None

    def test_it_says_nothing_without_cells(self, name: str) -> None:
        assert findings(name, CASES[name][0], []) == []

    def test_failed_cells_do_not_count(self, name: str) -> None:
        options, holds, _, _ = CASES[name]
        assert findings(name, options, [replace(row, state="failed") for row in holds]) == []


@pytest.mark.parametrize("name", CHECKS)
def test_the_page_has_every_check_with_its_options(name: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "claims.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("|") and f"`{name}`" in line.split("|")[1])
    options = {option.name for option in options_of(CHECKS[name])} - {"cells", "metric"}
    text = page if "the same" in row else row
    assert all(f"`{option}`" in text for option in options)
