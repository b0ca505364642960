"""A loss, a derivative or a bound of a model that is wrong is found by numerical ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench import LeastSquares, Model
from dpbench.queries import Loss
from dpbench.testing import losses as checks


def model(**members: Any) -> type:
    """A model of a real target whose problem has these members instead of those of least squares."""
    problem = type("Squares", (LeastSquares,), members)
    body = {"name": "wrong", "__doc__": "Be a model.", "prepare": lambda self, curator: problem(curator.geometry, curator.n)}
    provides = frozenset({"polynomial", "gradient", "likelihood", "reweighted", "smoothness", "weighted"})
    return dataclass(frozen=True)(type("Wrong", (Model,), {**body, "provides": provides}))


def test_least_squares_keep_every_law(outcome) -> None:
    outcomes = {check.name: outcome(check, model()) for check in checks.CHECKS}
    assert outcomes.pop("reweighting") == "not applicable: every row always has the weight 1"
    assert set(outcomes.values()) == {"ok: "}


def test_a_gradient_without_its_factor_is_named(outcome) -> None:
    half = model(gradient=lambda self, x, y, weights: x @ weights - y)
    assert outcome(checks.derivatives, half) == "failed: At y = -1 the curvature is not the derivative of the gradient."
    both = model(gradient=lambda self, x, y, weights: x @ weights - y, curvature=lambda self, x, y, weights: np.ones(len(y)))
    assert outcome(checks.derivatives, both) == "failed: At y = -1 the gradient is not the derivative of the polynomial loss."


def test_a_curvature_above_its_bound_is_named(outcome) -> None:
    assert "a curvature of 2 exceeds largest_curvature = 1" in outcome(checks.largest_derivatives, model(largest_curvature=1.0))


def test_a_gradient_with_the_wrong_sign_of_the_target_is_named(outcome) -> None:
    turned = model(gradient=lambda self, x, y, weights: 2 * (x @ weights + y))
    assert "At the non-private fit the mean gradient is" in outcome(checks.minimum, turned)


def test_a_likelihood_that_is_a_loss_is_named(outcome) -> None:
    loss = model(log_likelihood=lambda self, x, y, weights, variance: (y - x @ weights) ** 2)
    assert "not a negative multiple of the gradient" in outcome(checks.likelihood, loss)


def test_weights_above_kappa_are_named(outcome) -> None:
    def irls_weights(self, residuals, kappa):
        return 1 / np.maximum(np.abs(residuals), 1e-3)

    heavy = model(steady_weights=False, irls_weights=irls_weights)
    assert "At kappa = 1 they lie between" in outcome(checks.reweighting, heavy)


def test_a_polynomial_with_a_bound_that_is_too_small_is_named(outcome) -> None:
    from dpbench.queries import Polynomial

    class Small(Polynomial):
        def l1_bound(self, rule="auto"):
            return 0.5 * super().l1_bound(rule)

    loss = Loss(curvature=1.0, slope=(0.0, -2.0), printed_slope=2.0, printed_constant=1.0)
    small = model(polynomial=lambda self, convention="monomial": Small(loss, self.geometry, convention))
    assert "Two rows move its monomial coefficients by" in outcome(checks.sensitivities, small)
