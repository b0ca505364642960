"""Intervals from noisy second moments: their limits, and how often they cover."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from dpbench.contracts.uncertainty import Covers, IntervalRequest, Intervals, Method
from dpbench.inference.released_moments import NAIVE_TABLE, RANGE_ONLY, ReleasedMoments
from dpbench.privacy.queries.noisy_moments import NoisyMoments

from .moments_factory import COEFFICIENTS, LAWS, exact_sums, noisy

N = 1_000


def made(moments: NoisyMoments, method: Method = "delta", covers: Covers = "population", n: int = N, **options: Any) -> Intervals:
    keys = {name: options.pop(name) for name in ("draws", "level") if name in options}
    count = np.full(len(moments.vector), float(n))
    request = IntervalRequest(moments.vector, count, method, covers, stream=lambda run: np.random.default_rng([9, run]), **keys)
    result = ReleasedMoments(moments, **options).intervals(request)
    assert isinstance(result, Intervals)
    return result


def textbook(sums: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the estimates and the reach of the textbook intervals of least squares."""
    x, c, y = sums[:, :4, :4], sums[:, :4, 4], sums[:, 4, 4]
    inverse = np.linalg.inv(x)
    estimate = np.einsum("rij,rj->ri", inverse, c)
    variance = (y - np.einsum("ri,ri->r", estimate, c)) / (n - 4)
    return estimate, t.ppf(0.975, n - 4) * np.sqrt(variance[:, None] * np.einsum("rii->ri", inverse))


@pytest.mark.parametrize("method", ["delta", "naive"])
@pytest.mark.parametrize("law", LAWS)
def test_without_noise_the_intervals_are_those_of_the_textbook(method, law) -> None:
    sums = exact_sums(3, N, np.random.default_rng(0))
    intervals = made(noisy(sums, 1e-12, LAWS[law]), method)
    estimate, reach = textbook(sums, N)
    np.testing.assert_allclose(intervals.low, estimate - reach, rtol=1e-8)
    np.testing.assert_allclose(intervals.high, estimate + reach, rtol=1e-8)


def test_without_noise_the_bootstrap_is_within_three_monte_carlo_errors_of_the_textbook() -> None:
    sums = exact_sums(4, N, np.random.default_rng(0))
    draws = 9_999
    intervals = made(noisy(sums, 1e-9), "bootstrap", draws=draws)
    estimate, reach = textbook(sums, N)
    # the standard error of a quantile of B normal draws: √(p(1 - p)/B) over the density at it
    deviation = reach / t.ppf(0.975, N - 4)
    error = deviation * np.sqrt(0.025 * 0.975 / draws) / 0.05845
    assert (np.abs(intervals.low - (estimate - reach)) < 3 * error).all()
    assert (np.abs(intervals.high - (estimate + reach)) < 3 * error).all()


@pytest.mark.parametrize("method", ["delta", "naive"])
def test_permuting_what_was_released_permutes_the_intervals(method) -> None:
    moments, order = noisy(exact_sums(2, N, np.random.default_rng(3)), 8.0), np.array([2, 0, 3, 1])
    permuted = replace(
        moments,
        matrix=moments.matrix[:, order][:, :, order],
        vector=moments.vector[:, order],
        matrix_scale=moments.matrix_scale[:, order][:, :, order],
        vector_scale=moments.vector_scale[:, order],
    )
    straight, changed = made(moments, method), made(permuted, method)
    np.testing.assert_allclose(changed.low, straight.low[:, order], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(changed.high, straight.high[:, order], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_nineteen_of_twenty_intervals_cover_and_the_textbook_formula_does_not(law) -> None:
    runs = 1_500
    moments = noisy(exact_sums(runs, N, np.random.default_rng(4)), 12.0, LAWS[law], seed=6)
    share = {}
    for method in ("delta", "naive"):
        intervals = made(moments, method)
        share[method] = ((intervals.low <= COEFFICIENTS) & (intervals.high >= COEFFICIENTS))[:, 1:].mean()
    assert 0.935 < share["delta"] < 0.97
    assert share["naive"] < 0.6


def test_percentiles_of_the_bootstrap_cover_too() -> None:
    moments = noisy(exact_sums(400, N, np.random.default_rng(5)), 12.0, seed=7)
    intervals = made(moments, "bootstrap", draws=399)
    assert 0.925 < ((intervals.low <= COEFFICIENTS) & (intervals.high >= COEFFICIENTS))[:, 1:].mean() < 0.975


def test_the_textbook_formula_says_nothing_of_the_table() -> None:
    """It has no noise of privacy, so it has no part that inference.covers=table could leave in."""
    moments = noisy(exact_sums(1, N, np.random.default_rng(4)), 1.0)
    request = IntervalRequest(moments.vector, np.array([float(N)]), "naive", "table")
    assert ReleasedMoments(moments).intervals(request) == NAIVE_TABLE


def test_the_noise_alone_is_covered_where_only_the_table_counts() -> None:
    runs = 1_500
    sums = np.repeat(exact_sums(1, N, np.random.default_rng(8)), runs, axis=0)
    moments = noisy(sums, 12.0, LAWS["gaussian"], seed=9)
    exact = textbook(sums[:1], N)[0]
    table, whole = made(moments, covers="table"), made(moments)
    assert (table.high - table.low <= whole.high - whole.low).all()
    assert 0.935 < ((table.low <= exact) & (exact <= table.high))[:, 1:].mean() < 0.965


def test_where_the_floor_is_active_percentiles_reach_as_far_as_the_delta_method() -> None:
    moments = noisy(exact_sums(20, N, np.random.default_rng(10)), 400.0)
    percentiles, delta = made(moments, "bootstrap", draws=99), made(moments)
    assert percentiles.floored is not None
    assert percentiles.floored.all()
    assert (percentiles.low <= delta.low).all()
    assert (percentiles.high >= delta.high).all()


def test_without_the_square_of_the_target_the_intervals_say_that_they_are_conservative() -> None:
    moments = noisy(exact_sums(2, N, np.random.default_rng(11)), 5.0)
    bounded, known = made(replace(moments, square=None)), made(moments)
    assert bounded.remarks == (RANGE_ONLY,)
    assert known.remarks == ()
    assert (bounded.high - bounded.low > known.high - known.low).all()


def test_a_method_that_a_release_does_not_allow_is_a_reason() -> None:
    moments = noisy(exact_sums(1, N, np.random.default_rng(13)), 5.0)
    request = IntervalRequest(moments.vector, np.array([float(N)]), "iterates")
    assert ReleasedMoments(moments).intervals(request) == "its release allows the methods delta, bootstrap, naive"
