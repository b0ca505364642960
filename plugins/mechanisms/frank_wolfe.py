"""The Frank-Wolfe method with a private choice of each vertex."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpbench.accounting.conversion import zcdp_of_epsilon
from dpbench.accounting.costs import Currency
from dpbench.base.options import option
from dpbench.contracts.fit import Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Problem
from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.procedures.selection import Selection
from dpbench.privacy.queries.polynomial import design_columns
from dpbench.privacy.queries.query import Layer, MomentQuery

NO_INTERVALS = (
    "its steps are choices of one column at a time, which tell no curvature, under a bound that draws the weights towards 0"
)
"""Why there are no intervals."""


@dataclass(eq=False)
class VertexScores(MomentQuery):
    """How steeply the summed loss falls towards each vertex ±e_j: -Σ x_j ψ for all j, then Σ x_j ψ.

    ψ is the derivative of a row's loss along x'w under the run's own ``state`` w, (runs, D), clipped to [-``clip``, ``clip``].
    """

    geometry: Geometry
    problem: Any
    """A problem with ``gradient(x, y, weights)``."""
    state: np.ndarray
    clip: float
    name: str = "vertex_scores"
    weighted = True

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        column, constant = design_columns(self.geometry)
        ones = np.zeros(len(column))
        return Layer(ones, column, constant), Layer(ones, column, -constant, len(column))

    @property
    def identity(self) -> str:
        state = hashlib.blake2b(np.ascontiguousarray(self.state).tobytes(), digest_size=8).hexdigest()
        return f"{super().identity}, slopes of at most {self.clip:g}, at the state {state}"

    @property
    def range_bound(self) -> float:
        """sup over neighbours of the largest change of a score minus the smallest one (docs/sensitivities.md)."""
        return 4 * self.geometry.replaced_rows * self.clip * self.geometry.value_range[1]

    def weights(self, rows: Rows, run: int) -> np.ndarray:
        return np.asarray(-np.clip(self.problem.gradient(rows.x, rows.y, self.state[run]), -self.clip, self.clip))


@dataclass(frozen=True)
class FrankWolfe(Mechanism):
    """Minimise the loss over all weights with ‖w‖₁ <= C, by steps towards vertices that the exponential mechanism chooses.

    Formula: w = 0; for t = 0, …, T - 1: score the 2D vertices ±C e_j by ∓Σ x_j ψ, ψ the derivative of a row's loss along x'w
    clipped to [-R, R]; choose v with probability proportional to exp(score / scale); w' = w + 2/(t + 2) (v - w). For the
    squared loss R is 2, the largest slope at w = 0; for a loss of bounded slope R is that bound, which clips nothing.

    Guarantee: (ε, δ)-DP for replace-one neighbours. A replaced row moves each score by at most 2hR, with h the largest value of a
    column, and that of the opposite vertex as much the other way: log-probabilities move within a range of ε' = 4hR/scale, and
    a bounded range of ε' is ε'²/8-zCDP (Cesar and Rogers 2021). T of them are ρ-zCDP with ρ the largest that is proven to be
    (ε, δ)-DP, hence ε' = √(8ρ/T).

    Public: n and the bounds. C, T and R are constants. C = 1.5 is in units of the box, where C = 1 reaches every target from -1
    to 1 with the intercept alone. In the ball it is multiplied by the root of the number of columns, groups and intercept that
    share the norm; in the corner by √d. The intercept counts in ‖w‖₁. C and T were chosen on the open tables at odd places of
    the alphabetical list.

    The constraint takes the place of a model's penalty. Without an intercept, lasso with the weight λ is this problem with C =
    ‖w‖₁ of lasso's own fit; that norm is private, so λ is not used and C does not follow from it. The method is meant for many
    columns: its noise grows with log D, that of other mechanisms with √D. Use it in the box: in the ball columns are smaller, and
    the noise is not.

    Cost: T passes over the rows of every run.

    Reference: Talwar, Thakurta, Zhang 2015, "Nearly-optimal private LASSO", NIPS: Laplace noise on every score and
    advanced composition. The exponential mechanism makes the same kind of choice, and its bounded range costs less.

    Errata: a public benchmark's version (dpml-benchmark) scores a minibatch of 1,000 rows and scales noise by 1/n, without an
    argument why sampling makes up for it.
    """

    name: ClassVar[str] = "frank_wolfe"
    handles_persons: ClassVar[bool] = True
    guarantee: ClassVar[str] = "(ε, δ)-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"gradient"})
    expected_failures: ClassVar[Mapping[str, str]] = {
        "limit": "the weights stay within a bound, and the number of steps is fixed",
    }
    currency: ClassVar[Currency] = "approx"

    radius: float = option(1.5, low=0, open_low=True, help="C: the bound on ‖w‖₁, for columns in the box")
    steps: int = option(30, low=1, help="T")

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        size = curator.geometry.dimension
        radius = self.radius * _column_unit(curator.geometry)
        clip = problem.largest_slope if math.isfinite(problem.largest_slope) else problem.largest_curvature
        bound = math.sqrt(8 * zcdp_of_epsilon(budget.epsilon, budget.delta) / self.steps)
        weights = np.zeros((curator.runs, size))
        for step in range(self.steps):
            scores = VertexScores(curator.geometry, problem, weights, clip)
            proof = "a row moves opposite scores by 2hR in opposite directions (dpbench, docs/sensitivities.md)"
            chosen = curator.ask(Selection(scores, scores.range_bound / bound, bound, proof, "zcdp", "vertex"))[:, 0].astype(int)
            vertices = radius * (np.eye(size)[chosen % size] * np.where(chosen < size, 1.0, -1.0)[:, None])
            weights = weights + 2 / (step + 2) * (vertices - weights)
        return Fit.good(weights).knowing(NO_INTERVALS)


def _column_unit(geometry: Geometry) -> float:
    """Return by how much columns of the box are larger than those of this geometry."""
    if geometry.scaling == "ball":
        return math.sqrt(geometry.numeric + len(geometry.groups) + geometry.intercept)
    return 1 / geometry.value_range[1]


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [FrankWolfe]
