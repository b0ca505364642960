"""A rule that separates two worlds, learned on the first half of the runs: a logistic regression on squashed numbers."""

from __future__ import annotations

import numpy as np

from dpbench.audit.certificate import Scores

Array = np.ndarray

STEPS = 8
"""Newton steps."""
PENALTY = 1.0
"""Pseudo-rows that hold the rule's weights back."""


def separating(scores: Scores) -> Scores:
    """The scores, and one more: what a logistic regression on their squashed values and squares makes of them.

    The second half of the runs has no part in it, so what is certified there holds whatever was learned.
    """
    first, second = (np.nan_to_num(world, nan=0.0, posinf=1e300, neginf=-1e300) for world in (scores.first, scores.second))
    if not first.shape[1]:
        return scores
    half = len(first) // 2
    known = np.concatenate([first[:half], second[:half]])
    middle = np.median(known, axis=0)
    spread = np.median(np.abs(known - middle), axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    rule = _fitted(_features(known, middle, spread), np.repeat([0.0, 1.0], half))
    learned = [(_features(world, middle, spread) @ rule)[:, None] for world in (first, second)]
    return Scores(first, second, scores.names).beside(learned[0], learned[1], ("learned rule",))


def _features(values: Array, middle: Array, spread: Array) -> Array:
    squashed = np.tanh(np.clip((values - middle) / (2 * spread), -30, 30))
    return np.hstack([np.ones((len(values), 1)), squashed, np.square(squashed), np.sign(values)])


def _fitted(x: Array, y: Array) -> Array:
    weights = np.zeros(x.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        hessian = (x * (chance * (1 - chance))[:, None]).T @ x + PENALTY * np.eye(x.shape[1])
        weights = weights + np.linalg.solve(hessian, x.T @ (y - chance) - PENALTY * weights)
    return weights
