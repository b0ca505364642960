"""Standard draws: noise of scale 1 by name, so that cells that ask the same query of the same run get the same noise."""

from collections.abc import Sequence

import numpy as np

from dpbench.base.random_streams import stream
from dpbench.privacy.noise import Law

MAX_CACHED_NUMBERS = 4_000_000
"""The standard draws that are cached for the next mechanism or ε, in numbers."""


class Draws:
    """Standard draws keyed by (seed, data, repeat, fold, query, call), shared by all cells of a work unit."""

    def __init__(self, seed: int, identity: str, runs: Sequence[tuple[int, int]]) -> None:
        self.seed = seed
        self.identity = identity
        self.runs = tuple(runs)
        self._cache: dict[tuple[str, int, str, int], np.ndarray] = {}
        self._cached_numbers = 0

    def generator(self, run: int, query: str, call: int, *block: int) -> np.random.Generator:
        """Return the stream of one run for one call, or for one block of a histogram's bins."""
        repeat, fold = self.runs[run]
        return stream(self.seed, self.identity, "noise", repeat, fold, query, call, *block)

    def standard(self, law: Law, query: str, call: int, size: int) -> np.ndarray:
        """Return (runs, size) standard draws of a law."""
        key = (query, call, law.name, size)
        if key in self._cache:
            return self._cache[key]
        drawn = np.stack([law.standard(self.generator(run, query, call), size) for run in range(len(self.runs))])
        if self._cached_numbers + drawn.size <= MAX_CACHED_NUMBERS:
            self._cache[key] = drawn
            self._cached_numbers += drawn.size
        return drawn

    def for_run(self, run: int) -> "Draws":
        """Return the same streams for a single run."""
        return Draws(self.seed, self.identity, self.runs[run : run + 1])
