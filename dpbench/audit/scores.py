"""Scores: numbers computed from answers or weights, whose size may tell two neighbouring tables apart.

An answer's scores are its numbers and, if the law of its noise is declared, the likelihood ratio. If dpbench does not know the
law, a rule is learned, and the least eigenvalues of square answers are added. Support scores show values that one of the
tables cannot give, whatever the law: no finite ε holds for a mechanism that has some.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpbench.audit.repeated_answers import RepeatedAnswers
from dpbench.privacy.noise import CORE_LAWS, Noise, length

MAX_NUMBERS = 60
"""Numbers of an answer that are used as scores: those that moved furthest between the tables."""
RATIO_DECIMALS = 6
"""Decimals of a log-likelihood ratio.

Laplace ratios have atoms, and floating-point rounding splits an atom differently on the two tables. The low bits of simulated
noise are no secret and are not audited.
"""
NEWTON_STEPS = 8
PENALTY = 1.0
"""The L2 penalty of the learned rule's coefficients."""


@dataclass(frozen=True)
class Scores:
    """Scores of many runs on two tables: (tables, runs, scores), with the scores' names."""

    values: np.ndarray
    names: tuple[str, ...]

    def append(self, values: np.ndarray, name: str) -> "Scores":
        """Return these scores and another one: (tables, runs)."""
        return Scores(np.concatenate([self.values, values[..., None]], axis=2), (*self.names, name))


def answer_scores(repeats: RepeatedAnswers) -> Scores:
    """Return the numbers that moved furthest, with a likelihood ratio or a learned rule."""
    numbers, noise = repeats.numbers, repeats.answer.noise
    if not isinstance(noise, Noise):
        scores = black_box_scores(numbers, [f"number {index}" for index in range(numbers.shape[2])])
        if noise is not None:
            return scores
        return _append_least_eigenvalues(_append_extreme_noise(scores, repeats, _spread(numbers)), repeats)
    scale = noise.scale[0]
    change = np.abs(repeats.exact[1] - repeats.exact[0]) / scale
    largest = np.argsort(-change, kind="stable")[: min(MAX_NUMBERS, int((change > 0).sum()))]
    names = [f"number {index}" for index in largest]
    if type(noise.law) in CORE_LAWS:
        scores = append_range_scores(Scores(numbers[:, :, largest], tuple(names)))
    else:
        scores = black_box_scores(numbers[:, :, largest], names)
    if not len(largest) or not repeats.additive:
        return scores
    scores = _append_extreme_noise(scores, repeats, scale)
    first, second = (length((numbers - exact) / scale, noise.law.norm) for exact in repeats.exact)
    loss = (np.square(first) - np.square(second)) / 2 if noise.law.norm == "L2" else first - second
    return scores.append(np.round(loss, RATIO_DECIMALS), "likelihood")


def black_box_scores(values: np.ndarray, names: Sequence[str]) -> Scores:
    """Return the scores of numbers (tables, runs, numbers) of which no law is known: weights, or answers without a proof."""
    return append_learned_rule(append_range_scores(Scores(values, tuple(names))))


def append_range_scores(scores: Scores) -> Scores:
    """Append, for either table, how far a run's numbers leave the ranges in which that table's numbers lie.

    The ranges are learned on the first half of the runs. There each quarter gets those of the other one, so that a run is never
    compared with itself.
    """
    if not scores.names:
        return scores
    values = np.nan_to_num(scores.values, nan=0.0, posinf=1e300, neginf=-1e300)
    half = values.shape[1] // 2
    first, second, later = slice(half // 2), slice(half // 2, half), slice(half, None)
    spread = _spread(values)
    for table, known in enumerate(values):
        excess = np.empty(values.shape[:2])
        for judged, learned in ((first, second), (second, first), (later, slice(half))):
            low, high = known[learned].min(axis=0), known[learned].max(axis=0)
            with np.errstate(over="ignore"):
                beyond = np.maximum(low - values[:, judged], values[:, judged] - high) / spread
            excess[:, judged] = beyond.max(axis=2)
        scores = scores.append(np.clip(excess, -1e300, 1e300), f"excess over the range of table {table}")
    return scores


def append_learned_rule(scores: Scores) -> Scores:
    """Append a logistic regression's prediction of the table, learned on the first half of the runs.

    Its features are squashed scores, so that heavy tails do not decide it, their squares and their signs. The second half of the
    runs is not used: a bound that is computed there holds whatever was learned.
    """
    values = np.nan_to_num(scores.values, nan=0.0, posinf=1e300, neginf=-1e300)
    if not scores.names:
        return scores
    half = values.shape[1] // 2
    centre = np.median(values[:, :half], axis=(0, 1))
    squashed = np.tanh(np.clip((values - centre) / (2 * _spread(values)), -30, 30))
    features = np.concatenate([np.ones((*values.shape[:2], 1)), squashed, np.square(squashed), np.sign(values)], axis=2)
    rule = _logistic_coefficients(features[:, :half].reshape(2 * half, -1), np.repeat([0.0, 1.0], half))
    return Scores(values, scores.names).append(features @ rule, "learned rule")


def _spread(values: np.ndarray) -> np.ndarray:
    """Return the median absolute deviation of each number in the first half of the runs; 1 where it is 0."""
    known = values[:, : values.shape[1] // 2]
    spread = np.median(np.abs(known - np.median(known, axis=(0, 1))), axis=(0, 1))
    return np.where(spread > 0, spread, 1.0)


def _append_extreme_noise(scores: Scores, repeats: RepeatedAnswers, scale: np.ndarray) -> Scores:
    """Append the extreme numbers of a run, minus the exact answer of either table, in scales.

    Bounded noise cannot exceed its bound: what exceeds it without one table's answer comes from the other table. All numbers are
    taken together, because each alone may move by very little.
    """
    for table, exact in enumerate(repeats.exact):
        noise = (repeats.numbers - exact) / scale
        extremes = {"largest": noise.max(axis=2), "least": noise.min(axis=2), "largest absolute": np.abs(noise).max(axis=2)}
        for what, values in extremes.items():
            scores = scores.append(values, f"{what} noise without table {table}")
    return scores


def _logistic_coefficients(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    coefficients = np.zeros(x.shape[1])
    for _ in range(NEWTON_STEPS):
        probability = 1 / (1 + np.exp(-np.clip(x @ coefficients, -30, 30)))
        hessian = (x * (probability * (1 - probability))[:, None]).T @ x + PENALTY * np.eye(x.shape[1])
        coefficients = coefficients + np.linalg.solve(hessian, x.T @ (y - probability) - PENALTY * coefficients)
    return coefficients


def _append_least_eigenvalues(scores: Scores, repeats: RepeatedAnswers) -> Scores:
    """Append, for square answers, the least eigenvalue of the answer minus either table's exact matrix.

    It is negative where noise that is positive definite could not have produced the answer from that table.
    """
    tables, runs, numbers = repeats.numbers.shape
    size = math.isqrt(numbers)
    if size * size == numbers:
        for table, exact in enumerate(repeats.exact):
            noise = (repeats.numbers - exact).reshape(tables, runs, size, size)
            scores = scores.append(np.linalg.eigvalsh(noise)[..., 0], f"least eigenvalue without table {table}")
    return scores
