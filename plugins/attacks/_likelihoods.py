"""How likely a row's target is, given the model's prediction: what an adversary knows in addition to the weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from dpbench.contracts.model import Problem

Kind = Literal["hard", "soft"]
LogLikelihood = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From targets (rows,) and values of x'w (rows, candidates) to log likelihoods (rows, candidates)."""

UNIT_WEIGHT = np.ones(1)
"""Used with x'w as the only column: a problem predicts from x'w alone, so (x'w, 1) may stand for (x, w)."""
MIN_LOG_LIKELIHOOD = -1e4
"""The log likelihood of impossible targets. It is finite, so that the prior decides if all candidates are impossible."""


def soft(problem: Problem, y: np.ndarray, linear: np.ndarray) -> LogLikelihood:
    """Return the model's own likelihood.

    For a real target its variance is the mean square of the training rows, with predictions clipped to [-1, 1].
    """
    real = problem.geometry.target == "real"
    variance = max(float(np.mean(np.square(y - np.clip(linear, -1, 1)))), float(np.finfo(float).eps)) if real else 1.0

    def likelihood(y: np.ndarray, linear: np.ndarray) -> np.ndarray:
        prediction = np.clip(linear, -1, 1) if real else linear
        repeated = np.repeat(y, linear.shape[1])
        values = problem.log_likelihood(prediction.reshape(-1, 1), repeated, UNIT_WEIGHT, variance)
        return np.asarray(values).reshape(linear.shape)

    return likelihood


def hard(problem: Problem, y: np.ndarray, linear: np.ndarray) -> LogLikelihood:
    """Return Pr[true class | predicted class] among the training rows, the likelihood of Fredrikson et al. 2014."""

    def classes(linear: np.ndarray) -> np.ndarray:
        return (problem.predict(linear.reshape(-1, 1), UNIT_WEIGHT) >= 0.5).astype(int).reshape(linear.shape)

    truth = (y > 0.5).astype(int)
    counts = np.bincount(2 * classes(linear) + truth, minlength=4).reshape(2, 2)
    totals = counts.sum(axis=1, keepdims=True)
    share = np.where(totals > 0, counts / np.maximum(totals, 1), 0.5)  # a class that is never predicted carries no information
    with np.errstate(divide="ignore"):
        table = np.maximum(np.log(share), MIN_LOG_LIKELIHOOD)

    def likelihood(y: np.ndarray, linear: np.ndarray) -> np.ndarray:
        return np.asarray(table[classes(linear), (y > 0.5).astype(int)[:, None]])

    return likelihood


LIKELIHOODS: dict[Kind, Callable[[Problem, np.ndarray, np.ndarray], LogLikelihood]] = {"hard": hard, "soft": soft}
"""Each one takes the problem and, of the training rows, the target and x'w."""
