"""Arrays and DataFrames of any library become one DataFrame whose columns have names."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

from dpbench.base.errors import Refused
from dpbench.releases.feature_frames import feature_frame, has_other_cells, refuse_texts


def test_the_columns_of_an_array_have_the_names_of_the_fit_or_numbers() -> None:
    assert list(feature_frame(np.zeros((2, 2)), None)) == ["x0", "x1"]
    assert list(feature_frame(np.zeros((2, 2)), ["age", "pay"])) == ["age", "pay"]


def test_a_frame_keeps_its_cells_and_loses_its_index() -> None:
    frame = feature_frame(pandas.DataFrame({0: [1, 2], "b": ["x", "y"]}, index=[7, 9]), None)
    assert list(frame) == ["0", "b"]
    assert frame.index.tolist() == [0, 1]


def test_a_frame_of_numbers_is_checked_as_an_array_unless_its_columns_are_declared() -> None:
    numbers, texts = pandas.DataFrame({"a": [1.0]}), pandas.DataFrame({"a": ["x"]})
    assert [has_other_cells(numbers, declared) for declared in (False, True)] == [False, True]
    assert has_other_cells(texts, False)
    assert not has_other_cells(np.zeros((1, 1)), True)


@pytest.mark.parametrize("array", [np.array(["1", "secret"]), [["secret"]], np.array([1, "secret"], dtype=object)])
def test_texts_are_refused_without_being_shown(array: object) -> None:
    with pytest.raises(Refused) as refusal:
        refuse_texts(array)
    assert "secret" not in str(refusal.value)


def test_texts_that_are_numbers_and_other_objects_pass() -> None:
    refuse_texts(np.array(["1", "2.5"]), np.array([1, None, 2.0], dtype=object), [[1.0]], "not an array")
