"""A dataset whose bounds are the extremes of its rows. Expected: claimed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Column, Dataset, Table, hookimpl


@dataclass(frozen=True)
class DatasetReadsItsBounds(Dataset):
    """A dataset whose bounds are the extremes of its rows."""

    name: ClassVar[str] = "dataset_reads_its_bounds"

    def load(self, generator: Any) -> Table:
        height, income = np.random.default_rng(5).normal((170, 40), (10, 15), (400, 2)).T  # stands for a file
        columns = (Column("height", height.min(), height.max(), "cm"),)
        return Table(columns, Column("income", income.min(), income.max(), "kEUR"), height[:, None], income)


@hookimpl
def dpbench_datasets() -> Any:
    return [DatasetReadsItsBounds]
