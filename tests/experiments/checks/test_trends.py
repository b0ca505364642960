"""Trends over the whole range of a parameter, and answers that depend on where the grid ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from made_cells import AB, CURVE, NOISE, TIME, A, along, answer, at_epsilons, claimed, findings, level

from dpbench.records.cell_record import CellRecord

GRID = (0.01, 0.1, 1, 10, 100)
SECONDS = {"metric": ["time/fit_seconds"]}
SETTLES = {**CURVE, "share": 0.5}


def spreading(*spreads: float, **more: Any) -> list[CellRecord]:
    """Cells along GRID whose values have exactly these standard deviations, in different draws."""
    noise = [row - row.mean() for row in NOISE[: len(spreads)]]
    values = [0.5 + spread * row / row.std(ddof=1) for spread, row in zip(spreads, noise, strict=True)]
    return along("epsilon", GRID[: len(spreads)], values, **more)


def test_the_change_of_a_power_law_is_exact() -> None:
    bound = findings("settles", SETTLES, spreading(1, 0.1, 0.01, 0.001, 0.0001))[0].bounds[0]
    assert bound.value == pytest.approx(1e-8)
    (bound,) = findings("rises", {**CURVE, **SECONDS}, at_epsilons(1.0, 2.0, 4.0, **TIME))[0].bounds
    assert bound.value == pytest.approx(3.0)
    assert (bound.low, bound.high) == pytest.approx((4 / 1.2 - 1, 4 * 1.2 - 1))


def test_one_wild_value_at_the_end_is_no_end_of_a_trend() -> None:
    """First against last would say that the spread does not fall at all."""
    rows = spreading(1, 0.1, 0.01, 0.001, 1.1)
    assert findings("settles", SETTLES, rows)[0].bounds[0].value < 0.5
    assert findings("unsettled", SETTLES, rows)[0].holds is not True


def test_a_curve_that_levels_off_early_has_still_settled() -> None:
    """More values where it is level already do not turn the answer round."""
    for level_part in range(1, 4):
        assert answer("settles", SETTLES, spreading(0.2, *[0.0002] * level_part)) is True


@pytest.mark.parametrize("name", ["settles", "unsettled"])
@pytest.mark.parametrize("spreads", [(1, 0.1, 0.01, 0.001), (0.001, 0.01, 0.1, 1), (1, 1, 1, 1), (1, 0.8, 0.9, 0.75)])
def test_settled_and_unsettled_are_opposites(name: str, spreads: tuple[float, ...]) -> None:
    answers = {other: answer(other, SETTLES, spreading(*spreads)) for other in ("settles", "unsettled")}
    assert answers["settles"] is not answers["unsettled"] or answers["settles"] is None
    bounds = [findings(other, SETTLES, spreading(*spreads))[0].bounds[0] for other in answers]
    assert (bounds[0].value, bounds[0].low, bounds[0].high) == (bounds[1].value, bounds[1].low, bounds[1].high)


def test_an_answer_that_depends_on_the_last_value_says_so() -> None:
    (finding,) = findings("settles", SETTLES, spreading(1, 1.5, 2, 3, 0.000001))
    assert finding.holds is True
    assert finding.remark == "without ε = 100 it does not hold"
    assert str(finding).endswith("; without ε = 100 it does not hold")
    (finding,) = findings("falls", CURVE, at_epsilons(level(0.1), level(0.1, index=1), level(0.05, index=2)))
    assert (finding.holds, finding.remark) == (True, "without ε = 10 it is not decided")


def test_an_answer_that_does_not_depend_on_the_last_value_says_nothing() -> None:
    assert findings("settles", SETTLES, spreading(1, 0.1, 0.01, 0.001, 0.0001))[0].remark == ""
    assert findings("settles", SETTLES, spreading(1, 0.0001))[0].remark == "", "a grid of two values cannot be shortened"


def test_a_verdict_says_how_many_of_its_answers_depend_on_the_end() -> None:
    rows = [*spreading(1, 1.5, 2, 3, 0.000001), *spreading(1, 0.1, 0.01, 0.001, 0.0001, dataset="other")]
    verdict = claimed(rows, {"check": {"settles": SETTLES}})
    assert verdict.evidence[-1] == "1 of 2 answers depend on where the grid ends"
    verdict = claimed(rows[5:], {"check": {"settles": SETTLES}})
    assert not any("grid ends" in line for line in verdict.evidence)


def test_falling_is_judged_by_the_line_of_each_repeat_and_by_every_step() -> None:
    rows = at_epsilons(level(0.3, 1e-9), level(0.2, 1e-9), level(0.1, 1e-9))
    (bound,) = findings("falls", CURVE, rows)[0].bounds
    assert bound.value == pytest.approx(-0.2)
    assert "medians 0.1 against 0.3" in str(bound)
    back = at_epsilons(level(0.3), level(0.1, index=1), level(0.2, index=2))
    assert [bound.holds for bound in findings("falls", CURVE, back)[0].bounds] == [True, False]


def test_with_two_values_the_line_is_their_paired_difference() -> None:
    rows = at_epsilons(level(0.3), level(0.1, index=1))
    (bound,) = findings("falls", CURVE, rows)[0].bounds
    differences = level(0.1, index=1) - level(0.3)
    pairs = [(a + b) / 2 for i, a in enumerate(differences) for b in differences[i:]]
    assert bound.value == pytest.approx(float(np.median(pairs)))


def test_approaching_allows_single_steps_back_but_not_a_wrong_trend() -> None:
    def curve(*ratios: float) -> list[CellRecord]:
        reference = {"reference/no_privacy/rmse": level(1, 0.001)}
        return along("epsilon", GRID, [level(ratio, 0.001, index) for index, ratio in enumerate(ratios)], more=reference)

    assert answer("approaches", CURVE, curve(5, 6, 3, 1.5, 1.01)) is True
    assert answer("approaches", CURVE, curve(1.001, 1.001, 1.01, 1.02, 1.03)) is False
    assert answer("approaches", CURVE, curve(5, 6, 3, 2, 1.5)) is False
    (finding,) = findings("approaches", CURVE, curve(5, 6, 3, 1.5, 1.01))
    assert finding.remark == "without ε = 100 it does not hold"


def test_timings_have_a_margin() -> None:
    options = {**CURVE, **SECONDS}
    assert answer("rises", options, at_epsilons(1.0, 2.0, **TIME)) is True
    assert answer("rises", options, at_epsilons(2.0, 1.0, **TIME)) is False
    assert answer("rises", options, at_epsilons(1.0, 1.1, **TIME)) is None


def test_nothing_falls_by_more_than_all_of_it() -> None:
    options = {**CURVE, **SECONDS}
    bound = findings("falls", options, at_epsilons(100.0, 1.0, **TIME))[0].bounds[0]
    assert -1 < bound.low < bound.value < bound.high < 0
    assert "(-99.2 to -98.8)" in str(bound)


def test_growth_is_compared_over_the_same_values_only() -> None:
    rows = [*at_epsilons(1.0, 4.0, 9.0, **TIME), *at_epsilons(1.0, 2.0, mechanism="b", **TIME)]
    assert findings("grows_faster", {**AB, **SECONDS}, rows) == []


def test_growth_is_a_factor_along_the_power_law() -> None:
    rows = [*at_epsilons(1.0, 10.0, 100.0, **TIME), *at_epsilons(2.0, 4.0, 8.0, mechanism="b", **TIME)]
    assert findings("grows_faster", {**AB, **SECONDS}, rows)[0].bounds[0].value == pytest.approx(25.0)
    widening = {"cells": {"mechanism": "b"}, "against": A, **SECONDS}
    assert findings("widens", widening, rows)[0].bounds[0].value == pytest.approx(25.0)
