"""Rows that are drawn from what everybody shares. Expected: Loading used numpy.random, which others share."""

from dataclasses import dataclass

import numpy as np

from dpbench import hookimpl

from ._good import GoodDataset


@dataclass(frozen=True)
class DatasetGlobalSeed(GoodDataset):
    __doc__ = GoodDataset.__doc__
    name = "dataset_global_seed"

    def load(self, generator):
        np.random.seed(3)
        return super().load(np.random)


@hookimpl
def dpbench_datasets():
    return [DatasetGlobalSeed]
