"""A weight too few. Expected: wrong_shape must return weights of shape (1, 5). Got (1, 4) instead."""

from dataclasses import dataclass

from dpbench import Fit, hookimpl

from ._good import Good


@dataclass(frozen=True)
class WrongShape(Good):
    __doc__ = Good.__doc__
    name = "wrong_shape"

    def finish(self, fit):
        return Fit.good(fit.weights[:, 1:])


@hookimpl
def dpbench_mechanisms():
    return [WrongShape]
