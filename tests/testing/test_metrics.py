"""Each law about a metric is broken by a metric that is wrong on purpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpbench import Metric
from dpbench.testing import metrics as checks


def metric(compute_run: Any = lambda rows: np.abs(rows.y - rows.score).max(), better: Any = "lower", **more: Any) -> Metric:
    return Metric("wrong", "largest error", "The largest absolute error.", better, compute_run=compute_run, **more)


def test_a_good_metric_keeps_every_law(outcome) -> None:
    outcomes = {check.name: outcome(check, metric(low=0.0)) for check in checks.CHECKS}
    assert outcomes.pop("mean predictor") == "not applicable: it has no closed form for the mean predictor"
    assert set(outcomes.values()) == {"ok: "}


def test_nan_is_named(outcome) -> None:
    assert "The metric of the non-private fit is nan" in outcome(checks.finite, metric(lambda rows: float("nan")))


def test_an_error_is_named_although_sweeps_swallow_it(outcome) -> None:
    assert "ZeroDivisionError" in outcome(checks.finite, metric(lambda rows: 1 / 0))


def test_a_value_outside_of_the_range_is_named(outcome) -> None:
    assert "is outside of [0, 0.5]" in outcome(checks.value_range, metric(low=0.0, high=0.5))


def test_the_wrong_direction_is_named(outcome) -> None:
    assert "for weights of the wrong sign" in outcome(checks.direction, metric(better="higher"))


def test_a_value_that_changes_is_named(outcome) -> None:
    numbers = iter(range(1000))
    assert "another value at the second time" in outcome(checks.runs_alone, metric(lambda rows: next(numbers)))


def test_a_mean_over_runs_is_named(outcome) -> None:
    mean = Metric(
        "wrong",
        "mean error",
        "A mean over runs.",
        "lower",
        lambda predictions: np.full(predictions.test.runs, predictions.squared_errors.mean()),
    )
    assert outcome(checks.runs_alone, mean) == "failed: A run has another value in a batch than by itself."


def test_a_closed_form_of_something_else_is_named(outcome) -> None:
    closed = metric(compute_constant=lambda constant: np.zeros(constant.test.runs))
    assert "The closed form gives 0, the predictions" in outcome(checks.mean_predictor, closed)


def test_a_meaning_must_be_a_sentence(outcome) -> None:
    vague = Metric("wrong", "error", "error", "lower", compute_run=lambda rows: 0.0)
    assert outcome(checks.description, vague) == "failed: Its meaning is not a sentence: 'error'."
