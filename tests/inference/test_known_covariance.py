"""Intervals from a covariance matrix that a mechanism brings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from dpbench.contracts.uncertainty import IntervalRequest, Intervals
from dpbench.inference.known_covariance import KnownCovariance

WEIGHTS = np.array([[1.0, -2.0]])
PRIVACY, SAMPLING = np.diag([4.0, 1.0])[None], np.diag([5.0, 8.0])[None]


def request(**changes: Any) -> IntervalRequest:
    return IntervalRequest(**{"weights": WEIGHTS, "n": np.array([12.0]), "method": "covariance", **changes})


def test_both_uncertainties_add_up_for_the_population_and_privacy_alone_counts_for_the_table() -> None:
    known = KnownCovariance(PRIVACY, SAMPLING, remarks=("A remark.",))
    whole, table = known.intervals(request()), known.intervals(request(covers="table"))
    assert isinstance(whole, Intervals)
    assert isinstance(table, Intervals)
    np.testing.assert_allclose(whole.standard_errors, [[3, 3]])
    np.testing.assert_allclose(table.standard_errors, [[2, 1]])
    np.testing.assert_allclose(whole.high - WEIGHTS, 3 * t.ppf(0.975, 10) * np.ones((1, 2)), rtol=1e-12)
    np.testing.assert_allclose(whole.low + whole.high, 2 * WEIGHTS)
    assert whole.remarks == ("A remark.",)


def test_the_intervals_belong_to_the_centre_that_is_named() -> None:
    made = KnownCovariance(PRIVACY, SAMPLING, centre=WEIGHTS + 1).intervals(request())
    assert isinstance(made, Intervals)
    np.testing.assert_array_equal(made.centre, WEIGHTS + 1)


@pytest.mark.parametrize(
    ("known", "covers", "reason"),
    [
        (KnownCovariance(PRIVACY), "population", "inference.covers=table has intervals"),
        (KnownCovariance(None, SAMPLING), "table", "no noise"),
    ],
)
def test_what_is_not_known_is_a_reason_and_no_number(known, covers, reason) -> None:
    made = known.intervals(request(covers=covers))
    assert isinstance(made, str)
    assert reason in made
