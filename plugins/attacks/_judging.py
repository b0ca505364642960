"""How good guesses are: the numbers that the attack and its controls are compared by."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..models.logistic import area_under_curve

Numbers = dict[str, float]


def guessed(log_posterior: np.ndarray) -> np.ndarray:
    """The likeliest candidate of each row; the larger one where two are equal, as in the program of Wang et al. 2015."""
    return np.asarray(log_posterior.shape[1] - 1 - log_posterior[:, ::-1].argmax(axis=1))


def judged(inside: tuple[np.ndarray, np.ndarray], outside: tuple[np.ndarray, np.ndarray], majority: int) -> Numbers:
    """The numbers of one run; ``inside`` and ``outside`` are (log posterior, truth) of rows that trained, and that did not."""
    (log_posterior, truth), (other_posterior, other_truth) = inside, outside
    guess = guessed(log_posterior)
    accuracy = float(np.mean(guess == truth))
    accuracy_test = float(np.mean(guessed(other_posterior) == other_truth))
    return {
        "accuracy_train": accuracy,
        "accuracy_test": accuracy_test,
        "gap": accuracy - accuracy_test,
        "balanced_accuracy": float(np.mean([np.mean(guess[truth == level] == level) for level in np.unique(truth)])),
        "auc": _area(log_posterior, truth),
        "advantage": accuracy - float(np.mean(truth == majority)),
    }


def stacked(numbers: Iterable[Numbers]) -> dict[str, np.ndarray]:
    """One array over the runs for each name."""
    runs = list(numbers)
    return {name: np.array([run[name] for run in runs]) for name in runs[0]}


def _area(log_posterior: np.ndarray, truth: np.ndarray) -> float:
    """The area under the curve of each level against the others, weighted by how many rows have it."""
    levels, counts = np.unique(truth, return_counts=True)
    if len(levels) < 2:
        return float("nan")
    if len(levels) == 2:  # the two curves are one
        levels, counts = levels[1:], counts[1:]
    areas = []
    for level in levels:
        others = np.delete(log_posterior, level, axis=1)
        with np.errstate(invalid="ignore"):  # nothing against nothing: neither is likelier
            odds = log_posterior[:, level] - np.logaddexp.reduce(others, axis=1)
        areas.append(area_under_curve((truth == level).astype(float), np.where(np.isnan(odds), 0.0, odds)))
    return float(np.average(areas, weights=counts))
