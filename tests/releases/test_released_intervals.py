"""The section of a release that has its intervals, and intervals of predictions."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy import stats

from dpbench.base.errors import Refused
from dpbench.releases.released_intervals import BEFORE_INTERVALS, NoIntervals, ReleasedIntervals, read_section


@pytest.fixture
def section() -> ReleasedIntervals:
    """Return intervals of two coefficients whose errors are correlated."""
    rows = {
        "intercept": {"estimate": 0.5, "standard_error": 0.2, "low": 0.1, "high": 0.9},
        "a": {"estimate": -1.0, "standard_error": 0.3, "low": -1.6, "high": -0.4},
    }
    return ReleasedIntervals(
        method="delta",
        covers="population",
        level=0.95,
        coefficients=rows,
        centred_on_weights=True,
        degrees_of_freedom=10**8,
        covariance=((0.04, 0.03), (0.03, 0.09)),
        residual_variance=0.25,
        residual_variance_error=0.0,
        floored=False,
        remarks=("A remark.",),
        sentence="A sentence.",
    )


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_a_prediction_adds_the_error_of_the_row_to_that_of_the_coefficients(section: ReleasedIntervals, level: float) -> None:
    low, high = section.predicted(np.array([[1.0, 2.0], [1.0, -1.0]]), ("intercept", "a"), level)
    np.testing.assert_allclose((low + high) / 2, [-1.5, 1.5])
    variances = np.array([0.04 + 2 * 2 * 0.03 + 4 * 0.09, 0.04 - 2 * 0.03 + 0.09]) + 0.25
    np.testing.assert_allclose((high - low) / 2, stats.norm.ppf((1 + level) / 2) * np.sqrt(variances), rtol=1e-3)


def test_a_prediction_knows_that_the_residual_variance_is_an_estimate(section: ReleasedIntervals) -> None:
    """As an estimate from 20 rows, or with noise: then the interval is wider."""
    unsure = (replace(section, degrees_of_freedom=20), replace(section, residual_variance_error=0.1))
    reach = [np.ptp(each.predicted(np.ones((1, 2)), ("intercept", "a"), 0.99)) for each in (section, *unsure)]
    assert reach[0] < min(reach[1:])


def test_the_order_of_the_columns_does_not_matter(section: ReleasedIntervals) -> None:
    design = np.array([[1.0, 2.0], [1.0, -1.0]])
    np.testing.assert_allclose(
        section.predicted(design[:, ::-1], ("a", "intercept"), 0.9), section.predicted(design, ("intercept", "a"), 0.9)
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "naive"}, "naive method ignores the noise"),
        ({"covers": "table"}, "a future row comes from the population"),
        ({"covariance": None}, "have no covariance matrix"),
        ({"residual_variance": None}, "does not tell how far targets lie"),
        ({"residual_variance_error": None}, "does not tell how far targets lie"),
    ],
)
def test_a_prediction_without_what_it_needs_is_refused(section: ReleasedIntervals, change: dict, words: str) -> None:
    with pytest.raises(Refused, match=f"no intervals of predictions: .*{words}"):
        replace(section, **change).predicted(np.ones((1, 2)), ("intercept", "a"), 0.95)


@pytest.mark.parametrize(
    "change",
    [
        {"covariance": ((0.04, 0.03),)},
        {"covariance": ((0.04, 0.03), (0.03,))},
        {"covariance": ((0.04, 0.03), (0.03, float("nan")))},
        {"residual_variance": float("inf")},
        {"coefficients": {"a": {"estimate": 0.0, "standard_error": float("nan"), "low": 0.0, "high": 0.0}}},
    ],
)
def test_numbers_that_are_none_are_refused(section: ReleasedIntervals, change: dict) -> None:
    with pytest.raises(Refused):
        replace(section, **change)


def test_a_section_is_read_as_it_was_written(section: ReleasedIntervals) -> None:
    for written in (section, replace(section, covariance=None), NoIntervals("No intervals: because.")):
        assert read_section(json.loads(json.dumps(asdict(written)))) == written
    assert read_section(None) == NoIntervals(BEFORE_INTERVALS)
