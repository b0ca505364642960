"""Newton's method on noisy gradients and a noisy curvature, for logistic regression."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

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
from dpbench.inference.iterates import CLIPPED_AWAY, Iterates, last_third, no_minimum
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget

from ._curvature import CurvatureMatrix, Shape
from ._gradient import ClippedGradients
from ._released_gradients import gradients_grew, signal_share

FLOOR = 0.6
"""The floor of the eigenvalues of the curvature, in units of the largest that noise alone makes."""
GROWTH = 1.3
"""A gradient has this many times the share of μ² of the one before: the noise of the last steps stays in the weights."""
MOMENTUM, DOUBT = 0.4, 2.0
"""How much of the last move a step repeats, in so far as the squared gradient exceeds this many times what noise makes."""
FULL_CLIP_SIGNAL, MIN_CLIP = 5000.0, 0.5
"""From this signal on no gradient is clipped; the smallest clipping length, below which clipping is a bias on every table."""

BOUND_ALONE = (
    "it releases an upper bound of the curvature, and intervals need the curvature itself: set mechanism.curvature=hessian"
)

Step = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""The weights of a step, the gradient there, the standard deviation of its noise, and the curvature."""


@dataclass(frozen=True)
class Newton(Mechanism):
    """Solve logistic regression in a few steps, each of which divides a noisy gradient by a noisy matrix of curvatures.

    Formula: on rows x/√S in the unit ball, where S is the largest squared norm of a row, repeat T times from w = 0:
    g = Σ clip(x (p - y), Γ) + N(0, (2Γ/μ_g)² I); H = Σ s xx' + symmetric normal noise with the std √2/(4μ_H) on the diagonal and
    1/(4μ_H) off it; w += m, with m = βm - H̄⁻¹ g. H̄ is the mean of the t matrices H so far, with the eigenvalues raised to 0.6
    times the largest that its noise alone makes, √D/(2μ_H √t). Here μ_g² is 0.7 μ² divided among the steps, 1.3 times as much for
    each as for the one before, and μ_H² = 0.3 μ²/T. β = 0.4 max(0, 1 - 2D(2Γ/μ_g)²/‖g‖²): the momentum, which makes up for early
    H that are larger than the last ones, repeats no moves that are mostly noise.
    s is tanh(x'w/2)/(2x'w) (``curvature=bound``), the curvature of a parabola that touches the loss and lies above it, or the
    second derivative p(1 - p) (``hessian``).

    Guarantee: (ε, δ)-DP for replace-one neighbours: 2T normal releases are μ-GDP by adaptive composition, at the largest μ that
    is (ε, δ)-DP. A clipped gradient that is replaced by another one moves g by at most 2Γ. Since s ≤ 1/4, a replaced row moves H
    by at most √2/4 in the Frobenius norm (docs/sensitivities.md).

    Public: n and the bounds. T, β, the shares and the floor are constants. With the signal q = nμ/√D, Γ is √(q/5000) within
    [0.5, 1]: as noise vanishes, so does what clipping loses. All were chosen on the tables of dataset=open at odd places of the
    alphabetical list, with two classes.

    Cost: 2T passes over the rows of every run.

    Reference: Ganesh, Haghifam, Steinke, Thakurta 2023, "Faster differentially private convex optimization via second-order
    methods", NeurIPS, arXiv 2305.13209: both curvatures, floored eigenvalues, and noise in two places. In the paper the second
    noise is on the step; here it is on H, so that its size and the floor are public. The mean of H, the momentum and the growing
    shares are ours: functions of public numbers and of what was released.

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

    steps: int = option(8, low=1, help="T")
    clip: Literal["auto"] | float = option(
        "auto", low=0, high=1, open_low=True, help="Γ, for rows in the unit ball; 1 clips nothing; auto: by public facts"
    )
    gradient_share: float = option(0.7, low=0, high=1, open_low=True, open_high=True, help="the share of μ² for the gradients")
    curvature: Shape = option("bound", help="the curvature of a row: of a parabola above the loss, or of the loss itself")

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        return None if model.target == "binary" else "it is a method for logistic regression"

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        geometry, mu = curator.geometry, gdp_of_epsilon(budget.epsilon, budget.delta)
        growing = GROWTH ** np.arange(self.steps)
        gradient_mus = mu * np.sqrt(self.gradient_share * growing / growing.sum())
        matrix_mu = mu * math.sqrt((1 - self.gradient_share) / self.steps)
        clip = self._clip(curator.n * mu / (geometry.replaced_rows * math.sqrt(geometry.dimension)))
        weights, move = np.zeros((2, curator.runs, geometry.dimension))
        repaired = np.zeros(curator.runs, dtype=bool)
        steps: list[Step] = []
        answers: list[np.ndarray] = []
        for gradient_mu in gradient_mus:
            query = ClippedGradients(geometry, problem, weights, clip)
            noise = query.noise(float(gradient_mu))
            gradient = curator.release(query, noise)
            curvature = CurvatureMatrix(geometry, problem, weights, self.curvature)
            answers = [*answers, curator.release(curvature, curvature.noise(matrix_mu))]
            around = curvature.quadratic(np.mean(answers, axis=0), gradient)
            # ½ d'Hd has half of H's eigenvalues
            floor = FLOOR * curvature.largest_of_noise(matrix_mu) / (2 * math.sqrt(len(answers)))
            steps.append((weights, gradient, noise.scale[:, 0], 2 * curvature.quadratic(answers[-1], gradient).matrix))
            repaired |= around.spectrum[0][..., 0] < floor
            trust = signal_share(gradient, noise.scale[:, 0], DOUBT)
            move = around.floored(floor).minimiser() + MOMENTUM * trust[:, None] * move
            weights = weights + move
        off_diagonal = curvature.largest_of_noise(matrix_mu) / (2 * math.sqrt(geometry.dimension))
        gradients, scales = (np.stack([step[part] for step in steps], axis=1) for part in (1, 2))
        health = {"diverging": gradients_grew(gradients, scales)}
        clipped = bool((clip < problem.largest_slope).any())
        fit = Fit(weights, np.where(repaired, REPAIRED, OK), health)
        return fit.knowing(self._uncertainty(problem, steps, off_diagonal, clipped))

    def _clip(self, signal: np.ndarray) -> np.ndarray:
        """Return Γ of each run."""
        if self.clip != "auto":
            return np.full(len(signal), self.clip)
        return np.asarray(np.clip(np.sqrt(signal / FULL_CLIP_SIGNAL), MIN_CLIP, 1.0))

    def _uncertainty(self, problem: Problem, steps: list[Step], off_diagonal: float, clipped: bool) -> Uncertainty | str:
        """Return what the last third of the steps tell: their mean curvature, and where their gradients are zero."""
        if reason := no_minimum(problem):
            return reason
        if clipped:
            return CLIPPED_AWAY
        if self.curvature == "bound":
            return BOUND_ALONE
        last = steps[last_third(len(steps))]
        weights, gradients, noises, matrices = (np.stack(part, axis=1) for part in zip(*last, strict=True))
        spread = np.full(len(noises), off_diagonal / math.sqrt(len(last)))
        return Iterates(weights, gradients, noises, spread, curvature=matrices.mean(axis=1))


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [Newton]
