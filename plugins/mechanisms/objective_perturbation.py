"""Objective perturbation: a random linear term is added to the objective."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

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
from dpbench.privacy.procedures.perturbed_objective import PerturbedObjective
from dpbench.privacy.procedures.row_loss import RowLoss

from ._row_loss import bounded_loss, quadratic_penalty

NO_INTERVALS = "the noise is part of the objective, and how it moves the minimum depends on a curvature that is not released"
"""Why there are no intervals."""
MAX_DETERMINANT_EPSILON = 20.0
"""A ridge that is smaller than this allows is lost in the rounding of the Hessian."""

Variant = Literal["tight", "pure", "kst", "cms"]


@dataclass(frozen=True)
class ObjectivePerturbation(Mechanism):
    """Add a random linear term and a ridge to the objective, and release its exact minimiser.

    Formula: minimise Σ loss(x_i'w, y_i) + penalty + (α/2)‖w‖² + b'w. With |loss'| <= L, loss'' <= c and ‖x‖ <= R, which the
    geometry states, α = cR²/(e^(sε) - 1): the determinant of the Hessian costs log(1 + cR²/α) = sε, and (1 - s)ε is left for b.
    ``tight``: b is normal, σ = 2LR/m, where m-GDP is ((1 - s)ε, δ/2). ``pure``: b has a density proportional to exp(-‖b‖/β),
    β = 2LR/((1 - s)ε).

    Guarantee: (ε, δ)-DP for replace-one neighbours, ε-DP with ``pure`` and ``cms``. The proof is in docs/sensitivities.md. It
    is for the exact minimiser: the gradient that Newton's method leaves is 1e-9 of the noise, or rounding. Whether the method
    ends depends on the rows, and is not priced: with clip <= 0.01 and ε >= 200 a few runs in a thousand do not, and are NaN. All
    coefficients are in the ridge, the intercept's too, because the proof needs its strong convexity.

    Public: n and the bounds. Logistic loss has L = 1 and c = ¼. Squared loss has no L: residuals beyond ``clip`` count linearly,
    which is Huber's loss. ``robust`` has L = 1, and a parabola of c = 5 at residuals below 0.2.

    Cost: about 7 passes over the rows of every run, 0.1 s on 250,000 rows of 20 columns.

    Reference: Chaudhuri et al. 2011, "Differentially private empirical risk minimization", JMLR 12 (``cms``);
    Kifer, Smith and Thakurta 2012, "Private convex empirical risk minimization", COLT (``kst``); Redberg, Koskela and Wang 2023,
    "Improving the privacy and practicality of objective perturbation", arXiv 2401.00583, Theorem 3.1 (``tight``).

    Errata: Chaudhuri et al. charge 2 log(1 + cR²/α) for the determinant; only one row adds to either Hessian, so log(1 + cR²/α)
    is enough, and their noise (``cms``, with their α = cR²/(e^(ε/4) - 1)) costs ¾ε. The noise of Kifer et al. and of Redberg et
    al. is for gradients that move by LR, as with a row more. A replaced row moves them by 2LR, for which ``kst`` (α = 2cR²/ε)
    doubles it. It costs less than ε too: ``budget=matched`` uses what is left. diffprivlib bounds the Hessian by cR
    instead of cR², and does not regularise the intercept: at R = 30 its ε = 1 is above 2.
    """

    name: ClassVar[str] = "objective_perturbation"
    guarantee: ClassVar[str] = "(ε, δ)-DP, or ε-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"gradient", "smoothness"})
    currency: ClassVar[Currency] = "approx"

    variant: Variant = option("tight", help="tight (ε, δ) or pure ε; kst, cms: as published, which costs less than ε")
    share: float = option(0.1, low=0, high=1, open_low=True, open_high=True, help="s, if tight or pure: less is more ridge")
    clip: float = option(1.0, low=0, open_low=True, help="larger residuals count linearly in a squared loss (1: half the range)")

    def counted(self) -> Currency:
        return "pure" if self.variant in ("pure", "cms") else "approx"

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        loss, penalty, epsilon = bounded_loss(problem, self.clip), quadratic_penalty(problem), budget.epsilon
        law: Law = "gamma" if self.counted() == "pure" else "gaussian"
        delta = budget.delta if law == "gaussian" else 0.0
        if self.variant == "kst":
            alpha, left = 2 * loss.stiffness / epsilon, epsilon / math.sqrt(8 * math.log(2 / delta) + 4 * epsilon)
        elif self.variant == "cms":
            alpha, left = _ridge(loss, epsilon / 4), epsilon / 2
        else:
            alpha = _ridge(loss, self.share * epsilon)
            left = epsilon - math.log1p(loss.stiffness / alpha)
            left = gdp_of_epsilon(left, delta / 2) if law == "gaussian" else left
        weights = curator.ask(PerturbedObjective(loss, alpha, law, loss.reach / left, penalty, delta))
        return Fit.good(weights).knowing(NO_INTERVALS)


def _ridge(loss: RowLoss, epsilon: float) -> float:
    """Return the ridge at which the Hessian's determinant costs ε, or a little less where that ridge would be rounding."""
    return loss.stiffness / math.expm1(min(epsilon, MAX_DETERMINANT_EPSILON))


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [ObjectivePerturbation]
