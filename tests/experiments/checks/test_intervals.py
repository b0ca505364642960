"""Intervals are the same for the same records, and few repeats decide nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_cells import TIME, cell, level

from dpbench.experiments.checks.intervals import (
    MIN_REPEATS,
    band,
    difference,
    mean_with_interval,
    paired_means,
    positive_ratio,
    ratio_of_means,
    resampled,
    timing_ratio,
    variance,
)

METRIC = "utility/rmse"


def mean(values: np.ndarray) -> np.ndarray:
    return np.asarray(values[0].mean(-1))


def test_the_same_records_give_the_same_interval() -> None:
    values = paired_means((cell("a", level(1)), METRIC))
    assert resampled(mean, values) == resampled(mean, values)


def test_resampling_needs_a_minimum_of_repeats() -> None:
    few, enough = (resampled(mean, np.ones((1, repeats))) for repeats in (MIN_REPEATS - 1, MIN_REPEATS))
    assert few == (1.0, -math.inf, math.inf)
    assert enough == (1.0, 1.0, 1.0)
    assert resampled(mean, np.ones((1, 0))) is None


def test_only_repeats_that_all_cells_have_are_paired_and_only_finite_ones() -> None:
    first, other = cell("a", [1.0, 2.0, np.nan, 4.0]), cell("b", [5.0, 6.0, 7.0])
    assert paired_means((first, METRIC), (other, METRIC)).tolist() == [[1.0, 2.0], [5.0, 6.0]]


def test_a_ratio_of_means_has_students_interval() -> None:
    values = np.array([[2.0, 4.0, 6.0], [1.0, 2.0, 3.0]])
    assert ratio_of_means(values) == (2.0, 2.0, 2.0)
    assert ratio_of_means(values[:, :1]) == (2.0, -math.inf, math.inf)
    assert ratio_of_means(-values) is None


def test_a_ratio_to_something_that_is_not_positive_is_no_number() -> None:
    assert np.isnan(positive_ratio(np.array(1.0), np.array([0.0, -1.0]))).all()
    assert positive_ratio(np.array(1.0), np.array(4.0)) == 0.25


def test_a_timing_ratio_has_a_margin_that_is_a_factor() -> None:
    slow, fast = cell("a", 3.0, **TIME), cell("b", 1.0, **TIME)
    assert timing_ratio(slow, fast, TIME["name"]) == pytest.approx((3.0, 2.5, 3.6))
    assert timing_ratio(slow, cell("b", 0.0, **TIME), TIME["name"]) is None
    assert timing_ratio(slow, cell("b", level(1)), TIME["name"]) is None


def test_a_difference_has_the_sign_of_the_first_cell() -> None:
    (bound,) = difference("differs by", cell("a", level(0.1)), cell("b", level(0.3, index=1)), METRIC, "below")
    assert bound.low < bound.value < bound.high < 0
    assert bound.value == pytest.approx(-0.2, abs=0.01)


def test_spreads_are_the_variance_and_the_middle_60_percent() -> None:
    values = np.arange(11.0)
    assert variance(values) == pytest.approx(11.0)
    assert band(values) == pytest.approx(6.0)
    assert np.isnan(variance(values[:1]))


def test_a_mean_has_students_interval_and_a_single_repeat_none() -> None:
    assert mean_with_interval(cell("a", [1.0, 2.0, 3.0]), "utility/rmse") == pytest.approx(
        (2.0, 2 - 2.4841, 2 + 2.4841), abs=1e-4
    )
    assert mean_with_interval(cell("a", [2.0]), "utility/rmse") == (2.0, -math.inf, math.inf)
    assert mean_with_interval(cell("a", [2.0]), "utility/other") is None


def test_a_share_of_the_runs_has_the_exact_binomial_interval() -> None:
    """The textbook's numbers: with no hit in n the upper end is 1 - 0.025^(1/n), with n hits the lower end its mirror."""
    for share, low, high in ((0.0, 0.0, 1 - 0.025 ** (1 / 40)), (1.0, 0.025 ** (1 / 40), 1.0), (0.5, 0.33801, 0.66199)):
        row = cell("a", np.zeros(40), more={"inference/smallest_coverage": share})
        assert mean_with_interval(row, "inference/smallest_coverage") == pytest.approx((share, low, high), abs=1e-5)


def test_a_number_that_is_computed_has_no_interval_and_a_timing_its_margin() -> None:
    row = cell("a", np.zeros(40), more={"privacy/epsilon_accounted": 0.5, "time/fit_seconds": 1.2})
    assert mean_with_interval(row, "privacy/epsilon_accounted") == (0.5, 0.5, 0.5)
    assert mean_with_interval(row, "time/fit_seconds") == pytest.approx((1.2, 1.0, 1.44))
