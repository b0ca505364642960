"""The bounded loss and the penalty that perturbed objectives and minima have of a model."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def noise_of(make, curate, geometry, rows):
    """The procedure that a fit of a model asked, on three rows of two columns and an intercept."""

    def asked(model, name="objective_perturbation", **options):
        mechanism = make("mechanism", name, **options)
        target = [0, 1, 1] if model.target == "binary" else [-0.5, 0.2, 1]
        g = geometry(2, intercept=True, target=model.target)
        curator = curate(rows(g, [[1, 0.5], [-1, 1], [0, 0]], target), currency=mechanism.counted())
        mechanism.fit(curator, model.prepare(curator), curator.ledger.budget)
        return curator.tape[0].noise

    return asked


@pytest.mark.parametrize(
    ("name", "slope", "curvature"), [("linear", 0.8, 2.0), ("ridge", 0.8, 2.0), ("logistic", 1.0, 0.25), ("robust", 1.0, 5.0)]
)
@pytest.mark.parametrize("mechanism", ["objective_perturbation", "output_perturbation"])
def test_bounds_are_those_of_the_model_and_a_squared_loss_is_clipped(name, slope, curvature, mechanism, make, noise_of) -> None:
    loss = noise_of(make("model", name), mechanism, clip=0.4).loss
    assert (loss.slope, loss.curvature, loss.norm) == (slope, curvature, pytest.approx(np.sqrt(3)))


def test_a_quadratic_penalty_counts_with_its_second_derivative(make, noise_of) -> None:
    """n λ w² has the second derivative 2 n λ, and the intercept is not penalised."""
    np.testing.assert_allclose(noise_of(make("model", "ridge", penalty=0.1)).penalty, [[0, 0.6, 0.6]])
    np.testing.assert_allclose(noise_of(make("model", "linear")).penalty, [[0, 0, 0]])
