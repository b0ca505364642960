"""Elastic net regression, solved by coordinate descent or with CVXPY."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Literal

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.fit import Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.geometry import Geometry
from dpbench.data.samples import Sample
from dpbench.privacy.curator import Curator
from dpbench.privacy.queries.quadratic import Quadratic

from ._active_set import minimisers
from ._cached_fit import cached_fit
from ._cross_validation import PenaltyForm, chosen_penalty
from ._optimality import EXACT, PenalisedObjective, polished
from .ridge import PENALISED_CAPABILITIES, PenalisedSquares

Solver = Literal["auto", "scs", "clarabel"]
SOLVER_HELP = "auto: coordinate descent and an exact search for the signs; otherwise the cone solver that CVXPY calls"
SOLVER_SETTINGS: dict[Solver, dict[str, Any]] = {
    # SCS stalls on ordinary objectives, such as a census table's, unless its acceleration is off
    "scs": {"solver": "SCS", "eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 20_000, "acceleration_lookback": 0},
    "clarabel": {"solver": "CLARABEL", "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10},
}


class ElasticNetSquares(PenalisedSquares):
    """The sum of squared errors plus n λ (α ‖w‖² + (1 - α) ‖w‖₁). The intercept is not penalised."""

    def __init__(
        self,
        geometry: Geometry,
        n: np.ndarray,
        penalty: np.ndarray | float,
        alpha: float,
        solver: Solver,
        penalty_on: PenaltyForm = "mean",
    ) -> None:
        super().__init__(geometry, n, penalty, penalty_on)
        self.alpha = alpha
        self.solver = solver

    @property
    def square_weight(self) -> np.ndarray:
        return np.asarray(self.alpha * self.penalty * self.n)

    @property
    def absolute_weight(self) -> np.ndarray:
        """The factor of ‖w‖₁ in the summed objective of each run."""
        return np.asarray((1 - self.alpha) * self.penalty * self.n)

    @property
    def closed_form(self) -> bool:
        return not self.sparse

    @property
    def sparse(self) -> bool:
        return bool(self.absolute_weight.any())

    @cached_fit
    def exact(self, sample: Sample) -> Fit:
        return super().exact(sample)

    def minimise(self, quadratic: Quadratic) -> np.ndarray:
        """Return the minimiser with the absolute penalty, or NaN where the solver finds none.

        If the smooth objective has no minimum (its noise was not repaired), return its stationary point, as other models do: the
        mechanism reports that the run diverged.
        """
        weights = np.atleast_2d(quadratic.minimiser())
        absolute = self.absolute_weight
        values, vectors = quadratic.spectrum
        values, vectors = np.atleast_2d(values), vectors.reshape(-1, *vectors.shape[-2:])
        linear = np.atleast_2d(quadratic.linear)
        runs = np.flatnonzero(np.atleast_1d(quadratic.bounded) & (absolute[: len(weights)] > 0))
        starts: list[np.ndarray | None] = [None] * len(runs)
        if self.solver == "auto" and len(runs):
            matrix = quadratic.matrix.reshape(-1, *vectors.shape[-2:])[runs]
            starts = list(minimisers(matrix, linear[runs], absolute[runs], self.penalised > 0, weights[runs]))
        for run, start in zip(runs, starts, strict=True):
            weights[run] = self._minimise_run(np.maximum(values[run], 0), vectors[run], linear[run], float(absolute[run]), start)
        return weights.reshape(quadratic.linear.shape)

    def _minimise_run(
        self, values: np.ndarray, vectors: np.ndarray, linear: np.ndarray, absolute: float, start: np.ndarray | None
    ) -> np.ndarray:
        """Minimise the objective of one run, or prove that ``start`` is its minimiser.

        The solver sees units in which the largest eigenvalue and the largest slope are 1, so that its absolute tolerances mean
        the same for every objective.
        """
        max_slope, max_curvature = float(np.abs(linear).max()), float(values.max()) or 1.0
        if not max_slope:
            return np.zeros_like(linear)
        root = np.sqrt(values / max_curvature)[:, None] * vectors.T
        objective = PenalisedObjective(root, linear / max_slope, absolute / max_slope, self.penalised > 0)
        unit = max_slope / max_curvature
        if start is None:
            start = _program(len(linear), int(self.geometry.intercept)).solve(objective, self.solver)
            return np.asarray((start if np.isnan(start).any() else polished(start, objective)) * unit)
        weights = objective.on_support(np.sign(start))
        return np.asarray((weights if objective.violation(weights) <= EXACT else polished(weights, objective)) * unit)


@dataclass(frozen=True)
class ElasticNet(Model):
    """Least squares with a squared and an absolute penalty on the weights.

    It minimises the mean of (y - x'w)² plus λ (α ‖w‖² + (1 - α) ‖w‖₁); the intercept is not penalised (Dandekar et al. 2018,
    equation 9). α = 1 is ridge, α = 0 lasso. The paper sums the loss and its slides average it: ``penalty_on=mean`` follows the
    slides, ``sum`` the paper, where λ stands for n times as little.

    Coordinate descent from the moments alone, for all runs at once, comes close to the minimiser. An active-set search then ends
    at its signs. ``solver=scs`` is the paper's choice, CVXPY with SCS, which takes 1 to 2 ms per run after the first. No solution
    is the starting point of another run, because results would then depend on the order of runs. For every solver, the
    optimality conditions say which weights are exactly zero, and the others are solved for; ``health/nonzero`` counts them,
    without the intercept. A run without a solution that satisfies the conditions has no weights: it counts as diverged, and in
    ``health/not_finite``.

    ``penalty=cv`` chooses λ for each run by 5-fold cross-validation of the non-private fit on the run's training rows, among 13
    values between 1e-6 and 1 (on the sum: 0.001 and 1000), and uses it for the private fit, as the paper does (section 5.2). No ε
    pays for this choice, so the record lists it as a leak, with what was chosen (``health/penalty``).

    Reference: Zou and Hastie 2005, "Regularization and variable selection via the elastic net", J. R. Stat. Soc. B 67(2);
    Dandekar, Basu and Bressan 2018, "Differential privacy for regularised linear regression".
    """

    name: ClassVar[str] = "elastic_net"
    provides: ClassVar[frozenset[Capability]] = PENALISED_CAPABILITIES

    penalty: Literal["cv"] | float = option(0.01, low=0, help="λ, the weight of the penalty; cv: cross-validated, which leaks")
    penalty_on: PenaltyForm = option("mean", help="what λ is relative to: the mean loss, or the summed loss")
    alpha: float = option(0.5, low=0, high=1, help="share of the squared penalty: 1 is ridge, 0 is lasso")
    solver: Solver = option("auto", help=SOLVER_HELP)

    def uses_moments_alone(self) -> bool:
        return self.penalty != "cv"

    def prepare(self, curator: Curator) -> Problem:
        penalty = chosen_penalty(curator, self.penalty, self.alpha, self.penalty_on, self.solver == "auto")
        return ElasticNetSquares(curator.geometry, curator.n, penalty, self.alpha, self.solver, self.penalty_on)


class _Program:
    """The CVXPY program ‖Lw‖² + c'w + t ‖w‖₁ with parameters L, c and t, compiled once for each number of coefficients."""

    def __init__(self, size: int, first_penalised: int) -> None:
        cvxpy: Any = import_module("cvxpy")  # takes a second to import, so only solving imports it
        self._root, self._linear = cvxpy.Parameter((size, size)), cvxpy.Parameter(size)
        self._absolute = cvxpy.Parameter(nonneg=True)
        self._weights = cvxpy.Variable(size)
        penalty = self._absolute * cvxpy.norm1(self._weights[first_penalised:]) if first_penalised < size else 0
        loss = cvxpy.sum_squares(self._root @ self._weights) + self._linear @ self._weights
        self._problem = cvxpy.Problem(cvxpy.Minimize(loss + penalty))
        self._error = cvxpy.SolverError

    def solve(self, objective: PenalisedObjective, solver: Solver) -> np.ndarray:
        """Return an approximate minimiser, or NaN if the solver found none."""
        self._root.value, self._linear.value, self._absolute.value = objective.root, objective.linear, objective.absolute
        no_solution = np.full(len(objective.linear), np.nan)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # CVXPY warns of inaccurate solutions, which the caller checks
                self._problem.solve(warm_start=False, **SOLVER_SETTINGS[solver])
        except self._error:
            return no_solution
        if self._problem.status not in ("optimal", "optimal_inaccurate"):
            return no_solution
        return np.array(self._weights.value)


@cache
def _program(size: int, first_penalised: int) -> _Program:
    return _Program(size, first_penalised)


@hookimpl
def dpbench_models() -> list[type[Model]]:
    return [ElasticNet]
