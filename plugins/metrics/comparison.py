"""Metrics that compare a private fit with the non-private one and with the mean predictor of the same run."""

from __future__ import annotations

import numpy as np

from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.metric import FitComparison, Metric

LOSSES = {"real": "mse", "binary": "log_loss"}
"""The metric of each kind of target whose way from the non-private fit to the mean predictor is measured."""


def error_in_standard_errors(comparison: FitComparison) -> np.ndarray:
    """Return the root mean square over the coefficients of their errors, each divided by its standard error."""
    difference = comparison.weights - comparison.exact
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(np.sqrt(np.mean(np.square(difference / comparison.standard_errors), axis=1)))


def share_lost(comparison: FitComparison) -> np.ndarray:
    """Return each run's loss on the way from the non-private fit, at 0, to the mean predictor, at 1."""
    name = LOSSES[comparison.target]
    if name not in comparison.scores:  # its plugin is disabled
        return np.full(len(comparison.weights), np.nan)
    loss, exact, mean = comparison.scores[name], comparison.no_privacy[name], comparison.mean_predictor[name]
    if comparison.target == "binary":  # a single confident error can cost any amount
        loss = np.minimum(loss, mean)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(np.where(exact < mean, (loss - exact) / (mean - exact), np.nan))


OLS_SE = Metric(
    "ols_se",
    "error of the coefficients (standard errors)",
    "The distance of the weights from the non-private fit's, each divided by its standard error without privacy (of least "
    "squares, or from the Fisher information): the root mean square over the coefficients. Absent where X'X cannot be inverted.",
    "lower",
    compare=error_in_standard_errors,
    unit="standard errors",
    target=None,
    low=0.0,
)
SHARE_LOST = Metric(
    "share_lost",
    "share lost to privacy (0: non-private fit, 1: mean predictor)",
    "Where the run stands between the non-private fit (0) and the mean predictor (1) by mse, or of classes by log_loss clipped "
    "at the mean predictor's. Absent in runs whose non-private fit is no better than the mean predictor.",
    "lower",
    compare=share_lost,
    target=None,
)


@hookimpl
def dpbench_metrics() -> list[Metric]:
    return [OLS_SE, SHARE_LOST]
