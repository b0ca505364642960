"""Metrics of a real target: what each says of predictions, also of those of the mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpbench.contracts.metric import Predictions, evaluate
from dpbench.data.samples import WholeSample
from dpbench.data.table import Column
from dpbench.data.transforms import Transform
from dpbench.plugins.metrics.regression import RMSE, RMSE_CLIPPED
from dpbench.registry.lookup import registry


@pytest.fixture
def sample(geometry, rows):
    """Ten rows of two features with a noisy target."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (10, 2))
    return WholeSample(rows(geometry(2), x, np.clip(x @ [0.5, -0.2] + 0.1 * generator.normal(size=10), -1, 1)))


def test_squared_errors_come_from_moments_and_absolute_ones_from_rows(sample, score) -> None:
    weights = np.array([[0.4, 0.1]])
    residual = sample.rows(0).y - sample.rows(0).x @ weights[0]
    scores = score("robust", weights, sample)
    assert scores["mse"][0] == pytest.approx(np.mean(residual**2), rel=1e-12)
    assert scores["rmse"][0] == pytest.approx(np.sqrt(np.mean(residual**2)), rel=1e-12)
    assert scores["mae"][0] == pytest.approx(np.abs(residual).mean(), rel=1e-12)
    assert "mae" not in score("linear", weights, sample), "it costs a pass over the rows that only robust regression asks for"


def test_the_error_in_the_unit_is_the_scaled_one_times_half_the_range(geometry, rows, score) -> None:
    column = Column("wage", 100, 500, "USD")
    sample = WholeSample(rows(replace(geometry(1), target_column=column), [[0.5], [-1.0]], [0.25, 0.75]))
    scores = score("linear", np.array([[3.0]]), sample)
    assert scores["rmse_raw"] == pytest.approx(200 * scores["rmse"], rel=1e-12)


def test_the_error_of_a_transformed_target_is_that_of_predictions_mapped_back_and_clipped(
    geometry, rows, score, score_mean
) -> None:
    column = Column("wage", 1, 10_000, "USD", transform=Transform("log"))
    sample = WholeSample(rows(replace(geometry(1), target_column=column), [[0.0], [0.5], [1.0]], [-1.0, 0.0, 1.0]))
    error = np.array([1 - 100, 100 - 10_000, 10_000 - 10_000])  # x'w is 0, 1 and 2
    assert score("linear", np.array([[2.0]]), sample)["rmse_raw"] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-9)
    at_mean = np.array([1, 100, 10_000]) - 100  # the mean of the logarithms is the median here
    assert score_mean("linear", sample, sample)["rmse_raw"] == pytest.approx(np.sqrt(np.mean(at_mean**2)), rel=1e-9)


def test_the_mean_explains_nothing(sample, score_mean) -> None:
    scores = score_mean("linear", sample, sample)
    assert scores["r2"][0] == pytest.approx(0, abs=1e-12)
    assert scores["mse"][0] == pytest.approx(np.var(sample.rows(0).y), rel=1e-12)


def test_equal_targets_leave_nothing_to_explain(geometry, rows, score) -> None:
    flat = WholeSample(rows(geometry(1), [[0.5], [-1.0]], [0.25, 0.25]))
    assert np.isnan(score("linear", np.array([[0.5]]), flat)["r2"]).all()


def test_clipped_predictions_stay_in_the_range_of_the_target(sample) -> None:
    """A huge weight is as wrong as a prediction at the end of the range, and never worse than 2."""
    rows, weights = sample.rows(0), np.array([[40.0, -7.0]])
    clipped = evaluate([RMSE_CLIPPED], Predictions(weights, sample))["rmse_clipped"]
    expected = np.sqrt(np.mean((rows.y - np.clip(rows.x @ weights[0], -1, 1)) ** 2))
    assert clipped[0] == pytest.approx(expected, rel=1e-12)
    assert clipped[0] < 2 < evaluate([RMSE], Predictions(weights, sample))["rmse"][0]


def test_predictions_within_the_range_are_not_changed(sample) -> None:
    scores = evaluate([RMSE, RMSE_CLIPPED], Predictions(np.array([[0.3, 0.1]]), sample))
    assert scores["rmse_clipped"] == pytest.approx(scores["rmse"], rel=1e-12)


def test_clipped_errors_are_computed_only_if_the_command_asks_for_them() -> None:
    linear, logistic = (registry().get("model", name) for name in ("linear", "logistic"))
    assert RMSE_CLIPPED not in registry().metrics_of(linear)
    assert RMSE_CLIPPED in registry().metrics_of(linear, {"clipped"})
    assert RMSE_CLIPPED not in registry().metrics_of(logistic, {"clipped"})
