"""The functional mechanism: noise on the coefficients of the objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.fit import DIVERGED, OK, Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.geometry import Geometry
from dpbench.fitting.noisy_objective import RADIUS, Repair, minimise, minimum_within
from dpbench.inference.released_moments import released_moments
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import KNorm, Noise, laplace
from dpbench.privacy.queries.polynomial import Convention, Polynomial, Sensitivity, SensitivityKey

NO_INTERVALS = "the noise is drawn until the objective has a minimum, so it no longer has the law that it was drawn from"
"""Why there are no intervals if draws are repeated."""


@dataclass(frozen=True)
class FunctionalMechanism(Mechanism):
    """Add Laplace or K-norm noise to the coefficients of the objective, then minimise the noisy objective.

    Formula: the objective f(w) is a sum of monomials w_j w_l and w_j. Each of their coefficients gets Lap(Δ/ε). A ridge of 4
    standard deviations and trimming make the noisy objective bounded, and its minimiser is released. A model's penalty, smooth
    or not, is added to the noisy objective (Dandekar et al. 2018, equations 8 and 9). For D coefficients in the box, linear
    (logistic, truncated at order 2): Δ = (D + 1)² ((D + 2)²/8) with ``sensitivity=tight``, 2(D + 1)² (D²/4 + 3D) with ``paper``,
    2D² + 4D (D²/4 + 3D) with ``fang``, and 2D² + 4D (D²/4 + D) with ``code``, the program of Zhang et al. Linear models in the
    box also get y'y + Lap(Δ/ε), at the same Δ; weights do not depend on it.

    ``noise=knorm`` draws all coefficients together: a radius Gamma(d + 1)/ε times a uniform point of the box whose sides are the
    ranges of the d coefficients (Hardt and Talwar 2010). At D = 14 the standard deviations on M are 70/ε on and 139/ε off the
    diagonal, where tight Laplace noise has 318/ε and 159/ε. It grows with the number of coefficients, and the tight Laplace noise
    with that of groups: with many one-hot columns K-norm noise is the larger one.

    Guarantee: ε-DP for replace-one neighbours (Theorem 1). ``until_bounded`` uses neither ridge nor repair; it draws the noise
    again until the objective is bounded, at ε/2 per draw (Lemma 5).

    Public: n and the bounds. The coefficient of the intercept's square is n, so it gets no noise and does not count in Δ.

    Cost: one stack of D × D eigenproblems. Lasso and elastic net solve one convex program per run; with ``repair=none`` they
    solve 31 for each run without a minimum.

    Reference: Zhang et al. 2012, "Functional mechanism: regression analysis under differential privacy", PVLDB 5(11),
    Algorithm 1; Dandekar et al. 2018, "Differential privacy for regularised linear regression", DEXA.

    Errata: the published Δ is valid but too large: about two times in the box (logistic: three times), at D = 13 fourteen times
    in the ball and eighteen times in the corner, which is the paper's own scaling (footnote 1). Dandekar et al. call
    ``repair=none ridge=0`` unstable (section 5.4): if the noisy objective has no minimum, the result of a convex solver is
    arbitrary. Here such a run gets the least value within ‖w‖ <= ``radius`` and counts in ``health/diverged``. With
    ``repair=stationary`` it gets the stationary point -½ M⁻¹c instead, as from their closed forms for linear and ridge
    regression (equations 3 and 5); lasso and elastic net have no closed form, and stay with the least value. They doubt whether
    making M symmetric, trimming and an inexact solver are free of privacy cost; all three are, as post-processing.
    """

    name: ClassVar[str] = "fm"
    handles_persons: ClassVar[bool] = True
    moments_alone: ClassVar[bool] = True
    guarantee: ClassVar[str] = "ε-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"polynomial"})
    published_sensitivity: ClassVar[Sensitivity] = "paper"

    convention: Convention = option("monomial", help="which numbers get noise: Algorithm 1, section 6.1 or the program")
    noise: Literal["laplace", "knorm"] = option("laplace", help="knorm: noise in the shape of a box, with tight bounds only")
    sensitivity: Sensitivity = option("auto", help="the bound Δ: Zhang's, Fang's, the program's, the supremum; auto: by the key")
    ridge: Literal["auto"] | float = option("auto", low=0, help="multiples of the noise's std; auto: 4 (code: 5), 0 with floor")
    repair: Repair = option("trim", help="what happens to eigenvalues that are not positive; stationary: nothing, take -½ M⁻¹c")
    radius: float = option(RADIUS, low=0, open_low=True, help="bound on ‖w‖ if there is neither a repair nor a minimum")
    until_bounded: bool = option(False, help="draw again until the objective is bounded, at ε/2 (instead of ridge and repair)")
    max_tries: int | None = option(None, low=1, help="limit for until_bounded; a loop with a limit has no guarantee")

    def sensitivity_rule(self, key: SensitivityKey = "tight") -> Sensitivity | None:
        # printed bounds are L1 norms, which say nothing about noise in the shape of a box
        return "tight" if self.noise == "knorm" and self.sensitivity == "auto" else super().sensitivity_rule(key)

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        if self.noise == "knorm" and self.sensitivity not in ("auto", "tight"):
            return f"sensitivity={self.sensitivity} is a bound for noise=laplace"
        return None

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        objective = problem.polynomial(self.convention)
        if self.until_bounded:
            return self._fit_until_bounded(curator, problem, objective, budget)
        if self.noise == "laplace":  # a further number would make K-norm noise larger
            objective = objective.with_square()
        noise = self._noise(objective, budget.epsilon)
        coefficients = curator.release(objective, noise)
        ridge = published_ridge(self.convention, self.repair) if self.ridge == "auto" else self.ridge
        noisy = objective.quadratic(coefficients, problem.n)
        fit = minimise(problem, objective, noisy, noise, ridge, self.repair, self.radius)
        return fit.knowing(released_moments(problem, objective.moments(coefficients, noise, problem.n), noisy))

    def _noise(self, objective: Polynomial, epsilon: float) -> Noise:
        if self.noise == "knorm":
            return Noise(KNorm(), objective.ranges / epsilon, epsilon, objective.proof("tight"))
        return laplace(objective.l1_bound(self.sensitivity), epsilon, objective.proof(self.sensitivity))

    def _fit_until_bounded(self, curator: Curator, problem: Problem, objective: Polynomial, budget: Budget) -> Fit:
        # Zhang et al. 2012, Lemma 5: to repeat an ε₀ release until it is accepted costs 2 ε₀
        noise = self._noise(objective, budget.epsilon / 2)

        def bounded(run: int, coefficients: np.ndarray) -> bool:
            single = problem.for_run(run)
            return bool(single.regularised(objective.quadratic(coefficients[None], single.n)).bounded[0])

        coefficients, accepted = curator.until(objective, noise, bounded, self.max_tries)
        quadratic = problem.regularised(objective.quadratic(coefficients, problem.n))
        weights = minimum_within(problem, quadratic, ~accepted, self.radius)
        fit = Fit(weights, np.where(accepted, OK, DIVERGED), {"not_positive_definite": ~accepted})
        return fit.knowing(NO_INTERVALS)


def published_ridge(convention: Convention, repair: Repair) -> float:
    """Return the ridge in multiples of the noise's std: 4 (Zhang et al. 2012, section 6.1), 5 (their program), 0 with a floor."""
    if repair == "floor":
        return 0.0
    return 5.0 if convention == "code" else 4.0


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [FunctionalMechanism]
