"""Histograms: how many rows fall into each bin, and their noisy counts, block by block."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dpbench.data.bins import BinCounts, Binning
from dpbench.data.samples import Sample
from dpbench.data.scaling import Rows
from dpbench.privacy.queries.query import RowQuery

PROOF = "a replaced row moves two counts by one (Dwork, McSherry, Nissim, Smith 2006)"


@dataclass(frozen=True)
class Histogram(RowQuery):
    """The count of every bin. There may be too many bins to enumerate, so the exact answer is a sparse histogram."""

    binning: Binning
    name: str = "histogram"

    @property
    def size(self) -> int:
        return self.binning.size

    @property
    def l1_bound(self) -> int:
        """sup ‖change‖₁ over neighbours: a replaced row leaves one bin and enters another, and a missing one does less."""
        return 2 * self.binning.geometry.replaced_rows

    @property
    def identity(self) -> str:
        shape = "x".join(map(str, self.binning.shape))
        return f"{type(self).__name__} of {shape} bins over {', '.join(self.binning.geometry.columns)} and the target"

    def contribution(self, rows: Rows, run: int) -> np.ndarray:
        ones = np.zeros((rows.n, self.size))
        ones[np.arange(rows.n), self.binning.locate(rows)[:, 0]] = 1
        return ones


def plain_histogram(query: Histogram) -> Histogram:
    """Return the same histogram, made anew: its bins are those of the core, and it counts each row once."""
    if type(query) is not Histogram or type(query.binning) is not Binning:
        raise TypeError(f"Only a Histogram of a Binning is counted bin by bin. Got {type(query).__name__} instead.")
    return Histogram(Binning(query.binning.geometry, query.binning.bins_per_attribute), query.name)


def count_rows(query: Histogram, sample: Sample, run: int) -> BinCounts:
    """Count one run's rows in the bins that they fill."""
    return sample.bin_counts(query.binning, run)


class Scan:
    """The noisy counts of all bins, drawn block by block on demand and the same at every pass."""

    def __init__(self, blocks: Callable[[int], Iterator[tuple[int, np.ndarray]]]) -> None:
        self._blocks = blocks

    def blocks(self, run: int = 0) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the first bin of each block with the noisy counts from there on."""
        return self._blocks(run)
