"""A fit that is too short. Expected: must be a dpbench.Fit with weights of shape (1, 5)."""

from dataclasses import dataclass

from dpbench import Fit, hookimpl

from ._good import GoodModel, GoodProblem


class Problem(GoodProblem):
    """Least squares."""

    def exact(self, sample):
        return Fit.good(super().exact(sample).weights[:, 1:])


@dataclass(frozen=True)
class ModelWrongShape(GoodModel):
    __doc__ = GoodModel.__doc__
    name = "model_wrong_shape"
    problem = Problem


@hookimpl
def dpbench_models():
    return [ModelWrongShape]
