"""A fit without numbers. Expected: has weights that are not finite."""

from dataclasses import dataclass

import numpy as np

from dpbench import Fit, hookimpl

from ._good import GoodModel, GoodProblem


class Problem(GoodProblem):
    """Least squares."""

    def exact(self, sample):
        return Fit.good(np.full((sample.runs, self.geometry.dimension), np.nan))


@dataclass(frozen=True)
class ModelNanWeights(GoodModel):
    __doc__ = GoodModel.__doc__
    name = "model_nan_weights"
    problem = Problem


@hookimpl
def dpbench_models():
    return [ModelNanWeights]
