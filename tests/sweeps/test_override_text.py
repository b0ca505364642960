"""Python values in the grammar of overrides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.sweeps.hydra.overrides import parse
from dpbench.sweeps.override_text import override_text, quoted


@pytest.mark.parametrize(
    "value",
    [
        0.1,
        3,
        True,
        None,
        "wine",
        "two words",
        "",
        "true",
        "null",
        "1e3",
        "it's",
        "a\\",
        "a\\'b",
        "x,y",
        "März.csv",
        "a=b",
        "${x}",
    ],
)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    (axis,) = parse([f"dataset.path={override_text(value)}"])
    assert axis.values == (value,)


def test_a_list_is_swept_and_a_tuple_is_a_value() -> None:
    (axis,) = parse([f"k={override_text(['a', 'b c', 1])}"])
    assert axis.values == ("a", "b c", 1)
    (axis,) = parse([f"k={override_text([('a', ['b', 'c']), ('d',)])}"])
    assert axis.values == (["a", ["b", "c"]], ["d"])


def test_a_mapping_keeps_keys_with_a_meaning() -> None:
    mapping = {"a:b": 1, "c, d": [1, 2], "e": {"f": None}}
    (axis,) = parse([f"k={override_text(mapping)}"])
    assert axis.values == (mapping,)


def test_numpys_numbers_and_arrays_are_plain_values() -> None:
    assert override_text(np.float64(0.1)) == "0.1"
    assert override_text(np.array([1, 2])) == "1,2"


def test_an_empty_list_sweeps_nothing_and_is_refused() -> None:
    with pytest.raises(Refused, match="Got an empty list instead"):
        override_text([])


def test_plain_words_stay_readable() -> None:
    assert override_text("zhang2012/fig6") == "zhang2012/fig6"
    assert quoted("plain") == "'plain'"
