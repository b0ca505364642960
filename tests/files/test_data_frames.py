"""DataFrames are stored under a hash of their content, for this user only, until they are removed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pandas
import pyarrow
import pytest
from pyarrow import parquet

from dpbench.base.errors import Refused
from dpbench.files.data_frames import FOLDER_VARIABLE, is_frame, path_of, remove_frames, store_frame

FRAME = pandas.DataFrame({"age": [1, 2, 3], "sex": ["f", "m", "f"]})


@pytest.fixture(autouse=True)
def _removed() -> Iterator[None]:
    remove_frames()
    yield
    remove_frames()


def test_the_same_content_has_the_same_name_wherever_it_comes_from() -> None:
    name = store_frame(FRAME)
    assert name.startswith("frame:")
    assert store_frame(FRAME.copy()) == name
    assert store_frame(FRAME.set_index(pandas.Index([7, 8, 9]))) == name, "an index is no column"
    assert store_frame(pyarrow.Table.from_pandas(FRAME, preserve_index=False)) == name
    assert store_frame(FRAME.assign(age=[1, 2, 4])) != name


def test_the_file_holds_the_rows_and_only_its_owner_can_open_the_folder() -> None:
    file = Path(path_of(store_frame(FRAME)))
    pandas.testing.assert_frame_equal(parquet.read_table(file).to_pandas(), FRAME)
    assert file.parent.stat().st_mode & 0o077 == 0


def test_nothing_is_left_after_removal() -> None:
    name = store_frame(FRAME)
    folder = Path(path_of(name)).parent
    remove_frames()
    assert not folder.exists()
    assert FOLDER_VARIABLE not in os.environ
    with pytest.raises(Refused, match="was passed to another program"):
        path_of(name)


def test_other_paths_stay_as_they_are() -> None:
    assert path_of("people.csv") == "people.csv"


def test_columns_of_mixed_cells_become_texts_and_lists_can_only_be_ignored() -> None:
    frame = pandas.DataFrame({"age": [1, "Zq7Secret"], "rows": [[1], {}], "sex": ["f", "m"]}, dtype=object)
    stored = parquet.read_table(path_of(store_frame(frame)))
    assert stored["age"].to_pylist() == ["1", "Zq7Secret"]
    assert pyarrow.types.is_list(stored["rows"].type)
    assert stored["sex"].to_pylist() == ["f", "m"]


def test_only_tables_in_memory_are_frames() -> None:
    assert is_frame(FRAME)
    assert is_frame(pyarrow.table({"a": [1]}))
    assert not any(map(is_frame, ("people.csv", 3, [1, 2], {"a": [1]}, None)))
