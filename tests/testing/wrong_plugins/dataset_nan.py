"""A table with a hole. Expected: A table must hold finite numbers only."""

from dataclasses import dataclass

import numpy as np

from dpbench import hookimpl

from ._good import GoodDataset


@dataclass(frozen=True)
class DatasetNan(GoodDataset):
    __doc__ = GoodDataset.__doc__
    name = "dataset_nan"

    def table(self, features, wage):
        return super().table(np.where(features > 70, np.nan, features), wage)


@hookimpl
def dpbench_datasets():
    return [DatasetNan]
