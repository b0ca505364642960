"""Predict the rows of a file with a released model, chunk by chunk, and write the predictions to another file."""

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.whole_file import give_name
from dpbench.files.python_cells import column_chunk
from dpbench.files.table_files import File
from dpbench.releases.release_file import Release


def predict_file(released: Release, rows: File, path: Path, interval: float | None = None, overwrite: bool = False) -> int:
    """Write one prediction for each row, in the order of the rows, completely or not at all; return the number of rows.

    The column is called ``predicted_`` and the target's name; with an interval, its ends follow. The suffix .parquet or .pq
    chooses Parquet, any other CSV.
    """
    import pyarrow
    from pyarrow import csv, parquet

    schema = pyarrow.schema([(name, pyarrow.float64()) for name in prediction_names(released, interval)])
    writer = parquet.ParquetWriter if path.suffix.lower() in (".parquet", ".pq") else csv.CSVWriter
    count = 0
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            with writer(file, schema) as table:
                for predicted in _predictions(released, rows, interval):
                    columns = [pyarrow.array(column) for column in predicted.reshape(len(predicted), -1).T]
                    table.write_table(pyarrow.Table.from_arrays(columns, schema=schema))
                    count += len(predicted)
            give_name(file.name, path, overwrite)
        finally:
            Path(file.name).unlink(missing_ok=True)
    return count


def prediction_names(released: Release, interval: float | None = None) -> list[str]:
    """Return the names of the columns of predictions."""
    name = f"predicted_{released.target.name}"
    return [name] if interval is None else [name, f"{name}_low", f"{name}_high"]


def _predictions(released: Release, rows: File, interval: float | None) -> Iterator[np.ndarray]:
    wanted = {name for column in released.columns for name in (column.name, column.attribute)}
    names = [name for name in rows.names if name in wanted]
    if not names:
        released.predict({}, interval=interval)  # refuses, naming the columns
        raise Refused(f"{rows.label} has none of the columns of the release.")
    for chunks in rows.chunks(names):
        yield predict_new_rows(released, chunks, interval)


def predict_new_rows(released: Release, data: Mapping[str, Any], interval: float | None = None) -> np.ndarray:
    """Predict rows that are the user's own new ones, so that an error may name an unknown level."""
    cells = {str(name): replace(column_chunk(data[name], str(name)), names_levels=True) for name in data}
    return released.predict(cells, interval=interval)
