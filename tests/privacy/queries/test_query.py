"""A query is a sum of contributions, and an audit can tell one from another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.queries.query import RowQuery, exact_answer


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
