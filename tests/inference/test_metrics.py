"""What is measured of intervals, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from dpbench.contracts.uncertainty import Intervals
from dpbench.inference.metrics import INFOS, measured, non_private

# an intercept, which does not count, and two slopes: the first interval covers, the second does not
LOW, HIGH = np.array([[9.0, 1.0, -4.0]]), np.array([[9.1, 3.0, -2.0]])
INTERVALS = Intervals("delta", (LOW + HIGH) / 2, (HIGH - LOW) / 4, LOW, HIGH)
REFERENCE = np.array([[0.0, 2.0, -0.5]]), np.array([[1.0, 2.5, 3.5]])
TRUTH = np.array([[0.0, 2.2, 1.0]])


def test_every_metric_by_hand() -> None:
    found = {
        name.removeprefix("inference/"): float(value[0]) for name, value in measured(INTERVALS, REFERENCE, TRUTH, True).items()
    }
    assert found["coverage"] == 0.5
    assert found["width_ratio"] == pytest.approx(np.sqrt((2 / 0.5) * (2 / 4)))
    assert found["sign_significance"] == 0.5, "the second slope is significant in the private fit alone"
    assert found["overlap"] == pytest.approx((0.5 / 2 + 0.5 / 0.5) / 2 / 2)
    assert {f"inference/{name}" for name in found} == {info.name for info in INFOS}


def test_coverage_is_absent_where_the_truth_is_not_known_and_everything_where_there_is_no_reference() -> None:
    unknown = np.full((1, 3), np.nan)
    found = measured(INTERVALS, REFERENCE, unknown, True)
    assert np.isnan(found["inference/coverage"]).all()
    assert np.isfinite(found["inference/overlap"]).all()
    assert all(np.isnan(value).all() for value in measured(INTERVALS, (unknown, unknown), TRUTH, True).values())


def test_a_slope_whose_interval_is_infinite_does_not_count() -> None:
    low, high = np.array([[9.0, 1.0, -np.inf]]), np.array([[9.1, 3.0, np.inf]])
    one = Intervals("iterates", INTERVALS.centre, INTERVALS.standard_errors, low, high)
    found = measured(one, REFERENCE, TRUTH, True)
    assert found["inference/coverage"][0] == 1.0
    assert found["inference/width_ratio"][0] == pytest.approx(2 / 0.5)
    none = Intervals(
        "iterates", INTERVALS.centre, INTERVALS.standard_errors, np.full_like(low, -np.inf), np.full_like(high, np.inf)
    )
    assert all(np.isnan(value).all() for value in measured(none, REFERENCE, TRUTH, True).values())


def test_without_an_intercept_every_coefficient_counts() -> None:
    assert measured(INTERVALS, REFERENCE, TRUTH, False)["inference/coverage"][0] == pytest.approx(1 / 3)


def test_the_non_private_intervals_are_students() -> None:
    low, high = non_private(np.ones((1, 2)), np.array([[1.0, np.nan]]), np.array([12.0]), 0.9)
    assert high[0, 0] == pytest.approx(1 + t.ppf(0.95, 10))
    assert low[0, 0] == pytest.approx(1 - t.ppf(0.95, 10))
    assert np.isnan(high[0, 1])
