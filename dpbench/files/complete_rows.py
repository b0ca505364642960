"""Rows without missing values, chunk by chunk: all of them, or a sample whose size is public."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from dpbench.base.errors import Refused
from dpbench.records.leaks import ROWS_DROPPED, Leak


class CompleteRows:
    """Leaves out rows with a missing value and counts why.

    All complete rows are as many as the data has, so n would tell about the data: that is a leak. A sample of a declared size
    is none. Each row of the file, complete or not, draws a priority of its own and the complete rows with the smallest ones
    are taken, so that changing one row changes at most one row of the sample.
    """

    def __init__(self, asked: int | None, generator: np.random.Generator) -> None:
        self.asked = asked
        self.rows = 0
        self.dropped = 0
        self.reasons: Counter[str] = Counter()
        """Rows by what they lack; a row that lacks two values counts twice."""
        self._generator = generator
        self._parts: list[np.ndarray] = []
        self._priorities: list[np.ndarray] = []

    def add(self, values: np.ndarray, missing: Mapping[str, np.ndarray]) -> None:
        """A chunk of rows, and which of them lack what."""
        count = len(values)
        lacking = np.zeros(count, dtype=bool)
        for reason, rows in missing.items():
            lacking |= rows
            self.reasons[reason] += int(rows.sum())
        self.rows += count
        self.dropped += int(lacking.sum())
        self._parts.append(values[~lacking])
        if self.asked is not None:
            self._priorities.append(self._generator.random(count)[~lacking])
            if sum(map(len, self._priorities)) > 2 * self.asked:
                self._prune(self.asked)

    def values(self, owner: str) -> np.ndarray:
        """The rows, in their order."""
        if self.asked is not None:
            if self.rows - self.dropped < self.asked:
                raise Refused(
                    f"dataset.sample_n={self.asked} asks for more rows than {owner} has without a missing value: "
                    f"{self.rows - self.dropped}."
                )
            self._prune(self.asked)
        if self.rows == self.dropped:
            raise Refused(f"Not one of the {self.rows} rows of {owner} is complete. Missing are {self._counted()}.")
        return np.concatenate(self._parts)

    @property
    def leaks(self) -> tuple[Leak, ...]:
        """That n depends on the data, where it does."""
        if not self.dropped or self.asked is not None:
            return ()
        why = f"{self.dropped} of {self.rows} rows were left out for a missing value ({self._counted()})"
        return (Leak(ROWS_DROPPED.what, f"{why}, so n depends on the private rows; dataset.sample_n fixes it"),)

    def _counted(self) -> str:
        return ", ".join(f"{name} {count}" for name, count in self.reasons.items() if count)

    def _prune(self, asked: int) -> None:
        values, priorities = np.concatenate(self._parts), np.concatenate(self._priorities)
        kept = np.sort(np.argsort(priorities, kind="stable")[:asked])
        self._parts, self._priorities = [values[kept]], [priorities[kept]]
