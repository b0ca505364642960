"""Objective perturbation: the minimiser of a regularised loss plus a random linear term."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dpbench.accounting.conversion import epsilon_of_gdp
from dpbench.accounting.costs import Approx, Cost, Pure
from dpbench.base.errors import Refused
from dpbench.base.read_only import read_only
from dpbench.data.samples import Sample
from dpbench.privacy.procedures.convex_minimum import Law, check_ridge, draw, minimise, ridges
from dpbench.privacy.procedures.procedure import Array, Exact, Procedure
from dpbench.privacy.procedures.row_loss import LossDerivatives, RowLoss, beyond
from dpbench.privacy.queries.query import Query

REMAINING_GRADIENT = 1e-9
"""The gradient at the released weights, relative to the noise's scale. It acts like a change of the noise by as little."""


@dataclass(frozen=True, eq=False)
class PerturbedObjective(Procedure):
    """The minimiser of Σ loss(x'w, y) + (α/2)‖w‖² + b'w, with a random b (Chaudhuri, Monteleoni, Sarwate 2011).

    Released weights w belong to exactly one b on either table, b = -(∇Σ loss + αw). So their privacy loss is log p(b)/p(b') plus
    the logarithm of the ratio of the determinants of ∇²Σ loss + αI. With the loss's slope L, curvature c and norm R, replacing a
    row changes b by x ψ - x'ψ', of norm at most 2LR, and the Hessian by c(x'w) xx' - c(x'w) x'x'', which changes the logarithm of
    its determinant by at most log(1 + cR²/α), because only one of the two rows adds to either side.

    ``gamma``: b has a density proportional to exp(-‖b‖/scale). The price is 2LR/scale + log(1 + cR²/α) in pure ε.

    ``gaussian``: b is normal. Its loss is b'v/σ² + ‖v‖²/2σ² + log(1 + cR²/α) with v = xψ - x'ψ'. As ψ and ψ' depend on w, and so
    on b, the largest loss over all of them counts. It is convex in v, so it is met at a corner of the rhombus of all v, ±(LRu +
    LRu') or ±(LRu - LRu') for unit vectors u and u'. Its diagonals are orthogonal, with half-lengths d, d' and d² + d'² = (2LR)²,
    and the two ends of each lie on either side of 0. So with e = ε - log(1 + cR²/α), and δ(m, e) that of m-GDP, δ is at most
    2δ(d/σ, e) + 2δ(d'/σ, e) if e >= d²/2σ². δ(m, e) is convex in m² while e² >= m² + m⁴/4 (its derivative in m is φ(m/2 - e/m)),
    and so the sum is largest if one diagonal is all: δ = 2δ(2LR/σ, e). This is Theorem 3.1 of Redberg, Koskela and Wang 2023 for
    replace-one neighbours instead of neighbours with a row more.

    ``penalty`` is added to α for each coefficient: it is public, and only makes the loss smaller.
    """

    loss: RowLoss
    alpha: float
    law: Law
    scale: float
    penalty: Array = field(repr=False)
    """(1 | runs, D)"""
    delta: float = 0.0
    """The δ at which normal noise is priced."""
    name: str = "perturbed objective"
    measure: ClassVar[str] = "bounds on the gradient, the curvature and a row's norm"

    def __post_init__(self) -> None:
        object.__setattr__(self, "penalty", read_only(np.array(self.penalty, dtype=float)))
        check_ridge(np.array([self.alpha]), self.penalty)
        if not 0 < self.scale < math.inf:
            raise ValueError(f"The scale of the noise must be finite and positive. Got {self.scale} instead.")
        if (self.law == "gaussian") != (0 < self.delta < 1):
            raise ValueError("Normal noise is priced at a δ between 0 and 1, and the other law at none.")
        if self.law == "gaussian":
            mu, rest = self._mu, self._normal_epsilon
            if rest**2 < mu**2 + mu**4 / 4:
                raise Refused(
                    f"The proof of objective perturbation needs a smaller δ than {self.delta:g} at this ε: set a smaller "
                    "delta, a larger epsilon, or a variant with pure ε."
                )

    @property
    def proof(self) -> str:  # type: ignore[override]
        source = "Chaudhuri, Monteleoni, Sarwate 2011" if self.law == "gamma" else "Redberg, Koskela, Wang 2023, for replace-one"
        return f"the density of the minimiser: {source} (dpbench, privacy/procedures/perturbed_objective.py)"

    @property
    def log_determinant(self) -> float:
        """The most that replacing a row changes the logarithm of the Hessian's determinant."""
        return math.log1p(self.loss.stiffness / self.alpha)

    @property
    def cost(self) -> Cost:
        if self.law == "gamma":
            return Pure(self.loss.reach / self.scale + self.log_determinant)
        return Approx(self._normal_epsilon + self.log_determinant, self.delta)

    @property
    def _mu(self) -> float:
        return self.loss.reach / self.scale

    @property
    def _normal_epsilon(self) -> float:
        return epsilon_of_gdp(self._mu, self.delta / 2)

    @property
    def identity(self) -> str:
        penalty = self.penalty.tolist()
        return f"{self.name} of {self.loss.identity}, α {self.alpha} {self.law} {self.scale} δ {self.delta} penalty {penalty}"

    def answer(self, sample: Sample, exact: Exact, generators: Sequence[np.random.Generator]) -> Array:
        noise = draw(generators, self.penalty.shape[1], self.law, np.array([self.scale]))
        ridge = ridges(np.array([self.alpha]), self.penalty, sample.runs)
        return minimise(sample, self.loss, ridge, noise, REMAINING_GRADIENT * self.scale)

    def judged_by(self, answer: Array) -> Query:
        return LossDerivatives(self.loss, answer)

    def moved(self, one: Array, other: Array, run: int | None = None) -> Array:
        query = LossDerivatives(self.loss, np.zeros((1, self.penalty.shape[1])))
        (gradient, hessian, excess), (other_gradient, other_hessian, other_excess) = query.parts(one), query.parts(other)
        penalty = self.penalty if run is None else self.penalty[run if len(self.penalty) > 1 else 0]
        ridge = (self.alpha + penalty)[..., None] * np.eye(penalty.shape[-1])
        determinants = np.linalg.slogdet(hessian + ridge)[1] - np.linalg.slogdet(other_hessian + ridge)[1]
        gradients = np.linalg.norm(gradient - other_gradient, axis=-1) / self.loss.reach
        return beyond(np.maximum(gradients, np.abs(determinants) / self.log_determinant), excess, other_excess)
