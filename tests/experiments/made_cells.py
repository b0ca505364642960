"""Cells made up for tests of checks and verdicts: with these values of a metric, along these parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpbench.experiments.checks.check import Finding
from dpbench.experiments.claims import CHECKS, NEWEST, Claim, Verdict, judge
from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.records.sweep_record import SweepRecord

NOISE = np.random.default_rng(1).normal(size=(8, 40))
"""Standard normal noise, the same in every test: eight cells of 40 repeats."""
ENDS = (0.1, 1, 10)
SHAPE = (0.1, 0.5, 0.9)
A, B, C = {"mechanism": "a"}, {"mechanism": "b"}, {"mechanism": "c"}
AB = {"cells": A, "against": B}
CURVE = {"cells": A, "along": "epsilon"}
ALPHA = {"cells": A, "along": "mechanism.alpha"}
NEEDS = {"cells": A, "against": B, "along": "dataset.n"}
TIME = {"name": "time/fit_seconds"}


def cell(
    mechanism: str,
    values: Any = (),
    name: str = "utility/rmse",
    *,
    repeats: int | None = None,
    more: dict[str, Any] | None = None,
    **params: Any,
) -> CellRecord:
    """A cell with these values of a metric, one a repeat, and more metrics beside it; a number alone is one that has no runs."""
    known = {name: values, **(more or {})}
    runs = {key: np.asarray(value, dtype=float)[:repeats] for key, value in known.items() if np.ndim(value)}
    metrics = {key: float(value) for key, value in known.items() if not np.ndim(value)}
    metrics |= {f"{key}_median": float(np.median(value)) for key, value in runs.items()}
    count = max((len(value) for value in runs.values()), default=0)
    runs |= {"repeat": np.arange(count), "fold": np.zeros(count, dtype=int)}
    given = {key.replace("__", "."): str(value) for key, value in params.items()}
    base = {"mechanism": mechanism, "model": "linear", "dataset": "wine", "attack": "none", "epsilon": "1", "splits": "s"}
    tags = {"dpbench.private": "true", "dpbench.sound": "true", "dpbench.synthetic": "false"}
    return CellRecord("run", {**base, **given}, tags, metrics, "rmse", detail=replace(DetailInMemory(), runs=runs))


def level(mean: float, spread: float = 0.01, index: int = 0) -> np.ndarray:
    return mean + spread * NOISE[index]


def findings(check: str, options: dict[str, Any], rows: Sequence[CellRecord]) -> list[Finding]:
    return list(CHECKS[check](**options).findings(rows))


def answer(check: str, options: dict[str, Any], rows: Sequence[CellRecord]) -> bool | None:
    found = findings(check, options, rows)
    assert len(found) == 1, found
    return found[0].holds


def along(key: str, points: Sequence[Any], values: Sequence[Any], mechanism: str = "a", **more: Any) -> list[CellRecord]:
    return [cell(mechanism, value, **{key: point}, **more) for point, value in zip(points, values, strict=True)]


def at_epsilons(*values: Any, **more: Any) -> list[CellRecord]:
    return along("epsilon", ENDS[: len(values)], values, **more)


def against_reference(values: Any, reference: Any, name: str = "reference/no_privacy/rmse") -> CellRecord:
    return cell("a", values, more={name: reference})


def by_rows(values: Sequence[float], mechanism: str, spread: float = 0.01) -> list[CellRecord]:
    """A log-likelihood for each number of rows: the mean predictor has 0, the non-private fit 1."""
    beside = {"reference/mean_predictor/rmse": np.zeros(40), "reference/no_privacy/rmse": np.ones(40)}
    cells = [level(value, spread, index) for index, value in enumerate(values)]
    return along("dataset__n", (100, 1000, 10000), cells, mechanism, more=beside)


def pair(first: Any, other: Any) -> list[CellRecord]:
    return [cell("a", first), cell("b", other)]


def shaped(*values: float, spread: float = 0.01) -> list[CellRecord]:
    return along("mechanism__alpha", SHAPE, [level(value, spread, index) for index, value in enumerate(values)])


def places(*differences: float) -> list[CellRecord]:
    """Cells of two mechanisms at one ε for each difference: b's error minus a's."""
    return [
        row
        for index, difference in enumerate(differences)
        for row in (cell("a", level(0.2 - difference), epsilon=index + 1), cell("b", level(0.2, index=1), epsilon=index + 1))
    ]


def claimed(rows: Sequence[CellRecord], claim: dict[str, Any] | None = None, **more: Any) -> Verdict:
    """The verdict on a claim without presets, that A is below B."""
    options = {"paper": "p", "title": "A paper", "says": "A is below B.", "check": {"below": AB}, **(claim or {})}
    return judge(Claim(**options), {NEWEST: SweepRecord(tuple(rows), "command", **more)})
