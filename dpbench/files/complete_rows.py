"""Rows without missing values, collected chunk by chunk: all of them, or a sample whose size is public."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from dpbench.base.errors import Refused
from dpbench.records.leaks import ROWS_DROPPED, Leak


class CompleteRows:
    """Collects rows, leaves out those with a missing value, and counts why.

    The number of complete rows depends on the data, so using them all leaks n. A sample of a declared size does not leak:
    each row of the file, complete or not, draws its own priority, and the complete rows with the smallest priorities are
    taken, so that changing one row changes at most one row of the sample. ``public_n`` says that n is public for another reason.
    """

    def __init__(self, sample_n: int | None, generator: np.random.Generator, public_n: bool = False) -> None:
        self.sample_n = sample_n
        self.public_n = public_n or sample_n is not None
        self.rows = 0
        self.dropped = 0
        self.reasons: Counter[str] = Counter()
        """The number of rows that lack each value; a row that lacks two values counts twice."""
        self._generator = generator
        self._values: list[np.ndarray] = []
        self._priorities: list[np.ndarray] = []

    def add(self, values: np.ndarray, missing: Mapping[str, np.ndarray]) -> None:
        """Add a chunk of rows; ``missing`` says for each reason which of them lack a value."""
        incomplete = np.zeros(len(values), dtype=bool)
        for reason, rows in missing.items():
            incomplete |= rows
            self.reasons[reason] += int(rows.sum())
        self.rows += len(values)
        self.dropped += int(incomplete.sum())
        self._values.append(values[~incomplete])
        if self.sample_n is not None:
            self._priorities.append(self._generator.random(len(values))[~incomplete])
            if sum(map(len, self._priorities)) > 2 * self.sample_n:
                self._keep_smallest(self.sample_n)

    def values(self, owner: str) -> np.ndarray:
        """Return the complete rows, or the sample of them, in their order."""
        usable = self.rows - self.dropped
        if self.sample_n is not None and usable < self.sample_n:
            raise Refused(f"dataset.sample_n={self.sample_n} needs more rows than {owner} has without a missing value: {usable}.")
        if self.sample_n is not None:
            self._keep_smallest(self.sample_n)
        if not usable:
            raise Refused(f"None of the {self.rows} rows of {owner} is complete. Missing values: {self._spell_reasons()}.")
        return np.concatenate(self._values)

    @property
    def leaks(self) -> tuple[Leak, ...]:
        """The leak of n, if n depends on the data."""
        if not self.dropped or self.public_n:
            return ()
        why = f"{self.dropped} of {self.rows} rows were left out for a missing value ({self._spell_reasons()})"
        return (Leak(ROWS_DROPPED.what, f"{why}, so n depends on the private rows; dataset.sample_n fixes it"),)

    def _spell_reasons(self) -> str:
        return ", ".join(f"{name} {count}" for name, count in self.reasons.items() if count)

    def _keep_smallest(self, size: int) -> None:
        """Keep the rows with the smallest priorities only, which bounds the memory."""
        values, priorities = np.concatenate(self._values), np.concatenate(self._priorities)
        index = np.sort(np.argsort(priorities, kind="stable")[:size])
        self._values, self._priorities = [values[index]], [priorities[index]]
