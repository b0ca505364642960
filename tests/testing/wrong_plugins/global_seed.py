"""A seed that everybody shares. Expected: After the fit, numpy.random or random is in another state than before."""

from dataclasses import dataclass

import numpy as np

from dpbench import hookimpl

from ._good import Good


@dataclass(frozen=True)
class GlobalSeed(Good):
    __doc__ = Good.__doc__
    name = "global_seed"

    def finish(self, fit):
        np.random.seed(3)
        return fit


@hookimpl
def dpbench_mechanisms():
    return [GlobalSeed]
