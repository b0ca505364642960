"""A table that is read in chunks, again for every pass, because its rows do not fit into memory."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dpbench.data.table import Table


@dataclass(frozen=True)
class TableChunk:
    """Consecutive rows of a table, as the columns of its design, and the ranges of what was read."""

    features: Sequence[np.ndarray]
    response: np.ndarray
    low: np.ndarray
    """The smallest value of each column of the source."""
    high: np.ndarray
    """The largest one."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.response)


class TableStream(ABC):
    """A table whose rows come chunk by chunk, in an order that never changes."""

    head: Table
    """A table of two rows that are made up, with the declarations of the whole table."""
    rows: int
    """The number of rows: public."""
    starts: Sequence[int]
    """The numbers of the rows at which a pass can begin without reading the rows before."""

    @abstractmethod
    def chunks(self, first: int, last: int, size: int) -> Iterator[TableChunk]:
        """Yield rows ``first`` to ``last`` (not included) or to the end, at most ``size`` at a time."""

    @abstractmethod
    def check_ranges(self, low: np.ndarray, high: np.ndarray) -> None:
        """Refuse a column of the source whose rows all have the same value; these are the ends of the columns' ranges."""
