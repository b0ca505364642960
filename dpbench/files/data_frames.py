"""Tables handed in from Python: ``dataset.path`` becomes ``frame:<hash>``, which worker processes on this machine can read.

The rows lie in a Parquet file in a folder that only the user can open and that is removed when the sweep ends. The name
is a hash of the content, so that the same rows are the same cells in the next program.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from dpbench.base.errors import Refused

PREFIX = "frame:"
FOLDER = "DPBENCH_FRAMES"
"""The environment variable that tells workers where the rows lie."""


def discard() -> None:
    """Remove what was handed in."""
    if FOLDER in os.environ:
        _remove(os.environ[FOLDER])


def is_frame(value: Any) -> bool:
    """Whether a value is a table in memory: pandas, Polars or Arrow, by what it can do."""
    return hasattr(value, "columns") and any(hasattr(value, name) for name in ("to_parquet", "write_parquet", "to_pylist"))


def hand_in(frame: Any) -> str:
    """Keep a table for this program and its workers; the answer stands for it in ``dataset.path``."""
    import pyarrow
    from pyarrow import parquet

    try:
        if isinstance(frame, pyarrow.Table):
            table = frame
        elif hasattr(frame, "to_arrow"):
            table = frame.to_arrow()
        else:
            table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    except (pyarrow.ArrowException, TypeError, ValueError):  # what they say quotes a value
        raise Refused("The table must have columns of numbers or texts only, each of one type. Got something else.") from None
    table = table.replace_schema_metadata(None)
    name = hashlib.sha256(_bytes(table)).hexdigest()[:32]
    path = _folder() / f"{name}.parquet"
    if not path.exists():
        parquet.write_table(table, path)
    return PREFIX + name


def resolved(path: str) -> str:
    """The file behind a path that may be a table handed in."""
    if not path.startswith(PREFIX):
        return path
    place = Path(os.environ.get(FOLDER, os.devnull), f"{path.removeprefix(PREFIX)}.parquet")
    if not place.is_file():
        raise Refused(f"The table {path!r} was handed in by another program: hand it in again, as dataset.path of dpbench.sweep.")
    return str(place)


def _folder() -> Path:
    """The folder of this program, made when first needed."""
    if FOLDER not in os.environ:
        folder = tempfile.mkdtemp(prefix="dpbench-")  # readable by its owner only
        os.environ[FOLDER] = folder
        atexit.register(_remove, folder)
    return Path(os.environ[FOLDER])


def _remove(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.environ.pop(FOLDER, None)


def _bytes(table: Any) -> bytes:
    """The table's content in Arrow's own format, chunks joined: equal tables have equal bytes."""
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())
