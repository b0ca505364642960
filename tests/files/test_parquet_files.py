"""Row groups of Parquet files: where reading can begin, and that none is in memory as a whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from dpbench.files import parquet_files
from dpbench.files.table_files import open_table


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """1,000 rows in row groups of 300."""
    numbers = np.arange(1_000)
    parquet.write_table(pyarrow.table({"x": numbers, "y": -numbers}), tmp_path / "rows.parquet", row_group_size=300)
    return tmp_path / "rows.parquet"


def test_reading_begins_at_the_row_group_that_holds_the_first_row(path: Path) -> None:
    file = open_table(str(path))
    assert file.starts() == [0, 300, 600, 900]
    for first, start in ((0, 0), (299, 0), (300, 300), (301, 300), (999, 900)):
        where, batch = next(iter(file.batches_from(["x"], first)))
        assert where == start
        assert batch.column("x")[0].as_py() == start
    assert list(file.batches_from(["x"], 1_000)) == []


def test_a_batch_of_many_columns_has_few_rows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "MAX_BATCH_VALUES", 64)
    sizes = [batch.num_rows for _, batch in open_table(str(path)).batches_from(["x", "y"], 0)]
    assert max(sizes) == 32
    assert sum(sizes) == 1_000


def test_texts_have_nowhere_else_to_begin_than_the_first_row(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("x\n1\n2\n")
    assert open_table(str(tmp_path / "rows.csv")).starts() == [0]
