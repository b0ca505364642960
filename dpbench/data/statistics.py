"""Additive statistics: one pass over the rows of a repeat gives every fold's sums, and training is the total less the fold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows

if TYPE_CHECKING:
    from dpbench.data.grid import Grid
    from dpbench.privacy.query import Query

CHUNK = 16_384
"""Rows summed at a time where a query's contributions are formed: a constant, so that sums never depend on the engine."""


@dataclass(frozen=True)
class Moments:
    """Second moments of the rows of each run: sums of products of (1, features, y)."""

    gram: np.ndarray
    geometry: Geometry

    @property
    def n(self) -> np.ndarray:
        return self.gram[..., 0, 0]

    @cached_property
    def xx(self) -> np.ndarray:
        """X'X of the design, the intercept's row and column included."""
        return self._design(self._design(self.gram, -1), -2)

    @cached_property
    def xy(self) -> np.ndarray:
        return self._design(self.gram[..., :, -1], -1)

    @cached_property
    def x(self) -> np.ndarray:
        """The columns' sums."""
        return self._design(self.gram[..., :, 0], -1)

    @property
    def yy(self) -> np.ndarray:
        return self.gram[..., -1, -1]

    @property
    def y(self) -> np.ndarray:
        return self.gram[..., 0, -1]

    def _design(self, array: np.ndarray, axis: int) -> np.ndarray:
        """The design's part of an axis over (1, features[, y])."""
        width = self.geometry.features
        first = 0 if self.geometry.intercept else 1
        part = np.take(array, np.arange(first, 1 + width), axis=axis)
        if self.geometry.intercept and self.geometry.constant != 1:
            factor = np.ones(part.shape[axis])
            factor[0] = self.geometry.constant
            part = part * (factor if axis == -1 else factor[:, None])
        return part


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
    def sums(self, query: Query) -> np.ndarray:
        """The query's contributions summed over each run's rows: (runs, size)."""

    @abstractmethod
    def rows(self, run: int) -> Rows:
        """One run's rows, for what really needs them."""

    def cells(self, grid: Grid, run: int) -> np.ndarray:
        """The grid's cell of each of a run's rows: (rows, integers that name it)."""
        return grid.index(self.rows(run))

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

    def sums(self, query: Query) -> np.ndarray:
        return _summed(query, self._rows, 0)[None]

    def rows(self, run: int) -> Rows:
        return self._rows


class Block:
    """A block of repeats of one table on one kind of split; ``train`` and ``test`` are its two samples.

    ``rows_of`` gives the rows of a repeat (the same ones, unless the dataset is drawn anew for each), ``labels_of`` the
    part of every row; part f is what run f of the repeat tests.
    """

    def __init__(
        self,
        rows_of: Callable[[int], Rows],
        labels_of: Callable[[int], np.ndarray],
        repeats: Sequence[int],
        parts: int,
        tests: int,
    ) -> None:
        self.rows_of = rows_of
        self.labels_of = labels_of
        self.repeats = tuple(repeats)
        self.parts = parts
        self.tests = tests
        self.geometry = rows_of(self.repeats[0]).geometry
        self._labels: dict[int, np.ndarray] = {}
        self._half_range: dict[int, float] = {}
        self._cache: dict[Query, np.ndarray] = {}
        self._cells: tuple[Grid, Rows, np.ndarray] | None = None
        self._buffer = np.empty(0)
        self.train: Sample = _Part(self, training=True)
        self.test: Sample = _Part(self, training=False)

    @property
    def runs(self) -> list[tuple[int, int]]:
        """(repeat, fold) of every run of the block, in order."""
        return [(repeat, fold) for repeat in self.repeats for fold in range(self.tests)]

    def labels(self, repeat: int) -> np.ndarray:
        if repeat not in self._labels:
            self._labels[repeat] = self.labels_of(repeat)
        return self._labels[repeat]

    def half_range(self, repeat: int) -> float:
        """Half the target's declared range: a table that is drawn anew may declare another one."""
        if repeat not in self._half_range:
            self._half_range[repeat] = self.rows_of(repeat).geometry.half_range
        return self._half_range[repeat]

    @cached_property
    def counts(self) -> np.ndarray:
        """(repeats, parts): how many rows each part has."""
        return np.stack([np.bincount(self.labels(r)[self.labels(r) >= 0], minlength=self.parts) for r in self.repeats]).astype(
            float
        )

    @cached_property
    def grams(self) -> np.ndarray:
        """(repeats, parts, d + 2, d + 2), exact since the rows lie on a grid."""
        return np.stack([self._per_part(repeat, gram) for repeat in self.repeats])

    def sums(self, query: Query) -> np.ndarray:
        """(repeats, parts, size) of a query without state, computed once."""
        if query not in self._cache:
            self._cache[query] = np.stack(
                [
                    np.stack(
                        [_summed(query, rows.take(np.flatnonzero(self.labels(repeat) == part)), 0) for part in range(self.parts)]
                    )
                    for repeat in self.repeats
                    for rows in [self.rows_of(repeat)]
                ]
            )
        return self._cache[query]

    def cells(self, grid: Grid, repeat: int) -> np.ndarray:
        """The cell of every row of a repeat; the last table's are kept."""
        rows = self.rows_of(repeat)
        if self._cells is None or self._cells[0] != grid or self._cells[1] is not rows:
            self._cells = grid, rows, grid.index(rows)
        return self._cells[2]

    def _per_part(self, repeat: int, statistic: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        rows = self.rows_of(repeat)
        z = rows.z
        self._half_range[repeat] = rows.geometry.half_range
        labels = self.labels(repeat)
        results = []
        for part in range(self.parts):
            index = np.flatnonzero(labels == part)
            if self._buffer.size < len(index) * z.shape[1]:
                self._buffer = np.empty(int(len(index) * z.shape[1] * 1.05))
            chosen = self._buffer[: len(index) * z.shape[1]].reshape(len(index), z.shape[1])
            np.take(z, index, axis=0, out=chosen, mode="clip")  # five times faster into a buffer that is kept
            results.append(statistic(chosen))
        return np.stack(results)


class _Part(Sample):
    """The training or the test rows of a block's runs."""

    def __init__(self, block: Block, training: bool) -> None:
        self._block = block
        self._training = training
        self._moments: Moments | None = None
        self.geometry = block.geometry
        self.runs = len(block.repeats) * block.tests

    @property
    def n(self) -> np.ndarray:
        return self._of_runs(self._block.counts)

    @property
    def moments(self) -> Moments:
        if self._moments is None:
            self._moments = Moments(self._of_runs(self._block.grams), self.geometry)
        return self._moments

    @property
    def half_range(self) -> np.ndarray:
        return np.array([self._block.half_range(repeat) for repeat, _ in self._block.runs])

    def sums(self, query: Query) -> np.ndarray:
        if query.state is None:
            return self._of_runs(self._block.sums(query))
        return np.stack([_summed(query, self.rows(run), run) for run in range(self.runs)])

    def rows(self, run: int) -> Rows:
        repeat, kept = self._kept(run)
        return self._block.rows_of(repeat).take(kept)

    def cells(self, grid: Grid, run: int) -> np.ndarray:
        repeat, kept = self._kept(run)
        return np.asarray(self._block.cells(grid, repeat)[kept])

    def _kept(self, run: int) -> tuple[int, np.ndarray]:
        """A run's repeat, and its rows' positions."""
        repeat, fold = self._block.runs[run]
        labels = self._block.labels(repeat)
        return repeat, np.flatnonzero((labels != fold) & (labels >= 0) if self._training else labels == fold)

    def _of_runs(self, parts: np.ndarray) -> np.ndarray:
        """From (repeats, parts, …) to (runs, …): the tested part, or the total less it."""
        tested = parts[:, : self._block.tests]
        chosen = parts.sum(axis=1, keepdims=True) - tested if self._training else tested
        return np.ascontiguousarray(chosen.reshape(-1, *parts.shape[2:]))


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

    def sums(self, query: Query) -> np.ndarray:
        if query.state is None:
            return self._sample.sums(query)[self._run]
        return _summed(query, self.rows(0), 0)[None]  # the state is this run's alone

    def rows(self, run: int) -> Rows:
        return self._sample.rows(self._run.start)

    def cells(self, grid: Grid, run: int) -> np.ndarray:
        return self._sample.cells(grid, self._run.start)


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

    def sums(self, query: Query) -> np.ndarray:
        return np.stack([_summed(query, self.rows(run), run) for run in range(self.runs)])

    def rows(self, run: int) -> Rows:
        return Rows(np.take(self._sample.rows(run).z, self._kept, axis=1), self.geometry)


def gram(z: np.ndarray) -> np.ndarray:
    return np.asarray(z.T @ z)


def _summed(query: Query, rows: Rows, run: int) -> np.ndarray:
    total = np.zeros(query.size)
    for start in range(0, rows.n, CHUNK):
        chunk = Rows(rows.z[start : start + CHUNK], rows.geometry)
        total += query.contribution(chunk, run).sum(axis=0)
    return total
