"""A model that has a gradient and does not say so. Expected: but the model does not provide 'gradient'."""

from dataclasses import dataclass

import numpy as np

from dpbench import LeastSquares, Model, hookimpl


class Problem(LeastSquares):
    """Least squares."""

    def gradient(self, x, y, weights):
        return 2 * (x @ weights - y)

    def curvature(self, x, y, weights):
        return np.full(len(y), 2.0)


@dataclass(frozen=True)
class MissingProvides(Model):
    """Fit by least squares."""

    name = "missing_provides"
    provides = frozenset({"polynomial"})

    def prepare(self, curator):
        return Problem(curator.geometry, curator.n)


@hookimpl
def dpbench_models():
    return [MissingProvides]
