"""The model: what four of five targets stay below."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from dpbench import Fit, Model, Problem, option

from .pinball import LEVEL


class UpperProblem(Problem):
    """The sum of 0.8 r + s log(1 + exp(-r/s)) over the rows, where r = y - x'w."""

    largest_slope = LEVEL  # of the loss, along x'w: it lies between -0.8 and 0.2

    def __init__(self, geometry, n, smoothing):
        super().__init__(geometry, n)
        self.smoothing = smoothing
        self.largest_curvature = 1 / (4 * smoothing)

    def exact(self, sample):
        return Fit.good(np.stack([self.fit_rows(sample.rows(run)) for run in range(sample.runs)]))

    def fit_rows(self, rows):
        """Minimise the mean loss: it is convex, and grows in every direction that moves a prediction."""

        def loss(weights):
            error = rows.y - rows.x @ weights
            value = LEVEL * error + self.smoothing * np.logaddexp(0, -error / self.smoothing)
            return value.mean(), rows.x.T @ self.gradient(rows.x, rows.y, weights) / rows.n

        start = np.zeros(rows.x.shape[1])
        return minimize(loss, start, jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-9, "maxiter": 1000}).x

    def predict(self, x, weights):
        return x @ weights

    def gradient(self, x, y, weights):
        return expit((x @ weights - y) / self.smoothing) - LEVEL

    def curvature(self, x, y, weights):
        below = expit((x @ weights - y) / self.smoothing)
        return below * (1 - below) / self.smoothing


@dataclass(frozen=True)
class Upper(Model):
    """Linear regression for an upper bound: 80 % of the targets should lie below their predictions.

    Formula: the loss of a row is 0.8 r + s log(1 + exp(-r/s)), where r = y - x'w: for s = 0 the pinball loss.

    Reference: Koenker and Bassett 1978, "Regression quantiles", Econometrica 46(1); Zheng 2011, "Gradient descent algorithms for
    quantile regression with smooth approximation", for the smoothing.
    """

    name: ClassVar[str] = "upper"
    primary: ClassVar[str] = "pinball"
    provides: ClassVar[frozenset[str]] = frozenset({"gradient", "smoothness"})

    smoothing: float = option(0.05, low=0, open_low=True, help="s: over how large errors the corner of the loss is rounded")

    def prepare(self, curator):
        return UpperProblem(curator.geometry, curator.n, self.smoothing)
