"""A query: a sum over rows that a mechanism asks the Curator for, without access to the rows."""

from abc import ABC, abstractmethod

import numpy as np

from dpbench.data.samples import Sample
from dpbench.data.scaling import Rows


class Query(ABC):
    """A sum over rows of a vector-valued contribution.

    ``name`` names the noise stream: two mechanisms that use the same name get the same standard noise. A query without
    ``state`` is additive and summed once for all folds, mechanisms and ε, so it must be hashable by its content (a frozen
    dataclass). A query with a state per run (``state[run]``) is summed over each run's own rows.
    """

    name: str
    state: np.ndarray | None = None

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of coefficients of an answer."""

    @property
    def identity(self) -> str:
        """A text that identifies the query beyond its name: an audit compares it between neighbours."""
        return f"{type(self).__name__} of {self.size}"

    @abstractmethod
    def contribution(self, rows: Rows, run: int) -> np.ndarray:
        """Return what each row adds: (rows, size)."""

    def exact(self, sample: Sample) -> np.ndarray:
        """Return the exact answer for each run: (runs, size). Override it if moments give it faster."""
        return sample.sums(self)
