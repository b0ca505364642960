"""Sums of columns in each cell of a partition of the rows."""

import hashlib
from dataclasses import dataclass

import numpy as np

from dpbench.data.halving import Halving
from dpbench.data.scaling import Rows
from dpbench.privacy.queries.query import CellQuery

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class CellSums(CellQuery):
    """The sums of some columns of z = (1, features, target) in each cell, cell by cell; column 0 counts the rows.

    ``starts`` holds the first code of each cell in order, for each run: (runs, cells). Codes from ``partition.end`` on belong to
    no row, so cells may be missing at the end.
    """

    partition: Halving
    starts: Array
    columns: tuple[int, ...] = (0,)
    name: str = "cell counts"

    @property
    def cells(self) -> int:
        return int(self.starts.shape[1])

    @property
    def identity(self) -> str:
        starts = hashlib.blake2b(np.ascontiguousarray(self.starts).tobytes(), digest_size=8).hexdigest()
        return f"{super().identity}, columns {self.columns}, cells {starts}"

    def cell_of(self, index: Array, run: int) -> Array:
        return np.maximum(np.searchsorted(self.starts[run], index[:, 0], side="right") - 1, 0)

    def values(self, rows: Rows) -> Array:
        return rows.z[:, list(self.columns)]
