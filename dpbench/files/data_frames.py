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

from dpbench.base.errors import Refused, refuse_on
from dpbench.files.digest_key import keyed_digest

PREFIX = "frame:"
FOLDER_VARIABLE = "DPBENCH_FRAMES"
"""The environment variable that tells worker processes where the files lie."""


def is_frame(value: Any) -> bool:
    """Return whether a value is a table in memory (pandas, Polars or Arrow), judged by its methods."""
    return hasattr(value, "columns") and any(hasattr(value, name) for name in ("to_parquet", "write_parquet", "to_pylist"))


def store_frame(frame: Any) -> str:
    """Store a table for this program and its workers, and return the ``dataset.path`` that stands for it."""
    import pyarrow
    from pyarrow import parquet

    sentence = "The table must have columns of numbers or texts only, each of one type. Got something else."
    with refuse_on((pyarrow.ArrowException, TypeError, ValueError), sentence):
        if isinstance(frame, pyarrow.Table):
            table = frame
        elif hasattr(frame, "to_arrow"):
            table = frame.to_arrow()
        else:
            table = pyarrow.Table.from_pandas(frame, preserve_index=False)
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


def path_of(path: str) -> str:
    """Return the file behind a ``dataset.path`` that may stand for a stored table."""
    if not path.startswith(PREFIX):
        return path
    file = Path(os.environ.get(FOLDER_VARIABLE, os.devnull), f"{path.removeprefix(PREFIX)}.parquet")
    if not file.is_file():
        raise Refused(f"The table {path!r} was passed to another program: pass it again, as dataset.path of dpbench.sweep.")
    return str(file)


def remove_frames() -> None:
    """Remove all stored tables."""
    if folder := os.environ.pop(FOLDER_VARIABLE, None):
        shutil.rmtree(folder, ignore_errors=True)
