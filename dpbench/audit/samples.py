"""The samples of an audit: a table for each run, or one table in every run; and a curator that does not draw for ever."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dpbench.base.errors import Refused
from dpbench.data.moments import Moments, gram
from dpbench.data.samples import Sample, Summand
from dpbench.data.scaling import Rows
from dpbench.privacy.curator import Curator
from dpbench.privacy.noise import Noise
from dpbench.privacy.query import Query

MAX_REDRAWS = 20_000
"""An audit ends after this many draws in a row that are not accepted."""


class Tables(Sample):
    """A small table for each run. All have the same geometry and the same number of rows."""

    def __init__(self, tables: Sequence[Rows]) -> None:
        self._tables = tuple(tables)
        self.runs = len(self._tables)
        self.geometry = self._tables[0].geometry
        self._moments = Moments(np.stack([gram(rows.z) for rows in self._tables]), self.geometry)

    @property
    def n(self) -> np.ndarray:
        return np.array([float(rows.n) for rows in self._tables])

    @property
    def moments(self) -> Moments:
        return self._moments

    def sums(self, query: Summand) -> np.ndarray:
        return np.stack([query.contribution(rows, run).sum(axis=0) for run, rows in enumerate(self._tables)])

    def rows(self, run: int) -> Rows:
        return self._tables[run]


class RepeatedSample(Tables):
    """The same rows in every run: runs differ by their noise alone."""

    def __init__(self, rows: Rows, runs: int) -> None:
        self._tables = (rows,) * runs
        self.runs = runs
        self.geometry = rows.geometry
        self._moments = Moments(np.broadcast_to(gram(rows.z), (runs, rows.z.shape[1], rows.z.shape[1])), rows.geometry)

    def sums(self, query: Summand) -> np.ndarray:
        if query.state is not None:
            return super().sums(query)
        # without a state per run, all runs have the same sums
        return np.repeat(query.contribution(self._tables[0], 0).sum(axis=0)[None], self.runs, axis=0)


class BoundedRetryCurator(Curator):
    """A curator that refuses to draw again forever, because no answer on a small table may ever be accepted."""

    def until(
        self, query: Query, noise: Noise, accept: Callable[[int, np.ndarray], bool], max_tries: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        tries = 0

        def counted(run: int, answer: np.ndarray) -> bool:
            nonlocal tries
            accepted = accept(run, answer)
            tries = 0 if accepted else tries + 1
            if tries > MAX_REDRAWS:
                raise Refused(
                    f"{query.name!r} was drawn {MAX_REDRAWS:,} times and never accepted on tables of {int(self.n[0])} rows. "
                    "Take more with audit.rows, a larger epsilon, or fewer columns."
                )
            return accepted

        return super().until(query, noise, counted, max_tries)
