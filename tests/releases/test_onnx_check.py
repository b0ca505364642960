"""A graph that predicts something else is not written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.releases.onnx_check import check_predictions, made_up_rows
from dpbench.releases.release_file import Release


def test_made_up_rows_are_the_same_each_time_and_go_beyond_the_bounds(wages: Callable[..., Release]) -> None:
    first, second = made_up_rows(wages()), made_up_rows(wages())
    assert all((first[name] == second[name]).all() for name in ("age", "town"))
    assert first["age"].min() < 18 < 70 < first["age"].max()
    assert set(first["town"]) == {"north", "south", "the west"}


def test_a_graph_of_other_weights_is_refused(wages: Callable[..., Release]) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install 'dp-regression-bench[onnx]'")
    from dpbench.releases.onnx_model import onnx_bytes

    release = wages()
    graph = onnx.load_from_string(onnx_bytes(release))
    check_predictions(release, graph)
    moved = replace(release, weights={**release.weights, "age": np.nextafter(release.weights["age"], 1) + 1e-5})
    with pytest.raises(Refused, match="The model linear cannot be written as ONNX"):
        check_predictions(moved, graph)
