"""Histograms: how many rows fall into each bin, and their noisy counts, block by block."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dpbench.data.bins import BinCounts, Binning
from dpbench.data.samples import Sample
from dpbench.data.scaling import Rows
from dpbench.privacy.noise import Noise
from dpbench.privacy.queries.query import Query

L1_SENSITIVITY = 2
"""A replaced row leaves one bin and enters another."""
PROOF = "a replaced row moves two counts by one (Dwork, McSherry, Nissim, Smith 2006)"


@dataclass(frozen=True)
class Histogram(Query):
    """The count of every bin. There may be too many bins to enumerate, so the exact answer is a sparse histogram."""

    binning: Binning
    name: str = "histogram"

    @property
    def size(self) -> int:
        return self.binning.size

    @property
    def identity(self) -> str:
        shape = "x".join(map(str, self.binning.shape))
        return f"{type(self).__name__} of {shape} bins over {', '.join(self.binning.geometry.columns)} and the target"

    def contribution(self, rows: Rows, run: int) -> np.ndarray:
        ones = np.zeros((rows.n, self.size))
        ones[np.arange(rows.n), self.binning.locate(rows)[:, 0]] = 1
        return ones

    def count(self, sample: Sample, run: int) -> BinCounts:
        """Count one run's rows in the bins that they fill."""
        return self.binning.count(sample.bins(self.binning, run))


@dataclass(frozen=True)
class Scan:
    """The noisy counts of all bins, drawn block by block on demand and the same at every pass."""

    _query: Histogram
    _sample: Sample
    _noise: Noise
    _stream: Callable[[int, int], np.random.Generator]
    """By run and block."""
    _step: int

    def blocks(self, run: int = 0) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the first bin of each block with the noisy counts from there on."""
        law, scale = self._noise.law, self._noise.scale_of(run)
        exact = self._query.count(self._sample, run)
        filled = exact.index[:, 0]
        for number, start in enumerate(range(0, self._query.size, self._step)):
            size = min(self._step, self._query.size - start)
            counts = law.shape(law.standard(self._stream(run, number), size), scale)
            low, high = np.searchsorted(filled, [start, start + size])
            counts[filled[low:high] - start] += exact.counts[low:high]
            yield start, counts
