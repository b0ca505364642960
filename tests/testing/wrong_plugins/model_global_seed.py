"""A fit that seeds what everybody shares. Expected: The fit used numpy.random, which others share."""

from dataclasses import dataclass

import numpy as np

from dpbench import hookimpl

from ._good import GoodModel, GoodProblem


class Problem(GoodProblem):
    """Least squares."""

    def exact(self, sample):
        np.random.seed(3)
        return super().exact(sample)


@dataclass(frozen=True)
class ModelGlobalSeed(GoodModel):
    __doc__ = GoodModel.__doc__
    name = "model_global_seed"
    problem = Problem


@hookimpl
def dpbench_models():
    return [ModelGlobalSeed]
