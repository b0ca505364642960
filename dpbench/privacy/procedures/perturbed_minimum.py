"""Output perturbation: the minimiser of a regularised loss, with noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dpbench.accounting.costs import Cost, Gdp, Pure
from dpbench.base.read_only import read_only
from dpbench.data.samples import Sample
from dpbench.privacy.procedures.convex_minimum import Law, check_ridge, draw, minimise, ridges
from dpbench.privacy.procedures.procedure import Array, Exact, Procedure
from dpbench.privacy.procedures.row_loss import LossDerivatives, RowLoss, beyond
from dpbench.privacy.queries.query import Query

REMAINING_GRADIENT = 1e-9
"""The gradient at the minimiser before noise, relative to what one row may change it by."""


@dataclass(frozen=True, eq=False)
class PerturbedMinimum(Procedure):
    """The minimiser of F = Σ loss(x'w, y) + (α/2)‖w‖², plus noise (Chaudhuri, Monteleoni, Sarwate 2011, Algorithm 1).

    F is α-strongly convex, so minimisers w of F and w' of F' on a neighbour satisfy α‖w - w'‖² <= <∇F(w) - ∇F(w'), w - w'>. The
    first gradient is 0, and so is ∇F'(w'), so that the right side is at most ‖∇F'(w') - ∇F(w')‖ ‖w - w'‖, where the gradients
    differ by one row's on either side: ‖w - w'‖ <= 2LR/α.

    ``gamma``: the noise has a density proportional to exp(-‖noise‖/scale), where scale = 2LR/(α bound), and the price is
    ``bound`` in pure ε. ``gaussian``: this scale is its standard deviation, and the price is ``bound`` in μ. ``penalty`` is added
    to α for each coefficient, and only makes the loss smaller. α is one number for each run, (runs,), or for all of them, (1,);
    the penalty is (runs, D) or (1, D), as in ``np.zeros((1, D))``.
    """

    loss: RowLoss
    alpha: Array
    """(1 | runs,)"""
    law: Law
    bound: float
    penalty: Array = field(repr=False)
    """(1 | runs, D)"""
    name: str = "perturbed minimum"
    proof: str = "2LR/α: strong convexity (Chaudhuri, Monteleoni, Sarwate 2011, Corollary 8 for sums)"
    measure: ClassVar[str] = "bounds on the gradient, the curvature and a row's norm"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", read_only(np.array(self.alpha, dtype=float).reshape(-1)))
        object.__setattr__(self, "penalty", read_only(np.array(self.penalty, dtype=float)))
        check_ridge(self.alpha, self.penalty)
        if not 0 < self.bound < math.inf:
            raise ValueError(f"The price of the noise must be finite and positive. Got {self.bound} instead.")

    @property
    def cost(self) -> Cost:
        return Pure(self.bound) if self.law == "gamma" else Gdp(self.bound)

    @property
    def identity(self) -> str:
        ridge = f"α {self.alpha.tolist()} penalty {self.penalty.tolist()}"
        return f"{self.name} of {self.loss.identity}, {ridge} {self.law} {self.bound}"

    def answer(self, sample: Sample, exact: Exact, generators: Sequence[np.random.Generator]) -> Array:
        ridge = ridges(self.alpha, self.penalty, sample.runs)
        minimum = minimise(sample, self.loss, ridge, np.zeros(ridge.shape), REMAINING_GRADIENT * self.loss.reach)
        # two minima that are this far from exact are that much further apart
        scale = (1 + 2 * REMAINING_GRADIENT) * self.loss.reach / self.alpha / self.bound
        return np.asarray(minimum + draw(generators, ridge.shape[1], self.law, scale))

    def judged_by(self, answer: Array) -> Query:
        return LossDerivatives(self.loss, answer)

    def moved(self, one: Array, other: Array, run: int | None = None) -> Array:
        """Return how far the gradients at the answer are apart: the minimisers differ by at most as much, divided by α."""
        query = LossDerivatives(self.loss, np.zeros((1, self.penalty.shape[1])))
        (gradient, _, excess), (other_gradient, _, other_excess) = query.parts(one), query.parts(other)
        return beyond(np.linalg.norm(gradient - other_gradient, axis=-1) / self.loss.reach, excess, other_excess)
