"""The truncated objective without noise: four times least squares on y - ½."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.blocks import Block
from dpbench.data.scaling import scale
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.registry.lookup import registry

BUDGET = Budget(1.0, 1e-6, "pure")


@pytest.fixture(params=[("box", False), ("box", True), ("ball", False), ("ball", True)], ids=str)
def block(request, table, split) -> Block:
    """Two repeats of 3 folds of 300 rows: 3 numeric columns and a group of 3, collinear if there is an intercept."""
    scaling, intercept = request.param
    generator = np.random.default_rng(0)
    x = np.column_stack([generator.uniform(-1, 1, (300, 3)), np.eye(3)[generator.integers(3, size=300)]])
    y = np.tanh(x @ np.array([2.0, -1, 0, 0.5, 0, -0.5]) + 0.5 * generator.normal(size=300))
    rows = scale(table(x, y, (3,), threshold=0.1), scaling, intercept, "binary")
    return split(rows)


def fitted(block: Block, make):
    curator = Curator(block.train, Draws(0, "t", block.runs), BUDGET)
    problem = make("model", "logistic", intercept=block.geometry.intercept).prepare(curator)
    return make("mechanism", "truncated").fit(curator, problem, BUDGET), curator


def test_it_is_four_times_least_squares_on_the_centred_classes(block, make) -> None:
    fit, _ = fitted(block, make)
    assert set(fit.status) == {"ok"}
    for run, weights in enumerate(fit.weights):
        train = block.train.rows(run)
        expected = 4 * np.linalg.lstsq(train.x, train.y - 0.5, rcond=None)[0]
        np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-9)


def test_it_minimises_the_truncated_loss_and_not_the_loss(block, make) -> None:
    fit, curator = fitted(block, make)
    exact = make("model", "logistic", intercept=block.geometry.intercept).prepare(curator).exact(block.train)
    rows = block.train.rows(0)

    def truncated_loss(w: np.ndarray) -> float:
        return float(np.sum(np.log(2) + (0.5 - rows.y) * (rows.x @ w) + (rows.x @ w) ** 2 / 8))

    def loss(w: np.ndarray) -> float:
        return float(np.sum(np.log1p(np.exp(rows.x @ w)) - rows.y * (rows.x @ w)))

    assert truncated_loss(fit.weights[0]) < truncated_loss(exact.weights[0]) - 1e-6
    assert loss(fit.weights[0]) > loss(exact.weights[0]) + 1e-6


def test_it_is_not_private_and_says_so(block, make) -> None:
    _, curator = fitted(block, make)
    assert not curator.ledger.sound
    assert not curator.ledger.total.private


def test_fm_approaches_it_as_epsilon_grows(block, make) -> None:
    fit, _ = fitted(block, make)
    budget = Budget(1e13, 1e-6, "pure")
    for repair in ("trim", "floor"):
        curator = Curator(block.train, Draws(0, "t", block.runs), budget)
        problem = make("model", "logistic", intercept=block.geometry.intercept).prepare(curator)
        noisy = make("mechanism", "fm", repair=repair).fit(curator, problem, budget)
        for run, (weights, limit) in enumerate(zip(noisy.weights, fit.weights, strict=True)):
            x = block.test.rows(run).x
            np.testing.assert_allclose(x @ weights, x @ limit, rtol=0, atol=1e-8)


def test_only_models_whose_polynomial_is_a_truncation_are_fitted(make, geometry) -> None:
    """The capability in the plan agrees with the loss."""
    truncated, g = make("mechanism", "truncated"), geometry(2)
    public = type("Public", (), {"geometry": g, "n": np.array([30.0])})()
    reasons = {}
    for name in registry().names("model"):
        model = make("model", name, intercept=False)
        loss = model.prepare(public).loss
        reasons[name] = truncated.unsupported(model, g)
        assert (reasons[name] is None) == (loss is not None and not loss.exact), name
    assert reasons["logistic"] is None
    assert reasons["linear"] == ("truncated does not fit linear: its loss is a polynomial already, and no_privacy minimises it.")
    assert reasons["robust"] == "truncated does not fit robust: the model provides no polynomial."
