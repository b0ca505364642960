"""Iteratively reweighted least squares on noisy weighted moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpbench.accounting.costs import Currency
from dpbench.base.options import option
from dpbench.contracts.fit import OK, REPAIRED, Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.contracts.uncertainty import Uncertainty
from dpbench.data.geometry import Geometry
from dpbench.inference.released_moments import NO_LAW, released_moments
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Gaussian, Noise, laplace
from dpbench.privacy.queries.weighted_moments import WeightedMoments

from ._wishart import Composition, Distribution, published_step

REWEIGHTED = "each step weighs the rows by the residuals of the last one, and the noise in those weights has no known law"
"""Why a fit in several steps has no intervals."""
PUBLISHED_CURRENCIES: dict[Composition, Currency] = {"cdp": "zcdp", "conventional": "pure", "advanced": "approx"}


@dataclass(frozen=True)
class ConcentratedIRLS(Mechanism):
    """Run iteratively reweighted least squares on noisy weighted moments.

    Formula: start at w = 0 and repeat J times: s_i = 1/max(1/κ, |y_i - x_i'w|), A~ = X'Sy + noise, B~ = X'SX + noise, w = B~⁻¹A~.
    A model whose rows all weigh 1 takes one step (Algorithm 1 as printed, which has no loop). Without noise it converges to the
    minimiser of the Huber loss with threshold 1/κ, which is close to that of Σ|y - x'w|.

    Guarantee: ρ-zCDP at ρ = ε for replace-one neighbours (``variant=sound``); ε-DP with ``distribution=laplace``. Each step is
    one release of (B, A) at ρ/J, entered as μ = √(2ρ/J), from the L2 sensitivity of both together: κ√4.5 in the ball, 2κ in the
    corner, κ√(2M(M + 1)) in the box of M columns, where a one-hot group counts as one. A weight depends only on its row and on
    private answers.
    ``variant=published`` is NOT private, and every record says so.

    Public: n and the bounds. The coefficient of the weighted intercept's square is not n, so it gets noise.

    Cost: J passes over the rows of every run, which take a second for 250 runs on 5,000 rows and 40 s on 300,000. If all rows
    weigh 1, the single step takes milliseconds.

    Reference: Park and Welling 2016, "A note on privacy preserving iteratively reweighted least squares", arXiv 1605.07511. The
    note prints neither J nor κ: 5 and 5 are our choice.

    Errata: the note's Wishart noise (``variant=published``) is positive definite, so it cannot hide a decrease of B. The
    density ratio of equations 8 to 11 holds only where both densities are positive. A neighbour's answer is impossible with
    probability 1 - exp(-ε') in any dimension, so δ is at least that in each of the J releases. There are two more errors. ε' =
    √(ε/J) drops the positive end of a series (Dwork and Rothblum's Theorem 3.5 gives μ = 1.12, not 0.9, at J = 5); composing
    ε'²/2-zCDP instead, which ε'-DP implies, would be correct. And the Gaussian A (equation 5) is not ε'-DP, which that theorem
    needs.

    The eigenvalues of B~ are raised to the size of the noise, 2σ√(D/2). With ``variant=published``, ``composition`` determines
    how ε' follows from ε (the curves of the note's figure 1; ``advanced`` adds more noise than ``conventional`` while J <
    log(1/δ)).
    """

    name: ClassVar[str] = "cdp_irls"
    handles_persons: ClassVar[bool] = True
    moments_alone: ClassVar[bool] = True
    guarantee: ClassVar[str] = "ρ-zCDP, ρ = ε"
    needs: ClassVar[frozenset[Capability]] = frozenset({"reweighted"})
    currency: ClassVar[Currency] = "zcdp"

    variant: Literal["sound", "published"] = option("sound", help="published: Wishart noise on X'SX, which is not private")
    distribution: Distribution = option("gaussian", help="the noise: on both moments, or on X'Sy alone if published")
    composition: Composition = option("cdp", help="if published: how the ε' of a release follows from ε")
    iterations: int = option(5, low=1, help="J; a model whose rows all weigh 1 takes one step")
    kappa: float = option(5.0, low=0, open_low=True, help="κ: the largest weight of a row (δ in the note)")

    def counted(self) -> Currency:
        if self.variant == "sound":
            return "pure" if self.distribution == "laplace" else "zcdp"
        return PUBLISHED_CURRENCIES[self.composition]

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        if self.variant == "published" and geometry.rows_per_person is not None:
            return self.rows_only
        if self.variant == "sound" and self.composition != "cdp":
            return f"composition={self.composition} belongs to variant=published"
        if self.variant == "published" and self.composition == "conventional" and self.distribution == "gaussian":
            return "conventional composition adds up pure ε, so it needs distribution=laplace"
        return None

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        steps = 1 if problem.steady_weights else self.iterations
        weights = np.zeros((curator.runs, curator.geometry.dimension))
        indefinite, repaired = np.zeros((2, curator.runs), dtype=bool)
        uncertainty: Uncertainty | str = NO_LAW if problem.steady_weights else REWEIGHTED
        for _ in range(steps):
            moments = self._moments(curator, problem, weights)
            if self.variant == "published":
                noisy, floor = published_step(curator, moments, self.distribution, self.composition, budget, steps), 0.0
            else:
                noise, off_diagonal = self._noise(moments, budget.share(1 / steps))
                answer = curator.release(moments, noise)
                noisy = moments.quadratic(answer, curator.n)
                # the operator norm of a symmetric noise matrix is about 2 std_off √D
                floor = 2 * off_diagonal * math.sqrt(curator.geometry.dimension)
                if problem.steady_weights:
                    uncertainty = released_moments(problem, moments.objective.moments(answer, noise, curator.n), noisy)
            noisy = problem.regularised(noisy)
            indefinite |= ~noisy.positive_definite
            repaired |= noisy.spectrum[0][..., 0] < floor
            weights = problem.minimise(noisy.floored(floor))
        fit = Fit(weights, np.where(repaired, REPAIRED, OK), {"not_positive_definite": indefinite})
        return fit.knowing(uncertainty)

    def _moments(self, curator: Curator, problem: Problem, weights: np.ndarray) -> WeightedMoments:
        """Return the query of a step: plain moments, or moments weighted by the residuals of the last fit."""
        if problem.steady_weights:
            return WeightedMoments(curator.geometry)
        return WeightedMoments(
            curator.geometry, lambda residuals: problem.irls_weights(residuals, self.kappa), weights, self.kappa
        )

    def _noise(self, moments: WeightedMoments, budget: Budget) -> tuple[Noise, float]:
        """Return the noise of a sound step, and its standard deviation off the diagonal."""
        if self.distribution == "laplace":
            return laplace(moments.l1_bound, budget.epsilon, moments.proof), math.sqrt(2) * moments.l1_bound / budget.epsilon
        bound = math.sqrt(2 * budget.epsilon)  # ρ = μ²/2
        noise = Noise(Gaussian(), moments.spread(moments.l2_bound / bound), bound, moments.proof)
        return noise, moments.l2_bound / bound / math.sqrt(2)


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [ConcentratedIRLS]
