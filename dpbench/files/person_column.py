"""The column that names the person of each row, and the limit on the rows that count for one person."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dpbench.base.errors import Refused
from dpbench.data.persons import Persons, first_rows, number_persons


@dataclass(frozen=True)
class CountedRows:
    """The rows of a file that count, because they are among the first ``rows_each`` of their person; and whose they are."""

    index: np.ndarray = field(repr=False)
    """Their positions in the file."""
    persons: Persons
    beyond_limit: int
    """The number of the other rows."""

    @classmethod
    def of(cls, label: str, column: str, names: np.ndarray, rows_each: int) -> "CountedRows":
        """Return the rows that count, by the texts of the column in the file's order; no row may lack its person."""
        missing = np.array([name is None for name in names])
        if missing.any():
            raise Refused(
                f"The column {column!r} of {label} must name each row's person. Row {int(missing.argmax()) + 1} is empty."
            )
        of_row = number_persons(names.astype(str))
        index = np.flatnonzero(first_rows(of_row, rows_each))
        return cls(index, Persons(of_row[index], int(of_row.max()) + 1, rows_each), len(names) - len(index))

    def take(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return these rows of columns."""
        return {name: array[self.index] for name, array in values.items()}
