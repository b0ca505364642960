"""A dataset that leaves out the rows beyond three deviations, which all rows decide. Expected: claimed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Column, Dataset, Table, hookimpl


@dataclass(frozen=True)
class DatasetDropsOutliers(Dataset):
    """A dataset that leaves out the rows beyond three deviations, which all rows decide."""

    name: ClassVar[str] = "dataset_drops_outliers"

    def load(self, generator: Any) -> Table:
        height, income = np.random.default_rng(5).normal((170, 40), (10, 15), (400, 2)).T  # stands for a file
        usual = np.abs(income - income.mean()) < 3 * income.std()
        height, income = height[usual], income[usual]
        return Table((Column("height", 100, 250, "cm"),), Column("income", 0, 100, "kEUR"), height[:, None], income)


@hookimpl
def dpbench_datasets() -> Any:
    return [DatasetDropsOutliers]
