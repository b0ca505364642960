"""Metrics of a binary target: misclassification, the ROC curve with the area under it, the log loss."""

from __future__ import annotations

import numpy as np

from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.metric import ConstantPredictions, Metric, RunPredictions

ROC_POINTS = 101
"""The number of points of a ROC curve, at even false positive rates from 0 to 1."""


def error_rate(rows: RunPredictions) -> float:
    """Return the share of rows whose likelier class is wrong."""
    return float(np.mean((rows.score >= 0) != (rows.y > 0.5)))


def constant_error_rate(constant: ConstantPredictions) -> np.ndarray:
    """Return the share of test rows that are not of the majority's class."""
    positive = constant.positive_share
    return np.where(constant.probability >= 0.5, 1 - positive, positive)


def log_loss(y: np.ndarray, log_odds: np.ndarray) -> np.ndarray:
    """Return -log P[y] of each row without overflow."""
    return np.asarray(np.maximum(log_odds, 0) + np.log1p(np.exp(-np.abs(log_odds))) - y * log_odds)


def constant_log_loss(constant: ConstantPredictions) -> np.ndarray:
    """Return the log loss of predicting the training share of class 1 for every row."""
    positive, probability = constant.positive_share, constant.probability
    return np.asarray(-(positive * np.log(probability) + (1 - positive) * np.log1p(-probability)))


def area_under_curve(y: np.ndarray, score: np.ndarray) -> float:
    """Return how often a row of class 1 scores higher than one of class 0. Ties count half; without such pairs it is NaN."""
    return area(*RunPredictions(y, score).by_class)


def area(positive: np.ndarray, negative: np.ndarray) -> float:
    """Return the same of sorted scores."""
    if not len(positive) or not len(negative):
        return float("nan")
    below = np.searchsorted(negative, positive)
    tied = negative.take(below, mode="clip") == positive  # few: only for them is there a second search
    ties = np.searchsorted(negative, positive[tied], "right") - below[tied]
    return float(2 * below.sum() + ties.sum()) / (2 * len(positive) * len(negative))


def constant_area(constant: ConstantPredictions) -> np.ndarray:
    """Return one half where both classes are tested: all rows tie."""
    positive = constant.positive_share
    return np.where((positive > 0) & (positive < 1), 0.5, np.nan)


def roc_curve(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """Return the true positive rate at even false positive rates.

    The curve is interpolated between its steps, so that ties count half here too.
    """
    if not len(positive) or not len(negative):
        return np.full(ROC_POINTS, np.nan)
    rate = np.linspace(0, 1, ROC_POINTS)
    # each false positive rate falls on the step at the score of one negative row; the step starts at the rates of rows that score
    # higher and ends at the rates of rows that score at least as high
    score = negative[::-1][np.clip(np.ceil(rate * len(negative) - 1e-9).astype(int) - 1, 0, None)]
    start, end = (
        [1 - np.searchsorted(scores, score, side) / len(scores) for scores in (negative, positive)] for side in ("right", "left")
    )
    share = (rate - start[0]) / (end[0] - start[0])
    curve = start[1] + share * (end[1] - start[1])
    curve[-1] = 1  # a threshold that accepts every negative row accepts every positive one
    return np.asarray(curve)


ERROR_RATE = Metric(
    "error_rate",
    "misclassification rate",
    "The share of test rows whose likelier class is wrong.",
    "lower",
    compute_run=error_rate,
    compute_constant=constant_error_rate,
    unit="share of the rows",
    target="binary",
    low=0.0,
    high=1.0,
)
AUC = Metric(
    "auc",
    "area under the ROC curve",
    "How often a test row of class 1 scores higher than one of class 0; ties count half.",
    "higher",
    compute_run=lambda rows: area(*rows.by_class),
    compute_constant=constant_area,
    target="binary",
    low=0.0,
    high=1.0,
)
LOG_LOSS = Metric(
    "log_loss",
    "log loss",
    "The mean of -log P[class] over the test rows.",
    "lower",
    compute_run=lambda rows: float(np.mean(log_loss(rows.y, rows.score))),
    compute_constant=constant_log_loss,
    unit="nats",
    target="binary",
    low=0.0,
)
ROC = Metric(
    "roc",
    "true positive rate",
    "The ROC curve: the true positive rate at 101 even false positive rates from 0 to 1.",
    "higher",
    compute_run=lambda rows: roc_curve(*rows.by_class),
    compute_constant=lambda constant: np.tile(np.linspace(0, 1, ROC_POINTS), (constant.test.runs, 1)),
    target="binary",
    low=0.0,
    high=1.0,
)


@hookimpl
def dpbench_metrics() -> list[Metric]:
    return [ERROR_RATE, AUC, LOG_LOSS, ROC]
