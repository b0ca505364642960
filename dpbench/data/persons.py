"""Persons: which rows of a table belong to the same person, and how many of them count."""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from dpbench.base.errors import Refused


@dataclass(frozen=True)
class Persons:
    """Which person each row of a table belongs to, where a person may have several rows.

    Privacy is then promised to persons: their number is public, and the number of rows is not. Each person counts as exactly
    ``rows_each`` rows; the rows that a person lacks contribute nothing to any sum.
    """

    of_row: np.ndarray = field(repr=False)
    """The number of each row's person, from 0 to ``count`` - 1. A person may be left without a row."""
    count: int
    rows_each: int
    """The most rows that a person has."""

    def __post_init__(self) -> None:
        numbers = self.of_row
        if self.count < 2:
            raise Refused(f"A table needs at least 2 persons. Got {self.count}.")
        if self.rows_each < 1 or (numbers.size and not (numbers.min() >= 0 and numbers.max() < self.count)):
            raise ValueError("Persons are numbered from 0, and each has at least one row at most.")
        if numbers.size and np.bincount(numbers).max() > self.rows_each:
            raise ValueError(f"A person has more than {self.rows_each} rows.")

    @property
    def n(self) -> int:
        """The number of rows that all persons count as: public."""
        return self.count * self.rows_each

    def take(self, index: np.ndarray) -> Self:
        """Return the persons of these rows; those without a row still count."""
        return replace(self, of_row=self.of_row[index])


def number_persons(names: np.ndarray) -> np.ndarray:
    """Number the persons in the order of their first rows, and return each row's number."""
    _, first, inverse = np.unique(names, return_index=True, return_inverse=True)
    position = np.empty(len(first), dtype=np.int64)
    position[np.argsort(first)] = np.arange(len(first))
    return np.asarray(position[inverse])


def first_rows(of_row: np.ndarray, limit: int) -> np.ndarray:
    """Return which rows are among the first ``limit`` rows of their person, in the order of the rows."""
    order = np.argsort(of_row, kind="stable")
    ordered = of_row[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    earlier = np.empty(len(of_row), dtype=np.int64)
    earlier[order] = np.arange(len(of_row)) - np.repeat(starts, np.diff(np.r_[starts, len(of_row)]))
    return np.asarray(earlier < limit)
