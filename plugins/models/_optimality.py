"""Make a solver's minimiser of ‖Lw‖² + c'w + t ‖w‖₁ exact, so that weights that should be zero are zero.

A cone solver returns numbers such as 1e-9 where the minimiser is zero. By the optimality conditions a penalised coordinate is
zero if its slope lies within [-t, t]; all others solve linear equations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

OPTIMALITY_TOLERANCE = 1e-6
"""The largest violation of the optimality conditions that a solution may have, relative to its largest weight."""
EXACT = 1e-13
"""A violation of this size is rounding."""
MAX_ROUNDS = 20
"""Give up looking for the coordinates that are not zero after this many guesses."""


@dataclass(frozen=True)
class PenalisedObjective:
    """The objective ‖Lw‖² + c'w + t ‖w‖₁, in units in which the largest eigenvalue of L'L is at most 1."""

    root: np.ndarray
    linear: np.ndarray
    absolute: float
    penalised: np.ndarray
    """A mask: the intercept is not penalised."""

    def proximal_step(self, weights: np.ndarray) -> np.ndarray:
        """Return the weights after a gradient step of length 1 and the shrinkage by t: exactly a minimiser stays where it is."""
        stepped = weights - 2 * self.root.T @ (self.root @ weights) - self.linear
        shrunk = np.sign(stepped) * np.maximum(np.abs(stepped) - self.absolute, 0)
        return np.asarray(np.where(self.penalised, shrunk, stepped))

    def violation(self, weights: np.ndarray) -> float:
        """Return how far the weights are from satisfying the optimality conditions, relative to the largest of them."""
        return float(np.abs(self.proximal_step(weights) - weights).max() / max(1.0, float(np.abs(weights).max())))

    def on_support(self, signs: np.ndarray) -> np.ndarray:
        """Return the minimiser among weights with these signs: zero where a sign is zero, the others where the slope is zero."""
        support = (signs != 0) | ~self.penalised
        part = self.root[:, support]
        slope = self.linear[support] + self.absolute * np.where(self.penalised, signs, 0.0)[support]
        weights = np.zeros_like(self.linear)
        weights[support] = np.linalg.lstsq(2 * part.T @ part, -slope, rcond=None)[0]
        return weights


def polished(solution: np.ndarray, objective: PenalisedObjective) -> np.ndarray:
    """Return the minimiser next to a solver's solution, with exact zeros, or NaN if neither satisfies the optimality conditions.

    One proximal step never increases the violation, and sets every coordinate to zero whose slope is below the penalty. The
    signs that it leaves are the first guess for those of the minimiser.
    """
    best = objective.proximal_step(solution)
    smallest, signs = objective.violation(best), np.sign(best)
    for _ in range(MAX_ROUNDS):
        weights = objective.on_support(signs)
        violation = objective.violation(weights)
        if violation < smallest:
            best, smallest = weights, violation
        # a weight that took the other sign is zero in the next guess, one whose slope exceeds the penalty is not
        guess = np.where(weights * signs < 0, 0.0, np.sign(objective.proximal_step(weights)))
        if smallest <= EXACT or (guess == signs).all():
            break
        signs = guess
    return best if smallest <= OPTIMALITY_TOLERANCE else np.full_like(solution, np.nan)
