"""The contract of a model: what is fitted, how it predicts, how it is scored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.component import Component
from dpbench.contracts.fit import Fit
from dpbench.data.geometry import Geometry, TargetKind
from dpbench.data.samples import Sample
from dpbench.privacy.curator import Curator
from dpbench.privacy.polynomial import Convention, Loss, Polynomial
from dpbench.privacy.quadratic import Quadratic

Capability = Literal["polynomial", "truncation", "gradient", "weighted", "likelihood", "reweighted"]


class Problem(ABC):
    """A model on one block of runs: its geometry, its n, its penalty fixed. What mechanisms work with.

    Required
        ``exact(sample)``, ``predict(x, w)``, ``score(weights, sample)``, ``reference(train, test)``.

    Optional, each a capability that lets more mechanisms and attacks run (leave it out and those cells are pruned with a
    sentence)
        ``loss``: the row's loss as a polynomial of order 2 (FM and its family: capability ``polynomial``), or its
        truncation, which ``loss.exact`` denies (then ``truncation`` as well);
        ``gradient(x, y, w)`` and ``curvature(x, y, w)``: first and second derivative of each row's loss along x'w (gradient
        methods: ``gradient``);
        ``weighted(x, y, weight)``: the fit of weighted rows, (D,) (DPME, FP: ``weighted``);
        ``log_likelihood(x, y, w, variance)`` of each row, by its x'w alone, so that (x'w, 1) may stand for (x, w) (attacks:
        ``likelihood``);
        ``irls_weights(residuals, kappa)``: each row's weight in iteratively reweighted least squares, from 0 to kappa, or
        ``steady_weights`` where every row weighs 1 whatever the iterate (``reweighted``).

    Arrays carry the runs first: weights are (runs, D), ``n`` is (runs,). ``x`` is a design matrix with its intercept column.
    """

    loss: ClassVar[Loss | None] = None
    steady_weights: ClassVar[bool] = False
    """One step of iteratively reweighted least squares is the fit."""

    def __init__(self, geometry: Geometry, n: np.ndarray) -> None:
        self.geometry = geometry
        self.n = n

    @abstractmethod
    def exact(self, sample: Sample) -> Fit:
        """The non-private fit of each run."""

    @abstractmethod
    def predict(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Predictions of one weight vector for rows of a design matrix."""

    @abstractmethod
    def score(self, weights: np.ndarray, test: Sample) -> dict[str, np.ndarray]:
        """Metrics of each run on its test rows, by their public names without ``utility/``: arrays (runs,).

        An array (runs, points) is a curve, at even steps from 0 to 1.
        """

    @abstractmethod
    def reference(self, train: Sample, test: Sample) -> dict[str, np.ndarray]:
        """The same metrics of the predictor that knows only the training target: its mean, or its majority."""

    def for_run(self, run: int) -> Self:
        """The problem of a single run."""
        single = copy(self)
        single.n = self.n[run : run + 1]
        return single

    def on(self, geometry: Geometry) -> Self:
        """The same problem on fewer columns."""
        narrow = copy(self)
        narrow.geometry = geometry
        return narrow

    def polynomial(self, convention: Convention = "monomial") -> Polynomial:
        """The objective's coefficients as a query."""
        if self.loss is None:
            raise ValueError(f"{type(self).__name__} has no polynomial loss.")
        return Polynomial(self.loss, self.geometry, convention)

    def weighted(self, x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The fit of rows with weights that are not negative: (D,)."""
        raise ValueError(f"{type(self).__name__} cannot be fitted to weighted rows.")

    def log_likelihood(self, x: np.ndarray, y: np.ndarray, weights: np.ndarray, variance: float) -> np.ndarray:
        """The log likelihood of each row's target: (rows,)."""
        raise ValueError(f"{type(self).__name__} has no likelihood.")

    def irls_weights(self, residuals: np.ndarray, kappa: float) -> np.ndarray:
        """The weight of each row of residual y - x'w, from 0 to kappa (Park and Welling 2016, equation 2)."""
        raise ValueError(f"{type(self).__name__} has no weights.")

    def regularised(self, quadratic: Quadratic) -> Quadratic:
        """The objective with the smooth part of the model's penalty: before a repair, so that a ridge is not repaired twice."""
        return quadratic

    def minimise(self, quadratic: Quadratic) -> np.ndarray:
        """The minimiser of a (regularised, repaired) objective with the rest of the model's penalty: (runs, D)."""
        return quadratic.minimiser()


@dataclass(frozen=True)
class Model(Component):
    """The base class of models. Subclass it as a frozen dataclass with a ``name``; fields are options.

    Required
        ``name``; ``target``: ``real`` or ``binary``; ``prepare(curator)``, which returns the :class:`Problem`. The penalty is
        fixed there: chosen on the exact data it goes through ``curator.reveal``, and is a leak on the record.

    Optional
        ``primary``: the metric that tables and figures show first (smaller is better); ``provides``: the capabilities that
        the problem has. The curator knows the geometry and n; it answers nothing more for free.
    """

    kind: ClassVar[str] = "model"
    target: ClassVar[TargetKind] = "real"
    primary: ClassVar[str] = "rmse"
    provides: ClassVar[frozenset[Capability]] = frozenset()

    intercept: bool = option(True, help="append a column of ones (its coefficient is not penalised)")

    @abstractmethod
    def prepare(self, curator: Curator) -> Problem:
        """The problem of a block of runs."""
