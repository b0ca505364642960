"""A dataset whose columns are measured in deviations from the mean of its rows. Expected: claimed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Column, Dataset, Table, hookimpl


@dataclass(frozen=True)
class DatasetStandardises(Dataset):
    """A dataset whose columns are measured in deviations from the mean of its rows."""

    name: ClassVar[str] = "dataset_standardises"

    def load(self, generator: Any) -> Table:
        height, income = np.random.default_rng(5).normal((170, 40), (10, 15), (400, 2)).T  # stands for a file
        height, income = ((values - values.mean()) / values.std() for values in (height, income))
        return Table((Column("height", -3, 3),), Column("income", -3, 3), height[:, None], income)


@hookimpl
def dpbench_datasets() -> Any:
    return [DatasetStandardises]
