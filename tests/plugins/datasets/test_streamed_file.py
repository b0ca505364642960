"""A file that is streamed: what it declares, how its rows are read, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.table import Table
from dpbench.data.table_stream import TableStream

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
ROWS = 5_000
BOUNDS: dict[str, Any] = {"age": {"low": 0, "high": 90, "kind": "integer"}, "job": {"levels": ["a", "b", "c"]}, "pay": [0, 100]}
Loaded = Callable[..., tuple[Table, TableStream]]


@pytest.fixture
def frame() -> Any:
    generator = np.random.default_rng(0)
    jobs = np.array(["a", "b", "c"])[generator.integers(3, size=ROWS)]
    columns = {"age": generator.integers(-5, 99, ROWS), "job": jobs, "unused": jobs, "pay": generator.uniform(0, 120, ROWS)}
    return pandas.DataFrame(columns)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any, str], str]:
    """Writes a table and returns its path."""

    def written(frame: Any, suffix: str) -> str:
        path = tmp_path / f"people{suffix}"
        frame.to_csv(path, index=False) if "csv" in suffix else frame.to_parquet(path, row_group_size=700)
        return str(path)

    return written


@pytest.fixture
def options() -> dict[str, Any]:
    return {"target": "pay", "bounds": {**BOUNDS, "unused": "ignore"}, "sensitive": ("job",), "threshold": 50}


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".csv.gz"])
@pytest.mark.parametrize(("first", "last"), [(0, ROWS), (0, 10**9), (1_234, 3_456), (4_999, ROWS)])
def test_chunks_are_the_rows_of_the_loaded_table(suffix: str, first: int, last: int, frame, write, options, make) -> None:
    path = write(frame, suffix)
    loaded = make("dataset", "table", path=path, **options).select(np.random.default_rng(0))
    stream = make("dataset", "table", path=path, stream=True, **options).stream_table()
    assert stream.rows == ROWS
    for name in ("columns", "target", "sensitive", "threshold", "leaks", "formats"):
        assert getattr(stream.head, name) == getattr(loaded, name)
    chunks = list(stream.chunks(first, last, 300))
    assert max(chunk.rows for chunk in chunks) <= 300
    columns = [np.concatenate(parts) for parts in zip(*(chunk.features for chunk in chunks), strict=True)]
    np.testing.assert_array_equal(np.column_stack(columns), loaded.features[first:last])
    np.testing.assert_array_equal(np.concatenate([chunk.response for chunk in chunks]), loaded.response[first:last])
    assert min(chunk.low[0] for chunk in chunks) == loaded.features[first:last, 0].min()


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("missing", "drop", "n would depend on the rows that are left out"),
        ("sample_n", 100, "a sample is drawn from loaded rows"),
        ("sample_rate", 0.5, "a sample is drawn from loaded rows"),
        ("resample", True, "rows are drawn from loaded ones"),
        ("bounds", "data", "bounds must be known before the rows are read"),
    ],
)
def test_what_needs_all_rows_is_refused(option: str, value: Any, why: str, frame, write, options, make) -> None:
    with pytest.raises(Refused, match=rf"^A streamed table cannot have dataset\.{option}={value}: {why}\.$"):
        make("dataset", "table", path=write(frame, ".parquet"), stream=True, **{**options, option: value}).stream_table()


def test_persons_are_refused(frame, write, options, make) -> None:
    with pytest.raises(Refused, match=r"^A streamed table cannot have dataset\.person=unused: whose rows belong together"):
        make(
            "dataset", "table", path=write(frame, ".parquet"), stream=True, person="unused", rows_per_person=2, **options
        ).stream_table()


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_missing_value_is_refused_with_its_row(suffix: str, frame, write, options, make) -> None:
    frame["pay"] = frame["pay"].where(frame.index != 3_210)
    stream = make("dataset", "table", path=write(frame, suffix), stream=True, **options).stream_table()
    with pytest.raises(Refused, match=r"has missing values, one of them in column 'pay', row 3211\. `missing: VALUE`"):
        list(stream.chunks(3_000, ROWS, 100))


def test_a_constant_column_is_refused_by_its_range(frame, write, options, make) -> None:
    stream = make("dataset", "table", path=write(frame, ".csv"), stream=True, **options).stream_table()
    low, high = np.array([0.0, 0, 0]), np.array([9.0, 2, 50])
    stream.check_ranges(low, high)
    for column, ends in ((0, (-7.0, -3.0)), (1, (2.0, 2.0)), (2, (150.0, 200.0))):
        ranges = low.copy(), high.copy()
        ranges[0][column], ranges[1][column] = ends
        with pytest.raises(Refused, match="has the same value in every row after clipping to its bounds"):
            stream.check_ranges(*ranges)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_table_is_streamed_by_default_if_it_does_not_fit_into_memory(suffix: str, frame, write, options, make) -> None:
    dataset = make("dataset", "table", path=write(frame, suffix), **options)
    assert not dataset.for_memory(10**9).streams()
    assert dataset.for_memory(10**4).streams()
    assert dataset.for_memory(10**4).options() == {**dataset.options(), "stream": True}
    loaded = make("dataset", "table", path=write(frame, suffix), stream=False, **options)
    assert not loaded.for_memory(10**4).streams()
    assert loaded.options() == dataset.options(), "it is the same cell"
    nowhere = make("dataset", "table", path="nowhere.csv", **options)
    assert nowhere.for_memory(10**4) == nowhere, "loading it says what is wrong"
