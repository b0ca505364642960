"""A query is a sum of contributions, and an audit can tell one from another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.queries.query import Layer, MomentQuery, Passes, RowQuery, exact_answer


@dataclass(frozen=True)
class Columns(RowQuery):
    """The sums of the first columns of the design."""

    count: int
    name: str = "columns"

    @property
    def size(self) -> int:
        return self.count

    def contribution(self, rows: Rows, run: int) -> np.ndarray:
        return rows.x[:, : self.count]


@dataclass(eq=False)
class Scored(MomentQuery):
    """Second moments of a row of the matrix (or of two), of rows that weigh as much as their first feature."""

    rows_of_matrix: tuple[int, ...]
    shared: object = None
    name: str = "scored"
    weighted = True

    @property
    def layers(self) -> tuple[Layer, ...]:
        first = np.repeat(self.rows_of_matrix, 4)
        return (Layer(first, np.tile(np.arange(4), len(self.rows_of_matrix)), np.ones(len(first))),)

    @property
    def source(self) -> object:
        return self.shared or self

    def weights(self, rows: Rows, run: int) -> np.ndarray:
        return rows.x[:, 0]


def test_moments_of_one_row_of_the_matrix_are_those_of_the_whole_matrix(geometry, rows, repeated, row_by_row) -> None:
    """Also where a pass for one row is followed by queries of the same source that need other rows."""
    x = np.random.default_rng(1).integers(-3, 4, (20_000, 2)).astype(float)
    sample = repeated(rows(geometry(2), x, x[:, 0] - x[:, 1]), 2)
    passes, source = Passes(), object()
    for taken in ((0,), (2,), (0, 3), (3,)):
        query = Scored(taken, source)
        np.testing.assert_array_equal(exact_answer(query, sample, passes), exact_answer(row_by_row(query), sample))


def test_by_default_the_exact_answer_adds_up_the_contributions_of_each_run(geometry, rows, repeated) -> None:
    """Also with more rows than one chunk holds."""
    x = np.random.default_rng(0).integers(-3, 4, (40_000, 3)).astype(float)
    sample = WholeSample(rows(geometry(3), x, np.zeros(40_000)))
    np.testing.assert_array_equal(exact_answer(Columns(2), sample), x[:, :2].sum(axis=0)[None])
    np.testing.assert_array_equal(exact_answer(Columns(2), repeated(sample.rows(0), 3)), np.tile(x[:, :2].sum(axis=0), (3, 1)))


def test_queries_of_different_sizes_or_classes_have_different_identities() -> None:
    class Others(Columns):
        """The same sums under another class."""

    identities = {Columns(2).identity, Columns(3).identity, Others(2).identity}
    assert len(identities) == 3
    assert Columns(2).identity == Columns(2, name="another").identity
