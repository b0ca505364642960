"""Newton's method on noisy gradients and a noisy curvature, for logistic regression."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.accounting.conversion import gdp_of_epsilon
from dpbench.accounting.costs import Currency
from dpbench.base.options import option
from dpbench.contracts.fit import OK, REPAIRED, Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.contracts.uncertainty import Uncertainty
from dpbench.data.geometry import Geometry
from dpbench.inference.iterates import CLIPPED_AWAY, Iterates, largest_mean, last_third, no_minimum
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget

from ._curvature import CurvatureMatrix, Shape
from ._gradient import ClippedGradients

FLOOR = 0.75
"""The floor of the eigenvalues of the curvature, in units of the largest that noise alone makes."""

BOUND_ALONE = "it releases a bound of the curvature, which does not tell the curvature itself: mechanism.curvature=hessian does"


@dataclass(frozen=True)
class Newton(Mechanism):
    """Solve logistic regression in a few steps, each of which divides a noisy gradient by a noisy matrix of curvatures.

    Formula: on rows x/√S in the unit ball, where S is the largest squared norm of a row, repeat T times from w = 0:
    g = Σ clip(x (p - y), Γ) + N(0, (2Γ/μ_g)² I); H = Σ s xx' + symmetric normal noise with the std √2/(4μ_H) on the diagonal and
    1/(4μ_H) off it; w -= H⁻¹ g, with the eigenvalues of H raised to 0.75 times the largest that noise alone makes, √D/(2μ_H).
    Here μ_g² = 0.65 μ²/T and μ_H² = 0.35 μ²/T. s is tanh(x'w/2)/(2x'w) (``curvature=bound``), the curvature of a parabola that
    touches the loss and lies above it, or the second derivative p(1 - p) (``hessian``).

    Guarantee: (ε, δ)-DP for replace-one neighbours: 2T normal releases are μ-GDP by adaptive composition, at the largest μ that
    is (ε, δ)-DP. A clipped gradient that is replaced by another one moves g by at most 2Γ. Since s ≤ 1/4, a replaced row moves H
    by at most √2/4 in the Frobenius norm (docs/sensitivities.md).

    Public: n and the bounds. T, Γ, the shares and the floor are constants, chosen on the binary tables of dataset=open at odd
    places of the alphabetical list.

    Cost: 2T passes over the rows of every run.

    Reference: Ganesh, Haghifam, Steinke, Thakurta 2023, "Faster differentially private convex optimization via second-order
    methods", NeurIPS, arXiv 2305.13209: both curvatures, floored eigenvalues, and noise in two places. In the paper the second
    noise is on the step; here it is on H, so that its size and the floor are public.

    Errata: as we read the authors' program, its neighbours add or remove a row, which moves a gradient half as far as replacing
    one; it scales columns by their private means and deviations; and the length of a step of its comparison ``private_newton``
    comes from the exact gradient and Hessian. Far from the minimum p(1 - p) is small and Newton's steps overshoot, while without
    clipping and noise each step of the parabola lowers the loss.
    """

    name: ClassVar[str] = "dp_newton"
    handles_persons: ClassVar[bool] = True
    guarantee: ClassVar[str] = "(ε, δ)-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"gradient"})
    expected_failures: ClassVar[Mapping[str, str]] = {
        "limit": "its steps overshoot where the classes are nearly separable, and their number is fixed",
    }
    currency: ClassVar[Currency] = "approx"

    steps: int = option(10, low=1, help="T")
    clip: float = option(0.5, low=0, high=1, open_low=True, help="Γ, for rows in the unit ball; 1 clips nothing")
    gradient_share: float = option(0.65, low=0, high=1, open_low=True, open_high=True, help="the share of μ² for the gradients")
    curvature: Shape = option("bound", help="the curvature of a row: of a parabola above the loss, or of the loss itself")

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        return None if model.target == "binary" else "it is a method for logistic regression"

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        geometry = curator.geometry
        mu = gdp_of_epsilon(budget.epsilon, budget.delta) / math.sqrt(self.steps)
        gradient_mu, matrix_mu = mu * math.sqrt(self.gradient_share), mu * math.sqrt(1 - self.gradient_share)
        weights = np.zeros((curator.runs, geometry.dimension))
        repaired = np.zeros(curator.runs, dtype=bool)
        steps: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for _ in range(self.steps):
            query = ClippedGradients(geometry, problem, weights, np.full(curator.runs, self.clip))
            noise = query.noise(gradient_mu)
            gradient = curator.release(query, noise)
            curvature = CurvatureMatrix(geometry, problem, weights, self.curvature)
            answer = curator.release(curvature, curvature.noise(matrix_mu))
            around = curvature.quadratic(answer, gradient)
            floor = FLOOR * curvature.largest_of_noise(matrix_mu) / 2  # ½ d'Hd has half of H's eigenvalues
            steps.append((weights, gradient, 2 * around.matrix))
            repaired |= around.spectrum[0][..., 0] < floor
            weights = weights + around.floored(floor).minimiser()
        off_diagonal = curvature.largest_of_noise(matrix_mu) / (2 * math.sqrt(geometry.dimension))
        fit = Fit(weights, np.where(repaired, REPAIRED, OK))
        return fit.knowing(self._uncertainty(problem, steps, noise.scale[:, 0], off_diagonal))

    def _uncertainty(
        self, problem: Problem, steps: list[tuple[np.ndarray, np.ndarray, np.ndarray]], noise: np.ndarray, off_diagonal: float
    ) -> Uncertainty | str:
        """Return what the last third of the steps tell: their mean curvature, and where their gradients are zero."""
        if reason := no_minimum(problem):
            return reason
        if self.clip < 1:
            return CLIPPED_AWAY
        if self.curvature == "bound":
            return BOUND_ALONE
        last = steps[last_third(len(steps))]
        weights, gradients, matrices = (np.stack(part, axis=1) for part in zip(*last, strict=True))
        spread = np.full(len(noise), off_diagonal / math.sqrt(len(last)))
        noises = np.repeat(noise[:, None], len(last), axis=1)
        return Iterates(weights, gradients, noises, largest_mean(problem), spread, curvature=matrices.mean(axis=1))


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [Newton]
