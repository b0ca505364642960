"""The functional mechanism with separate budgets for quadratic and linear coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.options import option
from dpbench.contracts.fit import Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.geometry import Geometry
from dpbench.fitting.noisy_objective import Repair, minimise
from dpbench.inference.released_moments import released_moments
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Laplace, Noise
from dpbench.privacy.queries.polynomial import Polynomial, Sensitivity


@dataclass(frozen=True)
class BudgetAllocation(Mechanism):
    """Run the functional mechanism with one budget for the quadratic coefficients and another for the linear ones.

    Formula: the quadratic coefficients get Lap(b_q), the linear ones Lap(b_l). With ``sensitivity=fang``, b_q = f1/(αε) and b_l =
    f2/((1 - α)ε), where f1 = 2D² and f2 = 4D for linear regression, D²/4 and 3D for logistic. With ``sensitivity=tight`` the
    scales have the same ratio, and a size at which their joint cost is exactly ε, which is never more noise: α = f1/(f1 + f2) is
    ``fm`` with the same ``sensitivity``. ``alpha=opt`` has the least expected damage under either; ``fang`` then has the closed
    form α : 1 - α = (W1 f1²)^⅓ : (W2 f2²)^⅓. ``epsilon_1`` sets αε directly, like the axis of the paper's figures 3 and 4. Linear
    models in the box also get y'y + Lap(b_l / (G + min(s, b_q/b_l))), for G one-hot groups and s other columns, at no cost.

    Guarantee: ε-DP for replace-one neighbours (``fang``: two Laplace releases in sequence, Algorithm 1; ``tight``: one joint
    release).

    Public: n and the bounds.

    Cost: that of ``fm``; with ``alpha=opt`` and ``sensitivity=tight`` also a search for one number.

    Reference: Fang et al. 2019, "Regression analysis with differential privacy preserving", IEEE Access 7, Algorithm 1.

    Errata: the paper's own α = β f1/(f1² + f2) at β = max(f1, f2) leaves almost nothing for the linear coefficients (α = 0.9996
    at D = 13: they get 290 times the noise of FM; logistic: α = 0.027 up to D = 12 and 0.979 from 13 on). Its figures cannot
    have used this α; it is available as ``alpha=paper``. The else-branch prints no β; this code uses the mirror image of the
    first branch. Algorithm 1 sets h without its minus sign, so a literal reading fits -w. Choosing ε₁ by the error of the fit,
    as figures 3 and 4 suggest, would need a budget of its own.
    """

    name: ClassVar[str] = "dpba"
    handles_persons: ClassVar[bool] = True
    moments_alone: ClassVar[bool] = True
    guarantee: ClassVar[str] = "ε-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"polynomial"})
    published_sensitivity: ClassVar[Sensitivity] = "fang"

    alpha: Literal["paper", "opt"] | float = option(
        "opt", low=0, high=1, open_low=True, open_high=True, help="share of ε for the quadratic coefficients"
    )
    beta: float | None = option(None, low=0, open_low=True, help="β of Algorithm 1, for alpha=paper; null: max(f1, f2)")
    epsilon_1: float | None = option(None, low=0, open_low=True, help="the quadratic coefficients' part of ε, instead of alpha")
    sensitivity: Sensitivity = option("auto", help="fang: the bounds of two releases; tight: of both together; auto: by the key")
    radius: float = option(1.0, low=0, open_low=True, help="alpha=opt: a public guess of ‖w‖ (logistic: ‖w‖/2; corner: over √D)")
    ridge: float = option(4.0, low=0, help="multiples of the std of the quadratic noise")
    repair: Repair = option("trim", help="what happens to eigenvalues that are not positive; see fm")

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        if self.sensitivity in ("paper", "code"):
            return f"its sensitivity must be fang (as its paper prints it) or tight. Got {self.sensitivity} instead"
        return None

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        objective = problem.polynomial().with_square()
        noise = self._apart(objective, budget) if self.sensitivity == "fang" else self._together(objective, budget)
        coefficients = curator.release(objective, noise)
        noisy = objective.quadratic(coefficients, problem.n)
        fit = minimise(problem, objective, noisy, noise, self.ridge, self.repair)
        return fit.knowing(released_moments(problem, objective.moments(coefficients, noise, problem.n), noisy))

    @property
    def _optimal(self) -> bool:
        return self.alpha == "opt" and self.epsilon_1 is None

    def _apart(self, objective: Polynomial, budget: Budget) -> Noise:
        """Return the noise of Fang et al. 2019, Algorithm 1, lines 10 to 19."""
        first, second = block_sensitivities(objective)
        alpha = self._best_alpha(objective) if self._optimal else self._alpha(first, second, budget)
        per_row = budget.epsilon / objective.geometry.replaced_rows
        quadratic, linear = first / (alpha * per_row), second / ((1 - alpha) * per_row)
        objective.l1_bound("fang", quadratic, linear)  # refuses printed blocks that a row can exceed; they cost ε together
        proof = "sequential composition of two Laplace releases (Fang et al. 2019)"
        return Noise(Laplace(), objective.scales(quadratic, linear), budget.epsilon, proof)

    def _together(self, objective: Polynomial, budget: Budget) -> Noise:
        """Return the noise whose joint cost is exactly ε, with the ratio of scales that α gives, or with the least damage."""
        if self._optimal:
            quadratic, linear = self._best_scales(objective, budget)
        else:
            first, second = block_sensitivities(objective)
            alpha = self._alpha(first, second, budget)
            quadratic, linear = joint_scales((first / alpha) / (second / (1 - alpha)), objective, budget)
        return Noise(Laplace(), objective.scales(quadratic, linear), budget.epsilon, objective.proof("tight"))

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

    def _best_alpha(self, objective: Polynomial) -> float:
        """Return the α of least damage for scales f1/α and f2/(1 - α): the parts of ε are as the cube roots of W f²."""
        first, second = np.cbrt(np.multiply(self._damage_weights(objective), np.square(block_sensitivities(objective))))
        return float(first / (first + second))

    def _best_scales(self, objective: Polynomial, budget: Budget) -> tuple[float, float]:
        """Return the scales of least damage among those whose joint cost is exactly ε."""
        return joint_scales(best_ratio(*self._damage_weights(objective), objective, budget), objective, budget)

    def _damage_weights(self, objective: Polynomial) -> tuple[float, float]:
        """Return W1 and W2: the damage of scales b_q and b_l is twice W1 b_q² + W2 b_l².

        The damage is the mean square of half the gradient of the noise, N w + e/2, over w of norm R. The entries of N have
        variance 2 b_q² on the diagonal and a quarter of that elsewhere, so the damage is 2 (R² (D + 3)/4 · b_q² + D/4 · b_l²)
        for any loss. The loss enters through R. Its natural unit is σ/(2κ), where σ is the largest slope and κ the curvature:
        the weight at which a single feature that is always ±1 reaches the largest slope. It is 1 for linear regression and 2
        for logistic; in the corner, where a feature is at most 1/√D, it is √D times that.
        """
        size = objective.geometry.dimension
        norm = self.radius * objective.loss.largest_slope(objective.geometry) / (2 * objective.loss.curvature)
        norm /= objective.geometry.value_range[1]
        return norm**2 * (size + 3) / 4, size / 4


def joint_scales(ratio: float, objective: Polynomial, budget: Budget) -> tuple[float, float]:
    """Return the scales (ratio · t, t) whose joint cost, sup(ratio, 1)/t, is exactly ε."""
    linear = objective.l1_bound("tight", ratio, 1.0) / budget.epsilon
    return ratio * linear, linear


@lru_cache(maxsize=64)
def best_ratio(quadratic_weight: float, linear_weight: float, objective: Polynomial, budget: Budget) -> float:
    """Return the ratio of the scales at which a joint cost of ε does the least damage, by a search.

    It depends on public facts alone, and an audit fits the same mechanism again and again.
    """
    from scipy.optimize import minimize_scalar

    def damage(log_ratio: float) -> float:
        quadratic, linear = joint_scales(float(np.exp(log_ratio)), objective, budget)
        return float(np.log(quadratic_weight * quadratic**2 + linear_weight * linear**2))

    best = minimize_scalar(damage, bounds=(-12.0, 12.0), method="bounded", options={"xatol": 1e-10})
    return float(np.exp(float(best.x)))


def block_sensitivities(objective: Polynomial) -> tuple[float, float]:
    """Return f1 and f2 as Fang et al. print them: 2D² and 4D (linear), D²/4 and 3D (logistic)."""
    size = objective.geometry.dimension
    return 2 * objective.loss.curvature * size**2, 2 * objective.loss.printed_slope * size


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [BudgetAllocation]
