"""Draws: standard noise by name, so that cells that ask the same query of the same run meet the same noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpbench.base.random_streams import stream
from dpbench.privacy.noise import Law

KEPT = 4_000_000
"""Standard draws kept for the next mechanism or ε, in numbers."""


class Draws:
    """Standard draws keyed by (seed, data, repeat, fold, query, call), shared by all cells of a work unit."""

    def __init__(self, seed: int, identity: str, runs: Sequence[tuple[int, int]]) -> None:
        self.seed = seed
        self.identity = identity
        self.runs = tuple(runs)
        self._kept: dict[tuple[str, int, str, int], np.ndarray] = {}
        self._size = 0

    def generator(self, run: int, query: str, call: int, *block: int) -> np.random.Generator:
        """One run's stream for one call, or for one block of its cells."""
        repeat, fold = self.runs[run]
        return stream(self.seed, self.identity, "noise", repeat, fold, query, call, *block)

    def standard(self, law: Law, query: str, call: int, size: int) -> np.ndarray:
        """(runs, size) standard draws of a law."""
        key = (query, call, law.name, size)
        if key in self._kept:
            return self._kept[key]
        drawn = np.stack([law.standard(self.generator(run, query, call), size) for run in range(len(self.runs))])
        if self._size + drawn.size <= KEPT:
            self._kept[key] = drawn
            self._size += drawn.size
        return drawn

    def one(self, run: int) -> Draws:
        """The same streams, for a single run."""
        return Draws(self.seed, self.identity, self.runs[run : run + 1])
