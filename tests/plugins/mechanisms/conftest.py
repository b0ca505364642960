"""What the tests of the mechanisms share: a fit with its curator, a recorded cell, and a replay on neighbouring rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
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
def made_up_tables(table: Callable[..., Any]) -> Mapping[str, Rows]:
    """Two tables on which descents diverge: rare events, and counts near a bound, where X'X has one eigenvalue near nS."""
    rng, n = np.random.default_rng(0), 25_000
    severe, belt, age = rng.random(n) < 0.04, rng.random(n) < 0.7, rng.uniform(-1, 1, n)
    dead = rng.random(n) < 1 / (1 + np.exp(-(-4.0 + 3.6 * severe - belt + 0.8 * age)))
    rare = table(np.column_stack([2 * severe - 1, 2 * belt - 1, age]).astype(float), 2.0 * dead - 1, threshold=0.0)
    items, distance = np.minimum(rng.poisson(0.15, (10_000, 27)), 5), rng.gamma(4, 0.7, 10_000).clip(0, 15)
    minutes = (12 + 4 * distance + items @ rng.uniform(0, 3, 27) + rng.normal(0, 3, 10_000)).clip(0, 90)
    counts = table(np.column_stack([2 * items / 5 - 1, 2 * distance / 15 - 1]), 2 * minutes / 90 - 1)
    return {"rare": scale(rare, "box", True, "binary"), "counts": scale(counts, "box", True, "real")}


@pytest.fixture(scope="session")
def share_lost(
    made_up_tables: Mapping[str, Rows], make: Callable[..., Any], fit_mechanism: Callable[..., Fitted]
) -> Callable[[str, str, float], np.ndarray]:
    """The share lost on a made-up table by each of 10 fits of a mechanism: 0 for the exact fit, 1 for the mean predictor."""

    def lost(name: str, which: str, epsilon: float) -> np.ndarray:
        rows = made_up_tables[which]
        fitted = fit_mechanism(
            name, WholeSample(*[rows] * 10), make("model", "logistic" if which == "rare" else "linear"), epsilon
        )
        exact = fitted.problem.exact(WholeSample(rows)).weights
        mean = rows.y.mean()
        constant = np.eye(rows.x.shape[1])[:1] * (np.log(mean / (1 - mean)) if which == "rare" else mean)
        score = rows.x @ np.concatenate([fitted.fit.weights, exact, constant]).T
        target = rows.y[:, None]
        losses = (np.logaddexp(0, score) - target * score if which == "rare" else np.square(score - target)).mean(axis=0)
        return np.asarray((losses[:-2] - losses[-2]) / (losses[-1] - losses[-2]))

    return lost


@pytest.fixture(scope="session")
def assert_more_budget_is_never_worse(share_lost: Callable[[str, str, float], np.ndarray]) -> Callable[[str, str], None]:
    """Checks that no median share lost rises by more than 0.05, and that from ε = 1 on four of five runs learn something."""

    def check(name: str, which: str) -> None:
        losses = [share_lost(name, which, epsilon) for epsilon in (0.3, 1.0, 3.0, 10.0)]
        medians = [float(np.median(loss)) for loss in losses]
        assert all(later <= earlier + 0.05 for earlier, later in pairwise(medians)), medians
        assert max(float(np.quantile(loss, 0.8)) for loss in losses[1:]) < 1

    return check


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
