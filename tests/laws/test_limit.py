"""Where noise vanishes, a mechanism is the non-private fit: whatever its options, and on singular designs too."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpbench.data.blocks import Block
from dpbench.data.scaling import Rows, scale
from dpbench.data.splits import Splits
from dpbench.data.table import Table
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws

FM = [
    ("fm", {"convention": convention, "sensitivity": sensitivity, "repair": repair})
    for convention, sensitivity, repair in product(
        ["monomial", "matrix", "code"], ["paper", "code", "tight"], ["trim", "floor", "none", "stationary"]
    )
]
DPBA = [
    ("dpba", {"alpha": alpha, "repair": repair}) for alpha, repair in product(["paper", "opt", 0.3], ["trim", "floor", "none"])
]
MECHANISMS: list[tuple[str, dict[str, Any]]] = [*FM, *DPBA, ("no_privacy", {})]
DESIGNS = [
    "regular",
    "duplicate column",
    "constant column",
    "zero column",
    "one-hot",
    "two one-hot groups",
    "fewer rows than columns",
]


def drawn(design: str) -> tuple[np.ndarray, tuple[int, ...], int]:
    """Features, the sizes of the one-hot groups, and how many of the rows are trained on."""
    generator = np.random.default_rng(len(design))
    n, d, groups = 240, 5, ()
    if design == "fewer rows than columns":
        return generator.uniform(-1, 1, (7, 11)), groups, 7
    x = generator.uniform(-1, 1, (n, d))
    if design == "duplicate column":
        x[:, 3] = x[:, 1]
    if design == "constant column":
        x[:, 2] = 1
    if design == "zero column":
        x[:, 2] = 0
    if design == "one-hot":
        groups = (4,)
    if design == "two one-hot groups":
        groups = (3, 2)
    levels = [np.eye(size)[generator.integers(size, size=n)] for size in groups]
    return np.column_stack([x, *levels]), groups, 160


def least_squares(rows: Rows, penalty: float) -> np.ndarray:
    """lstsq on the rows; a penalty adds the rows sqrt(n λ) e_j, none for the intercept."""
    size = rows.geometry.dimension
    extra = np.sqrt(rows.n * penalty) * np.eye(size)[int(rows.geometry.intercept) :]
    x, y = (np.vstack([rows.x, extra]), np.append(rows.y, np.zeros(len(extra)))) if penalty else (rows.x, rows.y)
    return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0])


CASES = {
    f"{design}, {scaling}{', intercept' if intercept else ''}": (design, scaling, intercept)
    for design, scaling, intercept in product(DESIGNS, ["box", "ball"], [False, True])
} | {f"{design}, corner": (design, "corner", False) for design in DESIGNS if "one-hot" not in design}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, table: Callable[..., Table]) -> tuple[Rows, Rows]:
    """Rows to train on, and rows to predict."""
    design, scaling, intercept = CASES[request.param]
    x, groups, trained = drawn(design)
    generator = np.random.default_rng(1)
    y = np.clip(np.tanh(x @ generator.normal(size=x.shape[1])) + 0.2 * generator.normal(size=len(x)), -1, 1)
    scaled = scale(table(x, y, groups), scaling, intercept, "real")
    return scaled.take(np.arange(trained)), scaled


@pytest.mark.parametrize("penalty", [None, 0.01])
def test_with_vanishing_noise_predictions_are_least_squares(case, penalty, make, curate) -> None:
    train, everything = case
    model = make("model", "linear") if penalty is None else make("model", "ridge", penalty=penalty)
    expected = everything.x @ least_squares(train, penalty or 0.0)
    for (name, options), epsilon in product(MECHANISMS, [1e13, 1e15]):
        if options.get("alpha") == "paper" and epsilon < 1e15:
            continue  # its linear coefficients get hundreds of times the noise
        curator = curate(train, epsilon=epsilon)
        fit = make("mechanism", name, **options).fit(curator, model.prepare(curator), curator.ledger.budget)
        error = np.abs(everything.x @ fit.weights[0] - expected).max()
        assert error < 1e-8, f"{name} {options} at {epsilon:g}: predictions differ from least squares by {error:.2e}"


@pytest.mark.parametrize(("name", "options"), MECHANISMS[:-1])
def test_the_error_falls_as_one_over_epsilon(name, options, make, curate, table) -> None:
    x, _, _ = drawn("regular")
    train = scale(table(x, np.tanh(x.sum(axis=1))), "box", True, "real")
    problem = make("model", "linear").prepare(curate(train))
    exact = least_squares(train, 0.0)

    def error(epsilon: float) -> np.ndarray:
        curator = curate(train, epsilon=epsilon)
        fit = make("mechanism", name, **options).fit(curator, problem, curator.ledger.budget)
        return np.asarray(fit.weights[0] - exact)

    small, smaller = error(1e6), error(1e9)
    assert np.abs(small).max() > 1e-9, "no noise at all"
    np.testing.assert_allclose(small, smaller * 1e3, rtol=0.05, atol=0.05 * np.abs(small).max())


def test_every_fold_of_a_split_reaches_its_own_least_squares(make, table, score) -> None:
    x, groups, _ = drawn("one-hot")
    rows = scale(table(x, np.tanh(x.sum(axis=1)), groups), "box", True, "real")
    splits = Splits(repeats=3, folds=4)
    block = Block(lambda r: rows, lambda r: splits.assign(rows.n, rows.n, 0, "t", r), range(3), splits.parts, splits.tests)
    problem = make("model", "linear").prepare(Curator(block.train, Draws(0, "t", block.runs), Budget(1.0, 1e-6, "pure")))
    for name, options in MECHANISMS:
        curator = Curator(block.train, Draws(0, "t", block.runs), Budget(1e15, 1e-6, "pure"))
        fit = make("mechanism", name, **options).fit(curator, problem, curator.ledger.budget)
        for run, weights in enumerate(fit.weights):
            train, test = block.train.rows(run), block.test.rows(run)
            np.testing.assert_allclose(test.x @ weights, test.x @ least_squares(train, 0.0), rtol=0, atol=1e-8)
        errors = [np.mean((block.test.rows(run).x @ w - block.test.rows(run).y) ** 2) for run, w in enumerate(fit.weights)]
        np.testing.assert_allclose(score("linear", fit.weights, block.test)["mse"], errors, rtol=1e-9)


def test_where_rounding_drowns_the_noise_even_unseen_directions_agree(make, curate, table) -> None:
    """With fewer rows than columns, held-out predictions are those of the least-squares weights of smallest norm."""
    x, _, _ = drawn("fewer rows than columns")
    train = scale(table(x, np.tanh(x.sum(axis=1))), "box", False, "real")
    unseen = np.random.default_rng(2).uniform(-1, 1, (20, x.shape[1]))
    problem = make("model", "linear").prepare(curate(train))
    for name, options in MECHANISMS:
        curator = curate(train, epsilon=1e22)
        fit = make("mechanism", name, **options).fit(curator, problem, curator.ledger.budget)
        np.testing.assert_allclose(unseen @ fit.weights[0], unseen @ least_squares(train, 0.0), rtol=0, atol=1e-8)
