"""A target for some of the rows. Expected: A table needs 1 feature columns and one target of equal length."""

from dataclasses import dataclass

from dpbench import hookimpl

from ._good import GoodDataset


@dataclass(frozen=True)
class DatasetWrongShape(GoodDataset):
    __doc__ = GoodDataset.__doc__
    name = "dataset_wrong_shape"

    def table(self, features, wage):
        return super().table(features, wage[1:])


@hookimpl
def dpbench_datasets():
    return [DatasetWrongShape]
