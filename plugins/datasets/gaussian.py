"""A synthetic table with normal features and a linear target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.dataset import Dataset
from dpbench.contracts.hooks import hookimpl
from dpbench.data.table import Column, Table
from dpbench.records.leaks import BOUNDS_FROM_DATA, Leak


@dataclass(frozen=True)
class GaussianTable(Dataset):
    """Synthetic: x ~ N(0, I), y = x'θ + noise with θ ~ N(0, I), drawn from the seed.

    This is the simulation of Park and Welling 2016, section 4. Their scaling divides by the largest norm in the sample
    (``bounds=data``), which is a leak and is recorded as one. The default clips at public bounds, four standard deviations for
    each feature and for the target. ``redraw=true`` draws a table for each repeat, as in their simulation.
    """

    name: ClassVar[str] = "gaussian"
    synthetic: ClassVar[bool] = True
    licence: ClassVar[str] = "none needed"
    citation: ClassVar[str] = "Park and Welling 2016, section 4"

    n: int = option(10_000, low=2, help="number of rows")
    d: int = option(10, low=1, help="number of features")
    noise: float = option(0.01, low=0, help="variance of the target's noise")
    bounds: Literal["public", "data"] = option("public", help="public constants, or the largest norms in the sample (a leak)")
    redraw: bool = option(False, help="draw a new table for each repeat")

    def load(self, generator: np.random.Generator) -> Table:
        features = generator.standard_normal((self.n, self.d))
        weights = generator.standard_normal(self.d)
        response = (features * weights).sum(axis=1) + math.sqrt(self.noise) * generator.standard_normal(self.n)
        if self.bounds == "data":
            limits = np.abs(features).max(axis=0)
            max_abs_target = float(np.abs(response).max())
            radius = float(np.sqrt(np.square(features).sum(axis=1).max()))
            leaks: tuple[Leak, ...] = (BOUNDS_FROM_DATA,)
        else:
            limits = np.full(self.d, 4.0)
            max_abs_target = 4 * math.sqrt(self.d + self.noise)  # four standard deviations, averaged over θ
            radius = math.sqrt(self.d) + 3
            leaks = ()
        columns = tuple(Column(f"x{index + 1}", -float(limit), float(limit)) for index, limit in enumerate(limits))
        return Table(columns, Column("y", -max_abs_target, max_abs_target), features, response, radius, threshold=0, leaks=leaks)

    def shape(self) -> tuple[int, int]:
        return self.n, self.d

    def redrawn(self) -> bool:
        return self.redraw


@hookimpl
def dpbench_datasets() -> list[type[Dataset]]:
    return [GaussianTable]
