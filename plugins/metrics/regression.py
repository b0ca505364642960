"""Metrics of a real target: squared and absolute errors, the coefficient of determination, the normal likelihood."""

from __future__ import annotations

import numpy as np

from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.metric import Metric, Predictions, RunPredictions


def mean_squared_error(predictions: Predictions) -> np.ndarray:
    """Return the mean squared error of each run."""
    return np.asarray(np.maximum(predictions.squared_errors, 0.0) / predictions.test.moments.n)


def root_mean_squared_error(predictions: Predictions) -> np.ndarray:
    """Return its root."""
    return np.asarray(np.sqrt(mean_squared_error(predictions)))


def root_mean_squared_error_in_unit(predictions: Predictions) -> np.ndarray:
    """Return the same in the target's unit: of a transformed target the error of the released model's clipped predictions."""
    column = predictions.test.geometry.target_column
    if column is None or column.transform is None:
        return np.asarray(root_mean_squared_error(predictions) * predictions.test.half_range)

    def error(rows: RunPredictions) -> float:
        # without clipping, a single prediction far outside the bounds has an infinite inverse
        predicted = np.clip(column.from_box(rows.score), column.low, column.high)
        return float(np.sqrt(np.mean(np.square(column.from_box(rows.y) - predicted))))

    return np.array([error(predictions.run(run)) for run in range(predictions.test.runs)])


def log_likelihood(predictions: Predictions) -> np.ndarray:
    """Return the mean log density of a test row under normal errors, at the variance at which the test rows are likeliest.

    That variance is the mean squared error itself (Park and Welling 2016, figure 1, do not say at which variance they score).
    """
    # the floor is what rounding leaves of y²: a perfect fit must not have an infinite likelihood
    variance = np.maximum(mean_squared_error(predictions), np.finfo(float).eps ** 2)
    return np.asarray(-0.5 * (np.log(2 * np.pi * variance) + 1))


def r_squared(predictions: Predictions) -> np.ndarray:
    """Return 1 minus the mean squared error over the variance of the test targets; NaN if they are all equal."""
    moments = predictions.test.moments
    around_mean = np.maximum(moments.yy - moments.y**2 / moments.n, 0.0) / moments.n
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(around_mean > 0, 1 - mean_squared_error(predictions) / around_mean, np.nan))


def absolute_error(rows: RunPredictions) -> float:
    """Return the mean absolute error of one run."""
    errors = rows.y - rows.score
    return float(np.abs(errors, out=errors).mean())


def clipped_root_mean_squared_error(rows: RunPredictions) -> float:
    """Return the root mean squared error of one run, with predictions clipped to the range of the scaled target, [-1, 1]."""
    errors = np.clip(rows.score, -1.0, 1.0)
    np.subtract(rows.y, errors, out=errors)  # in place: fetching memory for temporary arrays takes longer than computing them
    return float(np.sqrt(np.square(errors, out=errors).mean()))


MSE = Metric(
    "mse",
    "mean square error (scaled target)",
    "The mean squared error on the test rows, on the target scaled to [-1, 1].",
    "lower",
    mean_squared_error,
    unit="scaled target squared",
    low=0.0,
)
RMSE = Metric(
    "rmse",
    "root mean square error (scaled target)",
    "The root mean squared error on the test rows, on the target scaled to [-1, 1].",
    "lower",
    root_mean_squared_error,
    unit="scaled target",
    low=0.0,
)
LOG_LIKELIHOOD = Metric(
    "log_likelihood",
    "log-likelihood of a test row",
    "The mean log density of a test row's target under normal errors, at the variance at which the test rows are likeliest.",
    "higher",
    log_likelihood,
    unit="nats",
)
RMSE_RAW = Metric(
    "rmse_raw",
    "root mean square error (target's unit)",
    "The root mean squared error on the test rows, in the target's own unit; for a transformed target, predictions are clipped.",
    "lower",
    root_mean_squared_error_in_unit,
    unit="target's unit",
    low=0.0,
)
R2 = Metric("r2", "R²", "1 minus the mean squared error over the variance of the test targets.", "higher", r_squared, high=1.0)
MAE = Metric(
    "mae",
    "mean absolute error (scaled target)",
    "The mean absolute error on the test rows, on the target scaled to [-1, 1].",
    "lower",
    compute_run=absolute_error,
    unit="scaled target",
    every_model=False,  # it costs a pass over the rows
    low=0.0,
)


RMSE_CLIPPED = Metric(
    "rmse_clipped",
    "root mean square error of clipped predictions (scaled target)",
    "The same as rmse, with predictions clipped to the declared range of the target; only with `clipped=true`.",
    "lower",
    compute_run=clipped_root_mean_squared_error,
    unit="scaled target",
    flag="clipped",
    low=0.0,
    high=2.0,
)


@hookimpl
def dpbench_metrics() -> list[Metric]:
    return [MAE, MSE, RMSE, RMSE_CLIPPED, LOG_LIKELIHOOD, RMSE_RAW, R2]
