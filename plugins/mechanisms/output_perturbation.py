"""Output perturbation: noise on the minimiser of a strongly convex objective."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpbench.accounting.conversion import gdp_of_epsilon
from dpbench.accounting.costs import Currency
from dpbench.base.options import option
from dpbench.contracts.fit import Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Problem
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.procedures.convex_minimum import Law
from dpbench.privacy.procedures.perturbed_minimum import PerturbedMinimum

from ._row_loss import bounded_loss, quadratic_penalty

NO_INTERVALS = "the noise is added to the minimum under a ridge, and how far that lies from the fit without one is not released"
"""Why there are no intervals."""


@dataclass(frozen=True)
class OutputPerturbation(Mechanism):
    """Minimise the objective plus a ridge, and add noise to the minimiser.

    Formula: w = argmin Σ loss(x_i'w, y_i) + penalty + (α/2)‖w‖², then w + noise. With |loss'| <= L, loss'' <= c and ‖x‖ <= R,
    which the geometry states, a replaced row moves w by at most 2LR/α. ``gaussian``: σ = 2LR/(αμ), where μ-GDP is (ε, δ).
    ``pure``: a density proportional to exp(-‖noise‖/β), β = 2LR/(αε). A larger α means less noise and more shrinkage. For
    a box with P parts, columns and groups, let ℓ/α be the typical length of the noise. The default is α = √(ncℓ) + 2ℓ: noise and
    shrinkage are about equal in directions of curvature nc, and the noise is no longer than ½. Elsewhere α is R²/P times that.

    Guarantee: μ-GDP, with the μ of (ε, δ), for replace-one neighbours; ε-DP with ``pure``. The proof is strong convexity, in
    docs/sensitivities.md. It is for the exact minimiser: what Newton's method leaves is 1e-9 of the bound. Whether the method
    ends depends on the rows, and is not priced; no run is known in which it does not.

    Public: n and the bounds. As for objective_perturbation, a squared loss is linear beyond ``clip``, and the intercept is in the
    ridge.

    Cost: about 6 passes over the rows of every run.

    Reference: Chaudhuri et al. 2011, "Differentially private empirical risk minimization", JMLR 12, Algorithm 1.

    Errata: none known. It is included to be compared with: the noise has one size in all directions, also where the rows say a
    lot, so that objective perturbation is better nearly everywhere.
    """

    name: ClassVar[str] = "output_perturbation"
    guarantee: ClassVar[str] = "(ε, δ)-DP, or ε-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"gradient", "smoothness"})
    currency: ClassVar[Currency] = "approx"

    variant: Literal["gaussian", "pure"] = option("gaussian", help="(ε, δ) by normal noise, or pure ε")
    ridge: float = option(1.0, low=0, open_low=True, help="multiples of the default α")
    clip: float = option(1.0, low=0, open_low=True, help="larger residuals count linearly in a squared loss (1: half the range)")

    def counted(self) -> Currency:
        return "pure" if self.variant == "pure" else "approx"

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        loss, penalty, side = bounded_loss(problem, self.clip), quadratic_penalty(problem), curator.geometry.dimension
        law: Law = "gamma" if self.variant == "pure" else "gaussian"
        bound = budget.epsilon if law == "gamma" else gdp_of_epsilon(budget.epsilon, budget.delta)
        geometry = curator.geometry
        parts = geometry.numeric + len(geometry.groups) + geometry.intercept
        length = 2 * loss.slope * math.sqrt(parts) / bound * (side if law == "gamma" else math.sqrt(side))
        # the ridge of the box: in the ball and the corner the same weights are longer
        alpha = self.ridge * loss.norm**2 / parts * (np.sqrt(curator.n * loss.curvature * length) + 2 * length)
        return Fit.good(curator.ask(PerturbedMinimum(loss, alpha, law, bound, penalty))).knowing(NO_INTERVALS)


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [OutputPerturbation]
