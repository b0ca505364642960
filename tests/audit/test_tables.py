"""Whole tables are searched where a query could look at more than one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench.audit.neighbours import fixed_and_random_pairs
from dpbench.audit.subject import example_geometry
from dpbench.audit.tables import TABLE_KINDS, common_tables, extreme_rows, looks_at_rows, outlier_table, worst_tables
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.noise import laplace
from dpbench.privacy.queries.query import RowQuery


@dataclass(frozen=True)
class Normalised(RowQuery):
    """The sum of the target in units of its largest value: one row can move it by far more than two."""

    name: str = "normalised"
    size: ClassVar[int] = 1

    def contribution(self, rows: Any, run: int) -> np.ndarray:
        return (rows.y / max(np.abs(rows.y).max(), 1e-9))[:, None]


def test_there_is_a_table_of_each_kind_and_always_the_same_ones(make) -> None:
    geometry = example_geometry(make("model", "linear"), 2, 3)
    tables, again = common_tables(geometry, 7), common_tables(geometry, 7)
    assert [table.n for table in tables] == [7] * TABLE_KINDS
    for table, other in zip(tables, again, strict=True):
        np.testing.assert_array_equal(table.z, other.z)
    assert len(np.unique(tables[3].z, axis=0)) == 1
    assert not tables[1].z[:, 1:].any()


def test_extreme_rows_are_those_that_lie_furthest_out_in_a_column(make) -> None:
    geometry = example_geometry(make("model", "linear"), 2)
    z = np.zeros((1_000, 4))
    z[:, 0], z[7, 1], z[70, 2], z[700, 3] = 1, 1, -0.2, 0.01
    assert {7, 70, 700} <= set(extreme_rows(Rows(z, geometry), 3))
    assert len(extreme_rows(Rows(z, geometry), 200)) <= 201
    np.testing.assert_array_equal(extreme_rows(Rows(z[:2], geometry), 200), [0, 1])


def test_an_outlier_lies_ten_standard_deviations_from_the_mean_of_a_hundred_and_one_rows(make) -> None:
    z = outlier_table(example_geometry(make("model", "linear"), 2, 3), 101).z[:, [1, 2, -1]]
    np.testing.assert_allclose(np.abs(z[-1] - z.mean(axis=0)) / z.std(axis=0), 10)


def test_the_search_finds_a_table_on_which_one_row_moves_the_sum_by_more_than_a_row(make, curate) -> None:
    model = make("model", "linear")
    geometry, generator = example_geometry(model, 1), np.random.default_rng(0)
    curator = curate(WholeSample(common_tables(geometry, 8)[0]))
    curator.release(Normalised(), laplace(2.0, 1.0, "it says"))
    curator.release(model.prepare(curator).polynomial(), laplace(1e9, 1e-9, "loose"))
    own, linear = curator.tape
    assert looks_at_rows(own)
    assert not looks_at_rows(linear)
    pairs = fixed_and_random_pairs(geometry, generator)
    assert not list(worst_tables(geometry, linear, pairs, 8, generator))
    moves = [
        abs(Normalised().contribution(second, 0).sum() - Normalised().contribution(first, 0).sum())
        for first, second in worst_tables(geometry, own, pairs, 8, generator)
    ]
    assert max(moves) > 2
