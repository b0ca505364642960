"""The Brazilian stand-in: its income is assumed, its flag is measured, and both are what its source says."""

from __future__ import annotations

import csv
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.base.random_streams import stream
from dpbench.data.scaling import scale
from dpbench.data.table import Table
from dpbench.registry.lookup import registry

R2 = {5: (0.368, 0.264), 8: (0.444, 0.313), 11: (0.454, 0.320), 14: (0.465, 0.327)}


@pytest.fixture(scope="module")
def table(make: Callable[..., Any]) -> Table:
    drawn = make("dataset", "brazil").select(stream(0))
    assert isinstance(drawn, Table)
    return drawn


@pytest.mark.parametrize(("dimension", "income", "flag"), [(number, *values) for number, values in R2.items()])
def test_least_squares_explains_income_and_flag_as_documented(dimension, income, flag, table, make) -> None:
    """A seed moves R² by 0.001 (one standard deviation)."""
    chosen = table.select(make("dataset", "brazil").subsets()[dimension])
    for kind, expected in (("real", income), ("binary", flag)):
        rows = scale(chosen, "box", True, kind)
        weights = np.linalg.lstsq(rows.x, rows.y, rcond=None)[0]
        assert 1 - np.var(rows.y - rows.x @ weights) / np.var(rows.y) == pytest.approx(expected, abs=0.01)


def test_the_layout_is_public_and_the_cut_is_where_the_flag_s_share_is(table, make) -> None:
    assert table.features.shape == (190_000, 13)
    assert (table.target.low, table.target.high, table.threshold) == (0, 20_000, 6_000)
    assert np.mean(table.response > table.threshold) == pytest.approx(0.276, abs=0.006)
    assert table.sensitive == ("is_married",)
    brazil = make("dataset", "brazil")
    assert brazil.synthetic
    assert "ynthetic" in type(brazil).summary()
    assert "BR2000" in brazil.citation


def test_correlations_are_the_measured_ones(table) -> None:
    """0.007 for the model and 6 / √n for the draw; a marital column costs up to 0.088. The last measured column is the flag."""
    plugin = inspect.getsourcefile(registry().get("dataset", "brazil"))
    assert plugin is not None
    text = (Path(plugin).parent / "data" / "standin" / "brazil" / "pearson_correlation.csv").read_text(encoding="utf-8")
    rows = scale(table, "box", False, "binary")
    correlation = np.corrcoef(rows.z[:, 1:], rowvar=False)
    measured = list(csv.DictReader(text.splitlines()))
    names = [line["column"] for line in measured]
    assert names[:-1] == list(rows.geometry.columns)
    for row, line in enumerate(measured):
        for column, other in enumerate(names):
            room = 0.088 if {"is_single", "is_married"} & {line["column"], other} else 0.007
            assert abs(correlation[row, column] - float(line[other])) < room + 6 / np.sqrt(rows.n), (line["column"], other)
