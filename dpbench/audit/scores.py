"""Scores: numbers computed from answers or weights, by whose size two neighbouring tables may be told apart.

An answer's scores are its numbers, and the likelihood ratio where the law of its noise is declared. Where no law is declared, a
rule is learned, and the least eigenvalues of square answers are added.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpbench.audit.repeated_answers import RepeatedAnswers

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
    if noise is None:
        names = tuple(f"number {index}" for index in range(numbers.shape[2]))
        return _append_least_eigenvalues(append_learned_rule(Scores(numbers, names)), repeats)
    scale = noise.scale[0]
    change = np.abs(repeats.exact[1] - repeats.exact[0]) / scale
    largest = np.argsort(-change, kind="stable")[: min(MAX_NUMBERS, int((change > 0).sum()))]
    scores = Scores(numbers[:, :, largest], tuple(f"number {index}" for index in largest))
    if not len(largest) or not repeats.additive:
        return scores
    first, second = ((numbers - exact) / scale for exact in repeats.exact)
    loss = (np.square(first) - np.square(second)) / 2 if noise.law.norm == "L2" else np.abs(first) - np.abs(second)
    return scores.append(np.round(loss.sum(axis=2), RATIO_DECIMALS), "likelihood")


def append_learned_rule(scores: Scores) -> Scores:
    """Append a logistic regression's prediction of the table, learned on the first half of the runs.

    Its features are squashed scores, so that heavy tails do not decide it, their squares and their signs. The second half of the
    runs is not used: a bound that is computed there holds whatever was learned.
    """
    values = np.nan_to_num(scores.values, nan=0.0, posinf=1e300, neginf=-1e300)
    if not scores.names:
        return scores
    half = values.shape[1] // 2
    known = values[:, :half].reshape(-1, len(scores.names))
    centre = np.median(known, axis=0)
    spread = np.median(np.abs(known - centre), axis=0)
    squashed = np.tanh(np.clip((values - centre) / (2 * np.where(spread > 0, spread, 1.0)), -30, 30))
    features = np.concatenate([np.ones((*values.shape[:2], 1)), squashed, np.square(squashed), np.sign(values)], axis=2)
    rule = _logistic_coefficients(features[:, :half].reshape(2 * half, -1), np.repeat([0.0, 1.0], half))
    return Scores(values, scores.names).append(features @ rule, "learned rule")


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
            scores = scores.append(np.linalg.eigvalsh(noise)[..., 0], f"least eigenvalue without world {table}")
    return scores
