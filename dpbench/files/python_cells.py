"""Columns of Python values, such as those of a pandas object column or an Excel sheet, as Arrow columns."""

from collections.abc import Iterable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np

from dpbench.base.errors import Refused
from dpbench.data.column_format import ColumnFormat
from dpbench.files.cells import spelling
from dpbench.files.values import ColumnChunk

CELL_TYPES = (str, bool, int, float, Decimal, date, datetime, time)


def arrow_column(values: Iterable[Any]) -> Any:
    """Return an Arrow array: typed if all values have one type, else of their spellings, as a CSV file would have them.

    A column that holds something else than single values, such as lists, becomes one that can only be ignored.
    """
    import pyarrow

    cells = list(values)
    try:
        return pyarrow.array(cells, from_pandas=True)
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError):
        pass
    if all(cell is None or isinstance(cell, CELL_TYPES) or hasattr(cell, "dtype") for cell in cells):
        return pyarrow.array([None if cell is None or cell != cell else spelling(cell) for cell in cells])
    return pyarrow.nulls(len(cells), pyarrow.list_(pyarrow.int8()))


def read_cells(cells: Any, name: str, column_format: ColumnFormat) -> np.ndarray:
    """Return what the cells of a column from Python mean, as if they stood in a file."""
    return column_chunk(cells, name).values(column_format)


def column_chunk(cells: Any, name: str) -> ColumnChunk:
    """Return a column from Python as if it stood in a file; a chunk of a file's column stays as it is."""
    import pyarrow

    if isinstance(cells, ColumnChunk):
        return cells
    if isinstance(cells, (pyarrow.Array, pyarrow.ChunkedArray)):
        array = cells.combine_chunks() if isinstance(cells, pyarrow.ChunkedArray) else cells
    elif hasattr(cells, "to_arrow"):
        array = cells.to_arrow()
    else:
        values = (
            cells if hasattr(cells, "dtype") and not isinstance(cells, np.generic) else np.atleast_1d(np.asarray(cells, object))
        )
        if getattr(values, "ndim", 1) != 1:
            raise Refused(f"The column {name!r} of the data must be a list of cells. Got an array of another shape.")
        array = arrow_column(values) if values.dtype == object else pyarrow.array(values, from_pandas=True)
    return ColumnChunk("the data", name, 0, array)
