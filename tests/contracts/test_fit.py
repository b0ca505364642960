"""A fit has one weight vector and one status per run, and notices weights that are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbench.contracts.fit import DIVERGED, FAILED_TEST, OK, REPAIRED, STATUSES, Fit


def test_runs_that_went_well_are_ok() -> None:
    fit = Fit.good(np.ones((3, 2)))
    assert fit.status.tolist() == [OK] * 3
    assert fit.health["not_finite"].tolist() == [False] * 3


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_run_without_finite_weights_diverged_unless_its_test_failed(wrong: float) -> None:
    weights = np.array([[1, wrong], [1, wrong], [1, wrong], [1, 1.0]])
    fit = Fit(weights, np.array([OK, FAILED_TEST, REPAIRED, REPAIRED]))
    assert fit.status.tolist() == [DIVERGED, FAILED_TEST, DIVERGED, REPAIRED]
    assert fit.health["not_finite"].tolist() == [True, False, True, False]


def test_a_mechanism_s_own_events_and_notes_are_kept() -> None:
    fit = Fit(np.zeros((2, 1)), np.array([OK, OK]), {"accepted": np.array([True, False])}, {"bins": 8})
    assert set(fit.health) == {"accepted", "not_finite"}
    assert fit.notes == {"bins": 8}


@pytest.mark.parametrize(
    ("weights", "status", "sentence"),
    [
        (np.zeros(3), [OK] * 3, "weights must have the shape"),
        (np.zeros((3, 2)), [OK] * 2, "status must be one of ok, repaired, failed_test, diverged for each of its 3 runs"),
        (np.zeros((1, 2)), ["fine"], "status must be one of"),
    ],
)
def test_a_fit_of_another_shape_or_status_is_an_error(weights: Any, status: list[str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Fit(weights, np.array(status))


def test_the_four_statuses_are_the_public_words() -> None:
    assert STATUSES == ("ok", "repaired", "failed_test", "diverged")
