"""A dataset that takes no generator. Expected: dpbench calls load(generator), and load takes ()."""

from dataclasses import dataclass

from dpbench import hookimpl

from ._good import GoodDataset


@dataclass(frozen=True)
class DatasetWrongSignature(GoodDataset):
    __doc__ = GoodDataset.__doc__
    name = "dataset_wrong_signature"

    def load(self):
        return None


@hookimpl
def dpbench_datasets():
    return [DatasetWrongSignature]
