"""Quantiles of sums of normal and Laplace noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm, t

from dpbench.inference.quantiles import of_predictions, two_sided

LEVELS = (0.8, 0.95, 0.99)
MANY = np.array([1e9])


@pytest.mark.parametrize("level", LEVELS)
def test_without_heavy_tails_the_quantile_is_students(level) -> None:
    degrees = np.array([3.0, 40.0])
    found = two_sided(level, degrees, np.zeros((2, 1)))[:, 0]
    np.testing.assert_allclose(found, t.ppf((1 + level) / 2, degrees), rtol=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_with_the_kurtosis_of_one_laplace_draw_it_is_laplaces(level) -> None:
    found = float(two_sided(level, MANY, np.full((1, 1), 3.0))[0, 0])
    assert found == pytest.approx(-math.log(1 - level) / math.sqrt(2), rel=2e-3)


def test_two_equal_laplace_draws_have_half_the_kurtosis() -> None:
    """Their sum has the two-sided tail (1 + x/2) exp(-x) and the standard deviation 2."""
    exact = brentq(lambda x: (1 + x / 2) * math.exp(-x) - 0.05, 0.1, 20) / 2
    assert float(two_sided(0.95, MANY, np.full((1, 1), 1.5))[0, 0]) == pytest.approx(exact, rel=2e-3)


def test_the_quantile_grows_with_the_kurtosis_and_stops_at_laplaces() -> None:
    kurtosis = np.array([[-1.0, 0.0, 0.5, 1, 2, 3, 9]])
    found = two_sided(0.95, MANY, kurtosis)[0]
    assert found[0] == found[1] == pytest.approx(norm.ppf(0.975), rel=1e-6)
    assert (np.diff(found[1:6]) > 0).all()
    assert found[-1] == found[-2]


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_predictions_with_a_known_variance_have_the_normal_quantile(level: float) -> None:
    of_means = np.array([0.0, 0.01, 0.3])
    expected = norm.ppf((1 + level) / 2) * np.sqrt(0.04 + of_means)
    np.testing.assert_allclose(of_predictions(level, 0.04, 0.0, 1.0, of_means), expected, rtol=2e-3)


@pytest.mark.parametrize("error", [0.002, 0.01, 0.05])
def test_predictions_with_an_estimated_variance_hold_as_many_as_they_say(error: float) -> None:
    """Draw the true variance as it is taken to be, then errors and means."""
    generator = np.random.default_rng(0)
    variance = generator.normal(0.04, error, 400_000)
    variance = variance[(variance > 0) & (variance < 1)]
    draws = np.sqrt(variance + 0.01) * generator.standard_normal(len(variance))
    (reach,) = of_predictions(0.95, 0.04, error, 1.0, np.array([0.01]))
    assert (np.abs(draws) < reach).mean() == pytest.approx(0.95, abs=0.002)


def test_predictions_stay_finite_where_noise_hides_the_variance() -> None:
    reach = of_predictions(0.95, 0.0, 5.0, 1.0, np.array([0.0, 1.0]))
    assert (reach > 0).all()
    assert (reach <= norm.ppf(0.975) * np.sqrt(2) + 1e-9).all()
    assert of_predictions(0.95, 0.1, 0.1, 1.0, np.zeros(0)).shape == (0,)
