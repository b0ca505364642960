"""The regression that noisy sums imply, and the covariance of its estimates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpbench.inference.noisy_regression import NoisyRegression
from dpbench.privacy.queries.noisy_moments import NoisyMoments
from dpbench.privacy.queries.quadratic import Quadratic

from .moments_factory import LAWS, exact_sums, noisy

N = 4_000
RUNS = 4_000


@pytest.fixture(scope="module")
def sums() -> np.ndarray:
    return exact_sums(1, N, np.random.default_rng(1))


@pytest.mark.parametrize("law", LAWS)
def test_the_covariance_is_that_of_estimates_from_many_releases_of_one_table(law, sums) -> None:
    fits = NoisyRegression.of(noisy(np.repeat(sums, RUNS, axis=0), 15.0, LAWS[law], seed=2))
    exact = np.linalg.solve(sums[0, :4, :4], sums[0, :4, 4])
    errors = fits.estimate - exact
    found, expected = errors.T @ errors / RUNS, fits.privacy_covariance.mean(axis=0)
    scale = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(found / np.outer(scale, scale), expected / np.outer(scale, scale), atol=0.08)
    assert not fits.floored.any()


def test_the_fourth_cumulant_is_that_of_laplace_noise_and_0_for_normal_noise(sums) -> None:
    many = np.repeat(sums, 60_000, axis=0)
    fits = NoisyRegression.of(noisy(many, 0.5, LAWS["laplace"], seed=3))
    errors = fits.estimate - np.linalg.solve(sums[0, :4, :4], sums[0, :4, 4])
    variance = np.square(errors).mean(axis=0)
    excess = (errors**4).mean(axis=0) / variance**2 - 3
    expected = fits.fourth_cumulant.mean(axis=0) / variance**2
    np.testing.assert_allclose(excess, expected, atol=0.35)
    assert expected.min() > 1
    assert not NoisyRegression.of(noisy(sums, 0.5, LAWS["gaussian"])).fourth_cumulant.any()


def test_the_residual_variance_is_right_on_average_although_noise_lowers_the_sum_of_squares(sums) -> None:
    fits = NoisyRegression.of(noisy(np.repeat(sums, RUNS, axis=0), 40.0, seed=4))
    n = np.full(RUNS, float(N))
    corrected, plain = fits.residual_variance(n), fits.residual_variance(n, corrected=False)
    assert corrected.mean() == pytest.approx(0.04, abs=4 * corrected.std() / np.sqrt(RUNS))
    assert plain.mean() < corrected.mean()


def test_without_the_square_of_the_target_the_variance_is_the_largest_that_its_range_allows(sums) -> None:
    fits = NoisyRegression.of(noisy(sums, 1.0, square=False))
    assert fits.residual_variance(np.array([float(N)])) == 1.0


def test_columns_with_more_noise_are_made_smaller_until_their_noise_is_even(sums) -> None:
    moments = noisy(sums, 1.0)
    factor = np.array([1.0, 1, 10, 1])
    uneven = replace(
        moments, matrix_scale=moments.matrix_scale * np.outer(factor, factor), vector_scale=moments.vector_scale * factor
    )
    even, made_even = NoisyRegression.of(moments), NoisyRegression.of(uneven)
    np.testing.assert_allclose(made_even.columns, [1 / factor])
    np.testing.assert_allclose(made_even.matrix_scale, even.matrix_scale)
    np.testing.assert_allclose(made_even.floor, even.floor)
    np.testing.assert_allclose(made_even.columns * made_even.estimate, even.estimate, rtol=1e-9)


def test_the_floor_is_half_the_size_of_the_noise_and_draws_the_estimate_towards_0(sums) -> None:
    fits = NoisyRegression.of(noisy(np.repeat(sums, 200, axis=0), 2_000.0, LAWS["gaussian"]))
    np.testing.assert_allclose(fits.floor, 2_000 * np.sqrt(4))
    assert fits.floored.all()
    assert fits.eigen[0].min() == pytest.approx(float(fits.floor[0]))


def test_where_only_squares_have_noise_the_floor_is_theirs() -> None:
    """The products of two levels of one group are public, so a group alone has no noise off the diagonal."""
    scales = 3.0 * np.eye(2)[None]
    matrix = np.array([[[-5.0, 0.0], [0.0, 200.0]]])
    vector = np.array([[40.0, 100.0]])
    fit = NoisyRegression.of(NoisyMoments(matrix, vector, np.array([90.0]), LAWS["gaussian"], scales, np.full((1, 2), 3.0)))
    assert fit.floor == pytest.approx(3 * np.sqrt(2))
    assert fit.floored.all()
    assert np.isfinite(fit.privacy_covariance).all()


def test_the_allowance_for_a_hidden_column_is_in_the_columns_own_units() -> None:
    """A column with 100 times the noise is hidden: its coefficient is allowed no less than with even noise."""
    matrix, vector, square, law = np.diag([900.0, 4.0])[None], np.array([[300.0, 1.0]]), np.array([200.0]), LAWS["gaussian"]
    scale = np.array([[[4.0, 4.0], [4.0, 4.0]]])
    even = NoisyRegression.of(NoisyMoments(matrix, vector, square, law, scale, np.full((1, 2), 4.0)))
    uneven = NoisyRegression.of(
        NoisyMoments(matrix, vector, square, law, scale * [[1.0, 100.0], [100.0, 100.0]], np.array([[4.0, 400.0]]))
    )
    allowed = [float(fit.floor_bias[0, 1, 1] * fit.columns[0, 1] ** 2) for fit in (even, uneven)]
    assert 0 < allowed[0] < allowed[1]


def test_without_the_square_of_the_target_the_allowance_begins_at_twice_the_floor() -> None:
    matrix, vector, scale = np.diag([900.0, 12.0])[None], np.array([[300.0, 1.0]]), np.full((1, 2, 2), 8 / np.sqrt(2))
    moments = NoisyMoments(matrix, vector, np.array([200.0]), LAWS["gaussian"], scale, np.full((1, 2), 4.0))
    known, unknown = (NoisyRegression.of(replace(moments, square=square)) for square in (moments.square, None))
    assert known.floor == pytest.approx(8.0)
    assert not known.floor_bias.any()
    assert unknown.floor_bias[0, 1, 1] > 0


def test_what_the_floor_hides_widens_the_hidden_directions_alone() -> None:
    """One eigenvalue of 100 is shown, one of 4 is half below a floor of 8: it is allowed half of √(R/f), squared over 4.

    R is what the fit explains, 33, and two standard errors of its noise: 4β'β for c, and 2β'Vβ less the diagonal's excess for Q.
    """
    moments = NoisyMoments(
        np.diag([100.0, 4.0])[None], np.array([[50.0, 8.0]]), np.array([60.0]), LAWS["gaussian"],
        np.full((1, 2, 2), 8 / np.sqrt(2)), np.full((1, 2), 1.0),
    )  # fmt: skip
    fit = NoisyRegression.of(moments)
    assert fit.floor == pytest.approx(8.0)
    explained = 50**2 / 100 + 8**2 / 8 + 2 * np.sqrt(4 * 1.25 + 2 * 32 * 1.25**2 - 32 * (0.5**4 + 1))
    np.testing.assert_allclose(fit.floor_bias[0], np.diag([0.0, 0.25 * explained / 32]), atol=1e-12)


def test_without_an_active_floor_nothing_is_allowed_for(sums) -> None:
    assert not NoisyRegression.of(noisy(sums, 1.0)).floor_bias.any()


def test_most_of_the_noise_in_the_estimate_does_not_count_twice(sums) -> None:
    """The products of the coefficients that enter the covariance are nearly those without noise, on average."""
    fits = NoisyRegression.of(noisy(np.repeat(sums, RUNS, axis=0), 70.0, LAWS["gaussian"], seed=5))
    exact = np.square(np.linalg.solve(sums[0, :4, :4], sums[0, :4, 4]))[1:].sum()
    products = np.einsum("rii->ri", fits._products)[:, 1:].sum(axis=1).mean()
    squares = np.square(fits.estimate[:, 1:]).sum(axis=1).mean()
    assert abs(products - exact) < 0.5 * abs(squares - exact)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [2.0, 15.0])
def test_the_error_of_the_residual_variance_is_that_of_many_releases_of_one_table(law, scale, sums) -> None:
    moments = noisy(np.repeat(sums, RUNS, axis=0), scale, LAWS[law], seed=5)
    known = NoisyRegression.of(replace(moments, square_scale=np.array([2 * scale])))
    n = np.full(RUNS, float(N))
    error = known.residual_variance_error(n)
    assert error is not None
    assert np.median(error) == pytest.approx(known.residual_variance(n).std(), rel=0.06)
    assert NoisyRegression.of(moments).residual_variance_error(n) is None, "the scale of t't's noise is not known"
    bounded = NoisyRegression.of(replace(moments, square=None)).residual_variance_error(n)
    np.testing.assert_array_equal(bounded, np.zeros(RUNS))


def test_the_spectrum_of_the_fit_serves_where_it_has_the_same_matrix() -> None:
    moments = noisy(exact_sums(3, 500, np.random.default_rng(0)), 5.0)
    same, other = Quadratic(moments.matrix.copy(), moments.vector), Quadratic(2 * moments.matrix, moments.vector)
    plain = NoisyRegression.of(moments)
    for objective in (same, other):
        fit = NoisyRegression.of(moments, objective)
        np.testing.assert_array_equal(fit.inverse, plain.inverse)
        assert (fit.eigen[1] is objective.spectrum[1]) == (objective is same)
