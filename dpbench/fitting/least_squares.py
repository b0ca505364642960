"""The problem of least squares: models with a squared loss return it from ``prepare``, or extend it by a penalty."""

from typing import ClassVar

import numpy as np

from dpbench.contracts.fit import Fit
from dpbench.contracts.model import Problem
from dpbench.data.samples import Sample
from dpbench.fitting.information import inverse_roots
from dpbench.fitting.unequal_spreads import refined
from dpbench.privacy.queries.polynomial import Loss
from dpbench.privacy.queries.quadratic import Quadratic


class LeastSquares(Problem):
    """The summed squared error. Its scores need only the moments of the test rows, not the rows themselves.

    To add a quadratic penalty, override ``regularised`` and set ``has_penalty = True``. For any other penalty override
    ``minimise`` and ``closed_form`` as well.
    """

    loss = Loss(curvature=1.0, slope=(0.0, -2.0), printed_slope=2.0, printed_constant=1.0)
    steady_weights = True
    largest_curvature = 2.0
    has_penalty: ClassVar[bool] = False
    """Whether a penalty is added. Weights without one are refined where columns have very unequal spreads."""

    def exact(self, sample: Sample) -> Fit:
        moments = sample.moments
        objective = self.regularised(Quadratic(moments.xx, -2 * moments.xy))
        weights = self.minimise(objective)
        return Fit.good(weights if self.has_penalty else refined(weights, objective, moments))

    def standard_errors(self, sample: Sample, weights: np.ndarray) -> np.ndarray:
        """Return the standard errors of least squares, also where the weights have a penalty."""
        moments = sample.moments
        roots = inverse_roots(moments.xx)
        regular = np.isfinite(roots).all(axis=1)
        information = np.where(regular[:, None, None], moments.xx, np.eye(roots.shape[1]))
        fitted = np.einsum("ri,ri->r", moments.xy, np.linalg.solve(information, moments.xy[..., None])[..., 0])
        spare = moments.n - roots.shape[1]
        variance = np.maximum(moments.yy - fitted, 0.0) / np.where(regular & (spare > 0), spare, np.nan)
        return np.asarray(np.sqrt(variance)[:, None] * roots)

    def predict(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.asarray(x @ weights)

    def gradient(self, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return d loss / d x'w of each row."""
        return np.asarray(2 * (x @ weights - y))

    def curvature(self, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return d² loss / d (x'w)² of each row."""
        return np.full(len(y), 2.0)

    def weighted(self, x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the fit to weighted rows."""
        scaled = x * weight[:, None]
        one_run = Quadratic((x.T @ scaled)[None], -2 * (scaled.T @ y)[None])
        return np.asarray(self.minimise(self.regularised(one_run))[0])

    def log_likelihood(self, x: np.ndarray, y: np.ndarray, weights: np.ndarray, variance: float) -> np.ndarray:
        """Return the log density of each row's target under normal errors with this variance."""
        return np.asarray(-0.5 * (np.square(y - x @ weights) / variance + np.log(2 * np.pi * variance)))
