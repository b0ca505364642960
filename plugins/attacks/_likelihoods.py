"""How likely a row's target is, given what the model predicts: what an adversary knows beside the weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from dpbench.contracts.model import Problem

Kind = Literal["hard", "soft"]
LogLikelihood = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Targets (rows,) and values of x'w (rows, candidates) to log likelihoods (rows, candidates)."""

ONE = np.ones(1)
LOWEST = -1e4
"""The log likelihood of what never happened: finite, so that the prior decides between candidates that all are."""


def soft(problem: Problem, y: np.ndarray, linear: np.ndarray) -> LogLikelihood:
    """The model's own likelihood; for a real target at the training rows' mean square, with predictions clipped to [-1, 1]."""
    real = problem.geometry.target == "real"
    variance = max(float(np.mean(np.square(y - np.clip(linear, -1, 1)))), float(np.finfo(float).eps)) if real else 1.0

    def likelihood(y: np.ndarray, linear: np.ndarray) -> np.ndarray:
        possible = np.clip(linear, -1, 1) if real else linear
        repeated = np.repeat(y, linear.shape[1])
        found = problem.log_likelihood(possible.reshape(-1, 1), repeated, ONE, variance)
        return np.asarray(found).reshape(linear.shape)

    return likelihood


def hard(problem: Problem, y: np.ndarray, linear: np.ndarray) -> LogLikelihood:
    """Pr[true class | predicted class] in the training rows, as Fredrikson et al. 2014 and their followers take it."""

    def classes(linear: np.ndarray) -> np.ndarray:
        return (problem.predict(linear.reshape(-1, 1), ONE) >= 0.5).astype(int).reshape(linear.shape)

    truth = (y > 0.5).astype(int)
    counts = np.bincount(2 * classes(linear) + truth, minlength=4).reshape(2, 2)
    totals = counts.sum(axis=1, keepdims=True)
    share = np.where(totals > 0, counts / np.maximum(totals, 1), 0.5)  # what is never predicted tells nothing
    with np.errstate(divide="ignore"):
        table = np.maximum(np.log(share), LOWEST)

    def likelihood(y: np.ndarray, linear: np.ndarray) -> np.ndarray:
        return np.asarray(table[classes(linear), (y > 0.5).astype(int)[:, None]])

    return likelihood


LIKELIHOODS: dict[Kind, Callable[[Problem, np.ndarray, np.ndarray], LogLikelihood]] = {"hard": hard, "soft": soft}
