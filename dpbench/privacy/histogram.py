"""Histograms: how many rows fall into each cell of a grid, and their noisy counts, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dpbench.data.bins import BinCounts, Binning
from dpbench.data.samples import Sample
from dpbench.data.scaling import Rows
from dpbench.privacy.noise import Noise
from dpbench.privacy.query import Query

MOVED = 2
"""The L1 sensitivity: a replaced row leaves one cell and enters another."""
PROOF = "a replaced row moves two counts by one (Dwork, McSherry, Nissim, Smith 2006)"


@dataclass(frozen=True)
class Histogram(Query):
    """The count of every cell of a grid. The cells may be too many to enumerate, so exact answers are tallies."""

    grid: Binning
    name: str = "histogram"

    @property
    def size(self) -> int:
        return self.grid.size

    @property
    def identity(self) -> str:
        shape = "x".join(map(str, self.grid.shape))
        return f"{type(self).__name__} of {shape} cells over {', '.join(self.grid.geometry.columns)} and the target"

    def contribution(self, rows: Rows, run: int) -> np.ndarray:
        ones = np.zeros((rows.n, self.size))
        ones[np.arange(rows.n), self.grid.locate(rows)[:, 0]] = 1
        return ones

    def tally(self, sample: Sample, run: int) -> BinCounts:
        """The cells that one run's rows fill."""
        return self.grid.count(sample.bins(self.grid, run))


class Scan:
    """The noisy counts of all cells, drawn block by block when they are asked for: the same ones at every pass."""

    def __init__(
        self,
        query: Histogram,
        sample: Sample,
        noise: Noise,
        stream: Callable[[int, int], np.random.Generator],
        step: int,
    ) -> None:
        self._query = query
        self._sample = sample
        self._noise = noise
        self._stream = stream
        self._step = step

    def blocks(self, run: int) -> Iterator[tuple[int, np.ndarray]]:
        """The first cell of each block, and the noisy counts from there on."""
        law, scale = self._noise.law, self._noise.scale[run if len(self._noise.scale) > 1 else 0]
        tally, cells = self._query.tally(self._sample, run), self._query.size
        filled = tally.index[:, 0]
        for number, start in enumerate(range(0, cells, self._step)):
            size = min(self._step, cells - start)
            counts = law.shape(law.standard(self._stream(run, number), size), scale)
            low, high = np.searchsorted(filled, [start, start + size])
            counts[filled[low:high] - start] += tally.counts[low:high]
            yield start, counts
