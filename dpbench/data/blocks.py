"""Blocks of repeats: one pass over the rows of a repeat gives every fold's sums, and training is the total minus the fold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from dpbench.data.bins import Binning
from dpbench.data.moments import Moments, gram
from dpbench.data.samples import Sample, Summand, summed
from dpbench.data.scaling import Rows


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
        self._cache: dict[Summand, np.ndarray] = {}
        self._bins: tuple[Binning, Rows, np.ndarray] | None = None
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

    def sums(self, query: Summand) -> np.ndarray:
        """(repeats, parts, size) of a query without state, computed once."""
        if query not in self._cache:
            self._cache[query] = np.stack(
                [
                    np.stack(
                        [summed(query, rows.take(np.flatnonzero(self.labels(repeat) == part)), 0) for part in range(self.parts)]
                    )
                    for repeat in self.repeats
                    for rows in [self.rows_of(repeat)]
                ]
            )
        return self._cache[query]

    def bins(self, binning: Binning, repeat: int) -> np.ndarray:
        """Return the bin of every row of a repeat; the bins of the last table are cached."""
        rows = self.rows_of(repeat)
        if self._bins is None or self._bins[0] != binning or self._bins[1] is not rows:
            self._bins = binning, rows, binning.locate(rows)
        return self._bins[2]

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

    def sums(self, query: Summand) -> np.ndarray:
        if query.state is None:
            return self._of_runs(self._block.sums(query))
        return np.stack([summed(query, self.rows(run), run) for run in range(self.runs)])

    def rows(self, run: int) -> Rows:
        repeat, kept = self._kept(run)
        return self._block.rows_of(repeat).take(kept)

    def bins(self, binning: Binning, run: int) -> np.ndarray:
        repeat, kept = self._kept(run)
        return np.asarray(self._block.bins(binning, repeat)[kept])

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
