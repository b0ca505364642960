"""The contract of a model: its loss, its predictions and its metrics; and what the components that use a model have in common."""

import math
from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.component import Component
from dpbench.contracts.fit import Fit
from dpbench.data.bins import BinCounts, Binning
from dpbench.data.geometry import Geometry, TargetKind
from dpbench.data.samples import Sample
from dpbench.privacy.curator import Curator
from dpbench.privacy.queries.polynomial import Convention, Loss, Polynomial
from dpbench.privacy.queries.quadratic import Quadratic

Capability = Literal["polynomial", "truncation", "gradient", "weighted", "likelihood", "reweighted", "smoothness"]


class Problem(ABC):
    """A model on one block of runs, with its geometry, its n and its penalty fixed: what mechanisms and attacks work with.

    Required
        ``exact(sample)``, ``predict(x, weights)``.

    Optional: each capability lets more mechanisms and attacks run. Without it, their cells are pruned with a sentence.
        ``polynomial``: ``loss``, the loss of a row as a polynomial of order 2 (the functional mechanism and its relatives). If
        the polynomial is only a truncation of the loss, ``loss.exact`` is false and the model has ``truncation`` as well.
        ``gradient``: ``gradient(x, y, weights)`` and ``curvature(x, y, weights)``, the first and the second derivative of
        each row's loss along x'w, which is convex, with ``largest_slope`` and ``largest_curvature``, the suprema of their
        sizes (gradient methods).
        ``smoothness``: the penalty is quadratic, if there is one (mechanisms that perturb the objective, or its minimum).
        ``weighted``: ``weighted(x, y, weight)``, the fit of weighted rows (mechanisms with histograms). A model that can use
        that bins lie on a grid overrides ``weighted_bins`` as well.
        ``likelihood``: ``log_likelihood(x, y, weights, variance)`` of each row. It must depend on x'w alone, because attacks
        pass (x'w, 1) in place of (x, w).
        ``reweighted``: ``irls_weights(residuals, kappa)``, each row's weight in iteratively reweighted least squares, from 0
        to kappa; or ``steady_weights``, if every row always has the weight 1.

    ``standard_errors(sample, weights)`` lets the metric ``ols_se`` say how far private weights are from the non-private ones.

    Arrays have the runs as their first axis: weights are (runs, D) and ``n`` is (runs,). ``x`` is a design matrix that
    includes the column of the intercept.
    """

    loss: ClassVar[Loss | None] = None
    steady_weights: ClassVar[bool] = False
    """Whether one step of iteratively reweighted least squares is already the fit."""
    largest_slope: ClassVar[float] = math.inf
    largest_curvature: ClassVar[float] = math.inf
    chosen_penalty: np.ndarray | None = None
    """The λ of each run if ``prepare`` chose it on the exact rows, which is a leak: recorded as ``health/penalty``."""

    def __init__(self, geometry: Geometry, n: np.ndarray) -> None:
        self.geometry = geometry
        self.n = n

    @abstractmethod
    def exact(self, sample: Sample) -> Fit:
        """Return the non-private fit of each run."""

    @abstractmethod
    def predict(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the predictions of one weight vector (D,) for the rows of a design matrix."""

    def standard_errors(self, sample: Sample, weights: np.ndarray) -> np.ndarray:
        """Return the standard errors of the non-private fit's weights; NaN where a model or a run has none."""
        return np.full_like(weights, np.nan)

    def for_run(self, run: int) -> Self:
        """Return the problem of a single run."""
        single = copy(self)
        single.n = self.n[run : run + 1]
        return single

    def with_geometry(self, geometry: Geometry) -> Self:
        """Return the same problem on fewer columns."""
        narrow = copy(self)
        narrow.geometry = geometry
        return narrow

    def polynomial(self, convention: Convention = "monomial") -> Polynomial:
        """Return the objective's coefficients as a query; the convention says which numbers are released."""
        if self.loss is None:
            raise ValueError(f"{type(self).__name__} has no polynomial loss.")
        return Polynomial(self.loss, self.geometry, convention)

    def gradient(self, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the derivative of each row's loss along x'w: (rows,)."""
        raise ValueError(f"{type(self).__name__} has no gradient.")

    def curvature(self, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the second derivative of each row's loss along x'w: (rows,)."""
        raise ValueError(f"{type(self).__name__} has no curvature.")

    def weighted(self, x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the fit of rows with weights that are not negative: (D,)."""
        raise ValueError(f"{type(self).__name__} cannot be fitted to weighted rows.")

    def weighted_bins(self, binning: Binning, bins: BinCounts) -> np.ndarray:
        """Return the fit of rows at the centres of bins, as many as each bin's number, which is positive: (D,)."""
        rows = binning.centres(bins.index)
        return self.weighted(rows.x, rows.y, bins.counts)

    def log_likelihood(self, x: np.ndarray, y: np.ndarray, weights: np.ndarray, variance: float) -> np.ndarray:
        """Return the log likelihood of each row's target: (rows,)."""
        raise ValueError(f"{type(self).__name__} has no likelihood.")

    def irls_weights(self, residuals: np.ndarray, kappa: float) -> np.ndarray:
        """Return the weight of rows with these residuals y - x'w, from 0 to kappa (Park and Welling 2016, equation 2)."""
        raise ValueError(f"{type(self).__name__} has no weights.")

    @property
    def sparse(self) -> bool:
        """Whether the penalty sets weights to zero: then ``health/nonzero`` is recorded."""
        return False

    @property
    def closed_form(self) -> bool:
        """Whether the penalty is quadratic, so that ``minimise`` returns the stationary point of any quadratic objective."""
        return True

    def regularised(self, quadratic: Quadratic) -> Quadratic:
        """Return the objective plus the smooth part of the penalty: before a repair, which must see both."""
        return quadratic

    def minimise(self, quadratic: Quadratic) -> np.ndarray:
        """Return the minimiser of a regularised, repaired objective plus the rest of the penalty: (runs, D)."""
        return quadratic.minimiser()


@dataclass(frozen=True)
class Model(Component):
    """The base class of models. Subclass it as a frozen dataclass with a ``name``; fields are options.

    Required
        ``name``; ``target``: ``real`` or ``binary``; ``prepare(curator)``, which returns the :class:`Problem`. The penalty is
        fixed there: one that is chosen on the exact data goes through ``curator.leak``, so that every record names the leak.

    Optional
        ``primary``: the metric that tables and figures show first (smaller is better); ``provides``: the capabilities of the
        problem. The curator's geometry and n are public; it answers nothing else for free.
    """

    kind: ClassVar[str] = "model"
    target: ClassVar[TargetKind] = "real"
    primary: ClassVar[str] = "rmse"
    provides: ClassVar[frozenset[Capability]] = frozenset()
    moments_alone: ClassVar[bool] = False
    """Whether the non-private fit and its standard errors need second moments alone, so that tables can be streamed."""
    metrics: ClassVar[frozenset[str]] = frozenset()
    """Metrics that the model asks for by name, besides those that every model of its target has."""

    intercept: bool = option(True, help="append a column of ones (its coefficient is not penalised)")

    def uses_moments_alone(self) -> bool:
        """Return whether the non-private fit needs second moments alone: the class says so, or an option decides."""
        return self.moments_alone

    @abstractmethod
    def prepare(self, curator: Curator) -> Problem:
        """Return the problem of a block of runs."""


@dataclass(frozen=True)
class ModelUser(Component):
    """The base class of mechanisms and attacks: a component that is used on a model, if the two fit together."""

    needs: ClassVar[frozenset[Capability]] = frozenset()
    handles_persons: ClassVar[bool] = False
    """Whether it is proven for tables in which a person has several rows. Otherwise it is not used on them."""
    mismatch: ClassVar[str] = "{name} does not fit {model}"
    """The beginning of the sentence for a pruned cell."""
    rows_only: ClassVar[str] = ""
    """The end of that sentence where a person has several rows, and the component does not handle persons."""

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        """Return why this component cannot be used on the model and such a table, as the end of a sentence, or None if it can."""
        return None

    def unsupported(self, model: Model, geometry: Geometry) -> str | None:
        """Return the sentence for a pruned cell, or None if the component and the model fit together."""
        missing = sorted(self.needs - model.provides)
        if geometry.rows_per_person is not None and not self.handles_persons:
            reason: str | None = self.rows_only
        else:
            reason = f"the model provides no {' and no '.join(missing)}" if missing else self.refuses(model, geometry)
        return f"{self.mismatch.format(name=self.name, model=model.name)}: {reason}." if reason else None
