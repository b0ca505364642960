"""Weights that are no numbers. Expected: A fit of linear has weights that are not finite numbers."""

from dataclasses import dataclass

from dpbench import Fit, hookimpl

from ._good import Good


@dataclass(frozen=True)
class NanWeights(Good):
    __doc__ = Good.__doc__
    name = "nan_weights"

    def finish(self, fit):
        return Fit.good(fit.weights * float("nan"))


@hookimpl
def dpbench_mechanisms():
    return [NanWeights]
