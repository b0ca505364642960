"""What the tests of the mechanisms share: a fit with its curator, a recorded cell, and a replay on neighbouring rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from dpbench.cells.cell import Cell, ComponentChoice, Settings
from dpbench.cells.summaries import record_of
from dpbench.cells.unit_runner import run_unit
from dpbench.cells.work_unit import BlockResult, Unit
from dpbench.contracts.fit import Fit
from dpbench.contracts.model import Model, Problem
from dpbench.data.bins import Binning
from dpbench.data.samples import Sample, WholeSample
from dpbench.data.scaling import Rows, scale
from dpbench.data.splits import Splits
from dpbench.privacy.curator import Curator
from dpbench.privacy.noise import Draws
from dpbench.privacy.replay import ReplayCurator
from dpbench.records.cell_tags import Provenance


class Fitted(NamedTuple):
    """A fit with the problem and the curator that it used. The curator keeps a tape."""

    fit: Fit
    problem: Problem
    curator: Curator


@pytest.fixture(scope="session")
def fit_mechanism(make: Callable[..., Any], curate: Callable[..., Curator]) -> Callable[..., Fitted]:
    """Fits a mechanism of this name to a sample (or to rows, in one run)."""

    def fitted(
        name: str, sample: Sample | Rows, model: Model, epsilon: float, seed: int = 0, runs: Any = None, **options: Any
    ) -> Fitted:
        mechanism = make("mechanism", name, **options)
        curator = curate(sample, epsilon=epsilon, currency=mechanism.counted(), seed=seed, runs=runs)
        problem = model.prepare(curator)
        return Fitted(mechanism.fit(curator, problem, curator.ledger.budget), problem, curator)

    return fitted


@pytest.fixture(scope="session")
def replay_ratios(make: Callable[..., Any]) -> Callable[..., list[float]]:
    """Replays a fit of one run on neighbouring rows; returns how much of the allowed change each answer used."""

    def ratios(name: str, fitted: Fitted, neighbour: Rows, **options: Any) -> list[float]:
        budget, tape = fitted.curator.ledger.budget, fitted.curator.tape
        curator = ReplayCurator(WholeSample(neighbour), Draws(0, "test", [(0, 0)]), budget, tape)
        again = make("mechanism", name, **options).fit(curator, fitted.problem, budget)
        curator.finish()
        np.testing.assert_array_equal(fitted.fit.weights, again.weights)
        return list(curator.ratios)

    return ratios


@pytest.fixture(scope="session")
def assert_fit_of_binned_rows() -> Callable[..., None]:
    """Checks that a fit predicts as the exact fit to rows that are moved to the centres of their bins."""

    def check(fitted: Fitted, train: Rows, bins: int, model: str) -> None:
        binning = Binning(train.geometry, bins)
        binned = binning.centres(binning.locate(train))
        weights, exact = fitted.fit.weights[0], fitted.problem.exact(WholeSample(binned)).weights[0]
        if model == "robust":  # least absolute deviations may have several minimisers, so the errors are compared
            errors = [np.abs(binned.y - binned.x @ vector).sum() for vector in (weights, exact)]
            assert errors[0] == pytest.approx(errors[1], rel=1e-6)
        else:
            tolerance = 1e-4 if model in ("lasso", "elastic_net") else 1e-6
            np.testing.assert_allclose(binned.x @ weights, binned.x @ exact, rtol=0, atol=tolerance)

    return check


@pytest.fixture(scope="session")
def run_cell(make: Callable[..., Any]) -> Callable[..., tuple[Cell, list[BlockResult]]]:
    """Runs a cell of one repeat, with the linear model."""

    def run(mechanism: str, dataset: str = "wine", **options: Any) -> tuple[Cell, list[BlockResult]]:
        names = {"mechanism": mechanism, "model": "linear", "dataset": dataset, "attack": "none"}
        choices = [
            ComponentChoice(name, make(kind, name, **(options if kind == "mechanism" else {})).options())
            for kind, name in names.items()
        ]
        cell = Cell(*choices, Splits(repeats=1), Settings(), {})
        parts = run_unit(Unit((cell,), (0,)))
        assert [part.error for part in parts] == [""]
        return cell, parts

    return run


@pytest.fixture(scope="session")
def cell_record(run_cell: Callable[..., tuple[Cell, list[BlockResult]]]) -> Callable[..., Any]:
    """The record of such a cell."""

    def record(mechanism: str, dataset: str = "wine", **options: Any) -> Any:
        cell, parts = run_cell(mechanism, dataset, **options)
        return record_of(cell, parts, {}, Provenance(False, 0, "", "", ""), "rmse")

    return record


@pytest.fixture
def drawn(table):
    """300 rows of 3 numeric columns and a group, which is collinear with an intercept."""

    def rows(target: str = "real", scaling: str = "box", n: int = 300) -> Rows:
        generator = np.random.default_rng(n)
        x = np.column_stack([generator.uniform(-1, 1, (n, 3)), np.eye(3)[generator.integers(3, size=n)]])
        y = np.tanh(x @ np.array([1.0, -1, 0, 0.5, 0, -0.5]) + 0.3 * generator.normal(size=n))
        return scale(table(x, y, (3,), threshold=0.1), scaling, True, target)

    return rows
