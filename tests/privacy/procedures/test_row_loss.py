"""The bounded loss of a row, and what breaks its bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from dpbench.privacy.procedures.row_loss import LossDerivatives, RowLoss

AT = np.linspace(-5, 5, 11)
ZEROS = np.zeros(11)


class LogLoss:
    """log(1 + e^t) - y t."""

    def gradient(self, x: Any, y: Any, weights: Any) -> Any:
        return expit(x @ weights) - y

    def curvature(self, x: Any, y: Any, weights: Any) -> Any:
        return expit(x @ weights) * expit(-x @ weights)


class Concave(LogLoss):
    """A loss without a minimum."""

    def gradient(self, x: Any, y: Any, weights: Any) -> Any:
        return -super().gradient(x, y, weights)


def test_a_loss_that_is_steeper_than_declared_is_linear_there() -> None:
    """So a slope that is too small makes another loss, and the price still holds."""
    loss = RowLoss(LogLoss(), 0.4, 0.25, 1.0)
    slopes = loss.slopes(AT[:, None], ZEROS)
    assert np.abs(slopes).max() == 0.4
    assert (loss.curvatures(AT[:, None], ZEROS)[slopes == 0.4] == 0).all()
    assert (loss.excess(AT, ZEROS) == 0).all()


@pytest.mark.parametrize(("loss", "curvature"), [(Concave(), 0.25), (LogLoss(), 0.2)])
def test_a_loss_that_is_concave_or_more_curved_than_declared_exceeds_its_bounds(loss, curvature) -> None:
    assert RowLoss(loss, 1.0, curvature, 1.0).excess(np.zeros(1), np.zeros(1)) > 0


@pytest.mark.parametrize("model", ["linear", "ridge", "logistic", "robust"])
def test_the_derivatives_of_the_models_keep_their_bounds_and_agree(model, make, curate, geometry, rows) -> None:
    problem = make("model", model).prepare(curate(rows(geometry(1, intercept=True), [[0.5]], [1])))
    loss = RowLoss(problem, min(problem.largest_slope, 2.0), problem.largest_curvature, 1.0)
    generator = np.random.default_rng(0)
    at, y = generator.uniform(-4, 4, 2_000), generator.choice([0.0, 1.0], 2_000)
    assert (loss.excess(at, y) == 0).all()
    assert (np.abs(problem.gradient(at[:, None], y, np.ones(1))) <= problem.largest_slope).all()
    step = 1e-6
    growth = (loss.slopes(at[:, None] + step, y) - loss.slopes(at[:, None] - step, y)) / (2 * step)
    # away from the kinks of Huber's loss
    assert np.isclose(growth, loss.curvatures(at[:, None], y), atol=1e-6).mean() > 0.999


def test_the_query_adds_up_gradient_hessian_and_excess(geometry, rows) -> None:
    generator = np.random.default_rng(0)
    table = rows(geometry(2), generator.uniform(-1, 1, (5, 2)), generator.integers(0, 2, 5))
    weights = np.array([[0.3, -0.2]])
    query = LossDerivatives(RowLoss(LogLoss(), 1.0, 0.25, 1.0), weights)
    gradient, hessian, excess = query.parts(query.contribution(table, 0).sum(axis=0))
    probability = expit(table.x @ weights[0])
    np.testing.assert_allclose(gradient, (probability - table.y) @ table.x)
    np.testing.assert_allclose(hessian, table.x.T @ (table.x * (probability * (1 - probability))[:, None]))
    longer = np.square(table.x).sum(axis=1) - 1
    assert excess == pytest.approx(longer[longer > 0].sum())


@pytest.mark.parametrize("bounds", [(0.0, 1.0, 1.0), (1.0, np.inf, 1.0), (1.0, 1.0, np.nan)])
def test_bounds_are_finite_and_positive(bounds) -> None:
    with pytest.raises(ValueError, match="must be finite and positive"):
        RowLoss(LogLoss(), *bounds)
