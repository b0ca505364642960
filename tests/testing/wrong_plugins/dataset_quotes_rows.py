"""An error whose text quotes private rows. Expected: ends with ValueError: (the text is not shown, because it may quote rows)"""

from dataclasses import dataclass

from dpbench import hookimpl

from ._good import GoodDataset


@dataclass(frozen=True)
class DatasetQuotesRows(GoodDataset):
    __doc__ = GoodDataset.__doc__
    name = "dataset_quotes_rows"

    def table(self, features, wage):
        raise ValueError(f"cannot read {wage.tolist()}")


@hookimpl
def dpbench_datasets():
    return [DatasetQuotesRows]
