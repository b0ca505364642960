"""DataFrames passed from Python: ``dataset.path`` becomes ``frame:<digest>``, which worker processes on this machine can read.

The rows lie in a Parquet file, in a folder that only the user can open and that is removed when the sweep ends. The name
is a keyed digest of the content: the same rows give the same cells in another program of the user, and nobody who reads the
recorded command can confirm a guess about a row.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from dpbench.base.errors import Refused
from dpbench.files.dialects import Dialect
from dpbench.files.digest_key import keyed_digest
from dpbench.files.python_cells import arrow_column
from dpbench.files.table_files import File, open_table

PREFIX = "frame:"
LABEL = "DataFrame"
"""What messages call a table that was passed from Python: its file has a digest as its name."""
FOLDER_VARIABLE = "DPBENCH_FRAMES"
"""The environment variable that tells worker processes where the files lie."""


def is_frame(value: Any) -> bool:
    """Return whether a value is a table in memory (pandas, Polars or Arrow), judged by its methods."""
    kind = type(value)  # asking a lazy table itself for its columns would compute them
    return hasattr(kind, "columns") and any(
        hasattr(kind, name) for name in ("to_parquet", "write_parquet", "to_pylist", "collect")
    )


def store_frame(frame: Any) -> str:
    """Store a table for this program and its workers, and return the ``dataset.path`` that stands for it."""
    import pyarrow
    from pyarrow import parquet

    table = _arrow_table(frame)
    table = table.replace_schema_metadata(None).combine_chunks()  # equal tables give equal bytes in Arrow's own format
    content = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(content, table.schema) as writer:
        writer.write_table(table)
    name = keyed_digest("frame", content.getvalue())
    if FOLDER_VARIABLE not in os.environ:
        os.environ[FOLDER_VARIABLE] = tempfile.mkdtemp(prefix="dpbench-")  # readable by its owner only
        atexit.register(remove_frames)
    path = Path(os.environ[FOLDER_VARIABLE], f"{name}.parquet")
    if not path.exists():
        parquet.write_table(table, path)
    return PREFIX + name


def _arrow_table(frame: Any) -> Any:
    """Return an Arrow table. Columns of mixed values become texts, and those of lists and the like can only be ignored."""
    import pyarrow

    try:
        frame = frame.collect() if hasattr(type(frame), "collect") else frame  # a lazy table of Polars
        table = frame if isinstance(frame, pyarrow.Table) else frame.to_arrow() if hasattr(frame, "to_arrow") else None
        if table is None:
            names = [str(name) for name in frame.columns]
            columns = [frame.iloc[:, position] for position in range(len(names))]
            table = pyarrow.table([_arrow_series(column) for column in columns], names=names)
    except Exception as error:  # noqa: BLE001  it may be any library's error, whose message may quote a cell
        raise Refused(
            f"The table must have columns of numbers, texts or dates. Converting it ended in {type(error).__name__}."
        ) from None
    if not len(table.column_names):
        raise Refused("The table must have columns. Got a table without any.")
    return table


def _arrow_series(series: Any) -> Any:
    import pyarrow

    return arrow_column(series) if series.dtype == object else pyarrow.Array.from_pandas(series)


def path_of(path: str) -> str:
    """Return the file behind a ``dataset.path`` that may stand for a stored table."""
    if not path.startswith(PREFIX):
        return path
    file = Path(os.environ.get(FOLDER_VARIABLE, os.devnull), f"{path.removeprefix(PREFIX)}.parquet")
    if not file.is_file():
        raise Refused(f"The table {path!r} was passed to another program: pass it again, as dataset.path of dpbench.sweep.")
    return str(file)


def open_user_table(path: str, dialect: Dialect) -> File:
    """Open the table behind a ``dataset.path``: a file, or a stored table."""
    return open_table(path_of(path), dialect, label=LABEL if path.startswith(PREFIX) else "")


def remove_frames() -> None:
    """Remove all stored tables."""
    if folder := os.environ.pop(FOLDER_VARIABLE, None):
        shutil.rmtree(folder, ignore_errors=True)
