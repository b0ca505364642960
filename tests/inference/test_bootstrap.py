"""The parametric bootstrap."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.contracts.uncertainty import IntervalRequest
from dpbench.inference.bootstrap import bootstrapped, floored_solution
from dpbench.inference.noisy_regression import NoisyRegression

from .moments_factory import LAWS, exact_sums, noisy

N = 2_000


@pytest.mark.parametrize("law", LAWS)
def test_the_draws_have_the_covariance_of_the_delta_method_where_the_noise_is_small(law) -> None:
    fit = NoisyRegression.of(noisy(exact_sums(1, N, np.random.default_rng(1)), 2.0, LAWS[law]))
    variance = fit.residual_variance(np.array([N]))
    request = IntervalRequest(fit.estimate, np.array([N]), "bootstrap", draws=20_000)
    covariance = bootstrapped(fit, variance, request)[2][0]
    expected = (variance[:, None, None] * fit.inverse + fit.privacy_covariance)[0]
    scale = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(covariance / np.outer(scale, scale), expected / np.outer(scale, scale), atol=0.04)


def test_a_run_has_the_same_draws_alone_and_among_others() -> None:
    sums = exact_sums(3, N, np.random.default_rng(2))
    moments = noisy(sums, 5.0)
    whole = NoisyRegression.of(moments)
    request = IntervalRequest(whole.estimate, np.full(3, N), "bootstrap", draws=99, stream=lambda run: np.random.default_rng(7))
    low, _, _ = bootstrapped(whole, np.full(3, 0.04), request)
    again, _, _ = bootstrapped(NoisyRegression.of(noisy(sums[:1], 5.0)), np.full(1, 0.04), request)
    assert low.shape == (3, 4)
    # the noise of the first run differs with the number of runs, so the estimate does; the draws around it do not
    assert np.isfinite(again).all()
    np.testing.assert_array_equal(low, bootstrapped(whole, np.full(3, 0.04), request)[0])


def test_a_stack_with_and_without_an_active_floor_has_the_floored_solutions() -> None:
    generator = np.random.default_rng(3)
    roots = generator.standard_normal((50, 4, 4))
    matrices, vectors = roots @ np.swapaxes(roots, 1, 2) - 0.5 * np.eye(4), generator.standard_normal((50, 4))
    found = floored_solution(matrices, vectors, 1.0)
    for matrix, vector, solution in zip(matrices, vectors, found, strict=True):
        values, axes = np.linalg.eigh(matrix)
        np.testing.assert_allclose(solution, axes @ (axes.T @ vector / np.maximum(values, 1.0)), rtol=1e-9)
    definite = matrices + 60 * np.eye(4)
    expected = np.linalg.solve(definite, vectors[:, :, None])[:, :, 0]
    np.testing.assert_allclose(floored_solution(definite, vectors, 1.0), expected, rtol=1e-9)
