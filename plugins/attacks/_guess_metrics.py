"""Measures how good guesses are: the metrics by which an attack and its controls are compared."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dpbench.records.metric_info import MetricInfo

from ..metrics.classification import area_under_curve

Metrics = dict[str, float]

METRICS = (
    MetricInfo(
        "accuracy_train", "attack accuracy on training rows", "The share of right guesses about attacked training rows.", "higher"
    ),
    MetricInfo("accuracy_test", "attack accuracy on test rows", "The share of right guesses about test rows.", "higher"),
    MetricInfo("gap", "train - test", "accuracy_train minus accuracy_test: what the cap limits.", "higher", headline=True),
    MetricInfo("balanced_accuracy", "balanced attack accuracy", "The mean accuracy over the values, on training rows.", "higher"),
    MetricInfo(
        "auc",
        "attack: area under the ROC curve",
        "The area under the ROC curve of the values' posteriors, on training rows.",
        "higher",
    ),
    MetricInfo(
        "advantage",
        "attack advantage",
        "accuracy_train minus that of guessing the commonest value.",
        "higher",
        headline=True,
    ),
)
"""What :func:`guess_metrics` returns."""


def likeliest(log_posterior: np.ndarray) -> np.ndarray:
    """Return the likeliest candidate of each row; of two equal ones the larger, as in the program of Wang et al. 2015."""
    return np.asarray(log_posterior.shape[1] - 1 - log_posterior[:, ::-1].argmax(axis=1))


def guess_metrics(train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray], majority: int) -> Metrics:
    """Return the metrics of one run; ``train`` and ``test`` are (log posterior, true candidate) of the attacked rows."""
    (log_posterior, truth), (test_posterior, test_truth) = train, test
    guess = likeliest(log_posterior)
    accuracy = float(np.mean(guess == truth))
    accuracy_test = float(np.mean(likeliest(test_posterior) == test_truth))
    return {
        "accuracy_train": accuracy,
        "accuracy_test": accuracy_test,
        "gap": accuracy - accuracy_test,
        "balanced_accuracy": float(np.mean([np.mean(guess[truth == candidate] == candidate) for candidate in np.unique(truth)])),
        "auc": _auc(log_posterior, truth),
        "advantage": accuracy - float(np.mean(truth == majority)),
    }


def stack_runs(metrics: Iterable[Metrics]) -> dict[str, np.ndarray]:
    """Return one array over the runs for each metric."""
    runs = list(metrics)
    return {name: np.array([run[name] for run in runs]) for name in runs[0]}


def _auc(log_posterior: np.ndarray, truth: np.ndarray) -> float:
    """Return the area under the curve of each candidate against the others, averaged with their numbers of rows as weights."""
    candidates, counts = np.unique(truth, return_counts=True)
    if len(candidates) < 2:
        return float("nan")
    if len(candidates) == 2:  # both curves are the same
        candidates, counts = candidates[1:], counts[1:]
    areas = []
    for candidate in candidates:
        others = np.delete(log_posterior, candidate, axis=1)
        with np.errstate(invalid="ignore"):  # -inf minus -inf, two impossible candidates: neither is likelier
            odds = log_posterior[:, candidate] - np.logaddexp.reduce(others, axis=1)
        areas.append(area_under_curve((truth == candidate).astype(float), np.where(np.isnan(odds), 0.0, odds)))
    return float(np.average(areas, weights=counts))
