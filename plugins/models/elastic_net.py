"""Elastic net regression."""

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
from dpbench.privacy.quadratic import Quadratic

from ._cross_validation import chosen_penalty
from ._remembered import remembered
from .ridge import PENALISED, PenalisedSquares

Solver = Literal["scs", "clarabel"]
SETTINGS: dict[Solver, dict[str, Any]] = {
    # with its acceleration on, SCS stalls on objectives as harmless as a census table's
    "scs": {"solver": "SCS", "eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 20_000, "acceleration_lookback": 0},
    "clarabel": {"solver": "CLARABEL", "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10},
}
TOLERANCE = 1e-6
"""How far, relative to its largest weight, a solution may be from satisfying the optimality conditions."""


class ElasticNetSquares(PenalisedSquares):
    """Least squares with n λ (α ‖w‖² + (1 - α) ‖w‖₁) on the sum; the intercept is not penalised."""

    def __init__(self, geometry: Geometry, n: np.ndarray, penalty: np.ndarray | float, alpha: float, solver: Solver) -> None:
        super().__init__(geometry, n, penalty)
        self.alpha = alpha
        self.solver = solver

    @property
    def square_weight(self) -> np.ndarray:
        return np.asarray(self.alpha * self.penalty * self.n)

    @property
    def absolute_weight(self) -> np.ndarray:
        """What multiplies ‖w‖₁ in each run's summed objective."""
        return np.asarray((1 - self.alpha) * self.penalty * self.n)

    @remembered
    def exact(self, sample: Sample) -> Fit:
        return super().exact(sample)

    def minimise(self, quadratic: Quadratic) -> np.ndarray:
        """The minimiser with the absolute penalty; NaN where the solver finds none.

        Where the smooth objective has no minimum (noise left unrepaired) it is that objective's stationary point, as for other
        models: the mechanism that left it so says that the run diverged.
        """
        weights = np.atleast_2d(quadratic.minimiser())
        absolute = self.absolute_weight
        values, vectors = quadratic.spectrum
        values, vectors = np.atleast_2d(values), vectors.reshape(-1, *vectors.shape[-2:])
        linear = np.atleast_2d(quadratic.linear)
        for run in np.flatnonzero(np.atleast_1d(quadratic.bounded) & (absolute[: len(weights)] > 0)):
            weights[run] = self._solved(np.maximum(values[run], 0), vectors[run], linear[run], float(absolute[run]))
        return weights.reshape(quadratic.linear.shape)

    def _solved(self, values: np.ndarray, vectors: np.ndarray, linear: np.ndarray, absolute: float) -> np.ndarray:
        """One objective, in units in which its largest eigenvalue and largest slope are 1: tolerances mean the same for all."""
        steepest, curved = float(np.abs(linear).max()), float(values.max())
        if not steepest:
            return np.zeros_like(linear)
        if not curved:
            curved = 1.0
        program = _program(len(linear), int(self.geometry.intercept))
        root = np.sqrt(values / curved)[:, None] * vectors.T
        found = program.solved(root, linear / steepest, absolute / steepest, self.solver)
        return np.asarray(found * (steepest / curved))


@dataclass(frozen=True)
class ElasticNet(Model):
    """Least squares with a squared and an absolute penalty on the weights.

    Minimises the mean of (y - x'w)² plus λ (α ‖w‖² + (1 - α) ‖w‖₁), the intercept left out of the penalty (Dandekar et al. 2018,
    equation 9; their paper sums the loss and their slides average it: the mean is meant here). α = 1 is ridge, α = 0 lasso.

    Solved as they do, with CVXPY and SCS, from the moments alone: 1 to 2 ms a run after the first. No solution starts from
    another one, which would make it depend on the order, and each is checked against the optimality conditions. A run without
    a solution has no weights: it counts as diverged, and in ``health/not_finite``.

    ``penalty=cv`` chooses λ for each run by 5-fold cross-validation of the non-private fit on its training rows, from 13 values
    from 1e-6 to 1, and keeps it for the private fit, as they do (section 5.2). No ε pays for that: it is a leak on the record.
    """

    name: ClassVar[str] = "elastic_net"
    provides: ClassVar[frozenset[Capability]] = PENALISED - {"reweighted"}

    penalty: Literal["cv"] | float = option(0.01, low=0, help="λ, beside the mean loss; cv: cross-validated, a leak")
    alpha: float = option(0.5, low=0, high=1, help="the squared penalty's share: 1 is ridge, 0 is lasso")
    solver: Solver = option("scs", help="the cone solver behind CVXPY")

    def prepare(self, curator: Curator) -> Problem:
        penalty = chosen_penalty(curator, self.penalty, self.alpha)
        return ElasticNetSquares(curator.geometry, curator.n, penalty, self.alpha, self.solver)


class _Program:
    """‖Lw‖² + c'w + t ‖w‖₁ with L, c and t as parameters: compiled once for each size."""

    def __init__(self, size: int, first: int) -> None:
        cvxpy: Any = import_module("cvxpy")  # a second to import: only who solves pays it
        self._first = first
        self._root, self._linear = cvxpy.Parameter((size, size)), cvxpy.Parameter(size)
        self._absolute = cvxpy.Parameter(nonneg=True)
        self._weights = cvxpy.Variable(size)
        penalty = self._absolute * cvxpy.norm1(self._weights[first:]) if first < size else 0
        loss = cvxpy.sum_squares(self._root @ self._weights) + self._linear @ self._weights
        self._problem = cvxpy.Problem(cvxpy.Minimize(loss + penalty))
        self._error = cvxpy.SolverError

    def solved(self, root: np.ndarray, linear: np.ndarray, absolute: float, solver: Solver) -> np.ndarray:
        """The minimiser, or NaN where the solver has not found it."""
        self._root.value, self._linear.value, self._absolute.value = root, linear, absolute
        missing = np.full(len(linear), np.nan)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of inaccurate solutions: they are checked below
                self._problem.solve(warm_start=False, **SETTINGS[solver])
        except self._error:
            return missing
        if self._problem.status not in ("optimal", "optimal_inaccurate"):
            return missing
        found = np.array(self._weights.value)
        # a minimiser is where a proximal step stays
        moved = found - 2 * root.T @ (root @ found) - linear
        moved[self._first :] = np.sign(moved[self._first :]) * np.maximum(np.abs(moved[self._first :]) - absolute, 0)
        close = np.abs(moved - found).max() <= TOLERANCE * max(1.0, float(np.abs(found).max()))
        return found if close else missing


@cache
def _program(size: int, first: int) -> _Program:
    return _Program(size, first)


@hookimpl
def dpbench_models() -> list[type[Model]]:
    return [ElasticNet]
