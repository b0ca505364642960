"""A largest curvature that is too small, and so too little noise. Expected: a curvature of 2 exceeds largest_curvature = 0.5."""

from dataclasses import dataclass

from dpbench import hookimpl

from ._good import GoodModel, GoodProblem


class Problem(GoodProblem):
    """Least squares."""

    largest_curvature = 0.5


@dataclass(frozen=True)
class ModelSmallSlope(GoodModel):
    __doc__ = GoodModel.__doc__
    name = "model_small_slope"
    problem = Problem


@hookimpl
def dpbench_models():
    return [ModelSmallSlope]
