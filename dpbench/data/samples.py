"""Samples: the rows of every run of a block, seen through sums."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Protocol

import numpy as np

from dpbench.data.bins import Binning
from dpbench.data.geometry import Geometry
from dpbench.data.moments import Moments, gram
from dpbench.data.scaling import Rows

CHUNK = 16_384
"""Rows summed at a time where a query's contributions are formed: a constant, so that sums never depend on the engine."""


class Summand(Protocol):
    """What a sum over rows is made of: a query, as far as a sample needs to know it."""

    state: np.ndarray | None

    @property
    def size(self) -> int: ...

    def contribution(self, rows: Rows, run: int) -> np.ndarray: ...


class Sample(ABC):
    """The rows of every run of a block (those that train, or those that test), seen through sums."""

    geometry: Geometry
    runs: int

    @property
    @abstractmethod
    def n(self) -> np.ndarray:
        """Rows of each run: public."""

    @property
    @abstractmethod
    def moments(self) -> Moments:
        """Second moments of each run's rows."""

    @property
    def half_range(self) -> np.ndarray:
        """Half the target's declared range in its own unit, for each run."""
        return np.full(self.runs, self.geometry.half_range)

    @abstractmethod
    def sums(self, query: Summand) -> np.ndarray:
        """The query's contributions summed over each run's rows: (runs, size)."""

    @abstractmethod
    def rows(self, run: int) -> Rows:
        """One run's rows, for what really needs them."""

    def bins(self, binning: Binning, run: int) -> np.ndarray:
        """Return the bin of each of a run's rows: (rows, integers per index)."""
        return binning.locate(self.rows(run))

    def one(self, run: int) -> Sample:
        """A sample of this run alone."""
        return _OneRun(self, run)

    def without(self, attributes: Collection[str]) -> Sample:
        """The same rows without these attributes."""
        return _Narrow(self, attributes)


class WholeSample(Sample):
    """One table as it is, a single run: what a release, an audit and a timing fit on."""

    runs = 1

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._moments: Moments | None = None
        self.geometry = rows.geometry

    @property
    def n(self) -> np.ndarray:
        return np.array([float(self._rows.n)])

    @property
    def moments(self) -> Moments:
        if self._moments is None:
            self._moments = Moments(gram(self._rows.z)[None], self.geometry)
        return self._moments

    def sums(self, query: Summand) -> np.ndarray:
        return summed(query, self._rows, 0)[None]

    def rows(self, run: int) -> Rows:
        return self._rows


class _OneRun(Sample):
    """One run of another sample."""

    runs = 1

    def __init__(self, sample: Sample, run: int) -> None:
        self._sample = sample
        self._run = slice(run, run + 1)
        self.geometry = sample.geometry

    @property
    def n(self) -> np.ndarray:
        return self._sample.n[self._run]

    @property
    def half_range(self) -> np.ndarray:
        return self._sample.half_range[self._run]

    @property
    def moments(self) -> Moments:
        return Moments(self._sample.moments.gram[self._run], self.geometry)

    def sums(self, query: Summand) -> np.ndarray:
        if query.state is None:
            return self._sample.sums(query)[self._run]
        return summed(query, self.rows(0), 0)[None]  # the state is this run's alone

    def rows(self, run: int) -> Rows:
        return self._sample.rows(self._run.start)

    def bins(self, binning: Binning, run: int) -> np.ndarray:
        return self._sample.bins(binning, self._run.start)


class _Narrow(Sample):
    """Another sample without some of its columns."""

    def __init__(self, sample: Sample, attributes: Collection[str]) -> None:
        self._sample = sample
        self._kept = np.array([0, *(1 + index for index in sample.geometry.kept(attributes)), sample.geometry.features + 1])
        self.geometry = sample.geometry.without(attributes)
        self.runs = sample.runs

    @property
    def n(self) -> np.ndarray:
        return self._sample.n

    @property
    def half_range(self) -> np.ndarray:
        return self._sample.half_range

    @property
    def moments(self) -> Moments:
        return Moments(self._sample.moments.gram[:, self._kept[:, None], self._kept], self.geometry)

    def sums(self, query: Summand) -> np.ndarray:
        return np.stack([summed(query, self.rows(run), run) for run in range(self.runs)])

    def rows(self, run: int) -> Rows:
        return Rows(np.take(self._sample.rows(run).z, self._kept, axis=1), self.geometry)


def summed(query: Summand, rows: Rows, run: int) -> np.ndarray:
    total = np.zeros(query.size)
    for start in range(0, rows.n, CHUNK):
        chunk = Rows(rows.z[start : start + CHUNK], rows.geometry)
        total += query.contribution(chunk, run).sum(axis=0)
    return total
