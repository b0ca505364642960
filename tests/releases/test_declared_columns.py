"""Bounds of an estimator: mappings with the target, or arrays with target_bounds; what is missing is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.releases.declared_columns import declared_columns


def test_the_target_is_the_column_of_a_mapping_that_is_no_feature() -> None:
    declared = declared_columns({"age": (18, 70), "wage": (0, 3000)}, None, ["age"], None)
    assert (declared.bounds, declared.target, declared.target_bounds) == ({"age": (18, 70)}, "wage", [0, 3000])


def test_a_number_bounds_every_column_of_an_array() -> None:
    declared = declared_columns((0, np.array([1, 2])), (0, 9), ["x0", "x1"], None)
    assert declared.bounds == {"x0": [0, 1], "x1": [0, 2]}
    assert declared.target == "target"


def test_the_target_gets_a_name_that_no_feature_has() -> None:
    assert declared_columns((0, 1), (0, 9), ["target", "y"], None).target == "target_"
    assert declared_columns("data", None, ["x"], "wage").target == "wage"


@pytest.mark.parametrize(
    ("bounds", "target_bounds", "words"),
    [
        (None, None, "must be declared"),
        ("people.yaml", None, "must be a mapping"),
        ((0, 1), None, "target_bounds"),
        ((0, 1, 2), (0, 1), "must be a mapping"),
        ((0, 1), 5, "must be two values"),
        ({"age": (0, 1)}, None, "The target must have bounds too"),
        ({"age": (0, 1), "wage": (0, 1), "pay": (0, 1)}, None, "no column with bounds named 'pay'"),
        ({"age": (0, 1), "wage": {"low": 0, "high": 1, "unit": "USD"}}, None, "low, high"),
    ],
)
def test_what_is_missing_is_named(bounds: Any, target_bounds: Any, words: str) -> None:
    with pytest.raises(Refused, match=words):
        declared_columns(bounds, target_bounds, ["age"], None)
