"""The functional mechanism with separate budgets for quadratic and linear coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.options import option
from dpbench.contracts.fit import Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Problem
from dpbench.fitting.noisy_objective import Repair, minimise
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Laplace, Noise
from dpbench.privacy.queries.polynomial import Polynomial


@dataclass(frozen=True)
class BudgetAllocation(Mechanism):
    """Run the functional mechanism with one budget for the quadratic coefficients and another for the linear ones.

    Formula: the quadratic coefficients get Lap(b_q), the linear ones Lap(b_l). ``alpha=paper`` and ``alpha=<number>`` use Fang's
    scales b_q = f1/(αε) and b_l = f2/((1 - α)ε), with f1 = 2D² and f2 = 4D for linear regression, D²/4 and 3D for logistic.
    ``epsilon_1`` sets the quadratic coefficients' part of ε directly, like the axis of the paper's figures 3 and 4. ``alpha=opt``
    uses the scales with the least expected damage among those whose joint cost is exactly ε.

    Guarantee: ε-DP for replace-one neighbours (Algorithm 1: two Laplace releases in sequence; ``opt``: one joint release, tight).

    Public: n and the bounds.

    Cost: that of ``fm``; with ``alpha=opt`` also a search for one number.

    Reference: Fang et al. 2019, "Regression analysis with differential privacy preserving", IEEE Access 7, Algorithm 1.

    Errata: the paper's own α = β f1/(f1² + f2) at β = max(f1, f2) leaves almost nothing for the linear coefficients (α = 0.9996
    at D = 13: they get 290 times the noise of FM; logistic: α = 0.027 up to D = 12 and 0.979 from 13 on). Its figures cannot
    have used this α; it is available as ``alpha=paper``. The else-branch prints no β; this code uses the mirror image of the
    first branch. Algorithm 1 sets h without its minus sign, so a literal reading fits -w. Choosing ε₁ by the error of the fit,
    as figures 3 and 4 suggest, would need a budget of its own.
    """

    name: ClassVar[str] = "dpba"
    guarantee: ClassVar[str] = "ε-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"polynomial"})

    alpha: Literal["paper", "opt"] | float = option(
        "opt", low=0, high=1, open_low=True, open_high=True, help="share of ε for the quadratic coefficients"
    )
    beta: float | None = option(None, low=0, open_low=True, help="β of Algorithm 1, for alpha=paper; null: max(f1, f2)")
    epsilon_1: float | None = option(None, low=0, open_low=True, help="the quadratic coefficients' part of ε, instead of alpha")
    radius: float = option(1.0, low=0, open_low=True, help="for alpha=opt: a public guess of ‖w‖ (logistic: of ‖w‖/2)")
    ridge: float = option(4.0, low=0, help="multiples of the std of the quadratic noise")
    repair: Repair = option("trim", help="what happens to eigenvalues that are not positive; see fm")

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        objective = problem.polynomial()
        optimal = self.alpha == "opt" and self.epsilon_1 is None
        noise = self._optimal(objective, budget) if optimal else self._split(objective, budget)
        coefficients = curator.release(objective, noise)
        return minimise(problem, objective, coefficients, noise, self.ridge, self.repair)

    def _split(self, objective: Polynomial, budget: Budget) -> Noise:
        """Return the noise of Fang et al. 2019, Algorithm 1, lines 10 to 19."""
        first, second = block_sensitivities(objective)
        alpha = self._alpha(first, second, budget)
        scales = objective.scales(first / (alpha * budget.epsilon), second / ((1 - alpha) * budget.epsilon))
        return Noise(Laplace(), scales, budget.epsilon, "sequential composition of two Laplace releases (Fang et al. 2019)")

    def _alpha(self, first: float, second: float, budget: Budget) -> float:
        if self.epsilon_1 is None:
            return self.alpha if isinstance(self.alpha, float) else self._published_alpha(first, second)
        if self.epsilon_1 >= budget.epsilon:
            raise Refused(
                f"The 'epsilon_1' option of dpba must be a float in the range (0, {budget.epsilon:g}) at this ε. "
                f"Got {self.epsilon_1:g} instead."
            )
        return self.epsilon_1 / budget.epsilon

    def _published_alpha(self, first: float, second: float) -> float:
        larger, smaller = max(first, second), min(first, second)
        beta = larger if self.beta is None else self.beta
        share = beta * larger / (larger**2 + smaller)
        if not 0 < share < 1:
            limit = larger + smaller / larger
            raise Refused(f"The 'beta' option of dpba must be a float in the range (0, {limit:g}) here. Got {beta:g} instead.")
        return share if first > second else 1 - share

    def _optimal(self, objective: Polynomial, budget: Budget) -> Noise:
        """Return the noise with the least damage among those whose joint cost is exactly ε.

        The scales are (r t, t) for a ratio r. Their cost is sup(r, 1)/t, so t follows from r, and only r is searched for.

        The damage is the mean square of half the gradient of the noise, N w + e/2, over w of norm R. The entries of N have
        variance 2 b_q² on the diagonal and a quarter of that elsewhere, so the damage is 2 (R² (D + 3)/4 · b_q² + D/4 · b_l²)
        for any loss. The loss enters through R. Its natural unit is σ/(2κ), where σ is the largest slope and κ the curvature:
        the weight at which a single feature that is always ±1 reaches the largest slope. It is 1 for linear regression and 2
        for logistic; in the corner, where a feature is at most 1/√D, it is √D times that.
        """
        from scipy.optimize import minimize_scalar

        size = objective.geometry.dimension
        norm = self.radius * objective.loss.largest_slope(objective.geometry) / (2 * objective.loss.curvature)
        norm /= objective.geometry.value_range[1]
        quadratic_weight = norm**2 * (size + 3) / 4
        linear_weight = size / 4

        def scales(log_ratio: float) -> tuple[float, float]:
            ratio = float(np.exp(log_ratio))
            linear = objective.l1_bound("tight", ratio, 1.0) / budget.epsilon
            return ratio * linear, linear

        def damage(log_ratio: float) -> float:
            quadratic, linear = scales(log_ratio)
            return float(np.log(quadratic_weight * quadratic**2 + linear_weight * linear**2))

        best = minimize_scalar(damage, bounds=(-12.0, 12.0), method="bounded", options={"xatol": 1e-10})
        quadratic, linear = scales(float(best.x))
        return Noise(Laplace(), objective.scales(quadratic, linear), budget.epsilon, objective.proof("tight"))


def block_sensitivities(objective: Polynomial) -> tuple[float, float]:
    """Return f1 and f2 as Fang et al. print them: 2D² and 4D (linear), D²/4 and 3D (logistic)."""
    size = objective.geometry.dimension
    return 2 * objective.loss.curvature * size**2, 2 * objective.loss.printed_slope * size


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [BudgetAllocation]
