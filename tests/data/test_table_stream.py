"""A chunk of a streamed table knows how many rows it has, and a stream must say how it reads and checks them."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.table_stream import TableChunk, TableStream


def test_a_chunk_has_as_many_rows_as_targets() -> None:
    chunk = TableChunk([np.zeros(3), np.ones(3)], np.zeros(3), np.zeros(2), np.ones(2))
    assert chunk.rows == 3


@pytest.mark.parametrize("method", ["chunks", "check_ranges"])
def test_a_stream_without_a_method_cannot_be_made(method: str) -> None:
    methods = {name: lambda self: None for name in ("chunks", "check_ranges") if name != method}
    with pytest.raises(TypeError, match=method):
        type("Half", (TableStream,), methods)()
