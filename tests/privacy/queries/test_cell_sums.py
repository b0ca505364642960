"""Sums in cells: each row adds to its own cell and to no other."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.halving import Halving
from dpbench.data.samples import WholeSample
from dpbench.privacy.queries.cell_sums import CellSums
from dpbench.privacy.queries.query import contributions, exact_answer


@pytest.fixture
def sample(geometry, rows) -> WholeSample:
    generator = np.random.default_rng(0)
    tables = [rows(geometry(2), generator.uniform(-1, 1, (count, 2)), generator.uniform(-1, 1, count)) for count in (40, 60)]
    return WholeSample(*tables)


def test_each_cell_sums_its_own_rows(sample) -> None:
    """Cells of two runs: the first column cut at 0, or the second one of its upper half too, and a cell without codes."""
    partition = Halving(sample.geometry)
    half, quarter, end = partition.end // 2, partition.end // 4, partition.end
    query = CellSums(partition, np.array([[0, half, end], [0, half, half + quarter]], dtype=float), (0, 2, 3), "sums")
    answer = exact_answer(query, sample).reshape(2, 3, 3)
    for run, cuts in enumerate((lambda x: [x[:, 0] < 0, x[:, 0] >= 0, x[:, 0] > 9], _three_cells)):
        z = sample.rows(run).z
        expected = [[z[chosen, 0].sum(), z[chosen, 2].sum(), z[chosen, 3].sum()] for chosen in cuts(z[:, 1:3])]
        np.testing.assert_allclose(answer[run], expected, atol=1e-12)


def _three_cells(x: np.ndarray) -> list[np.ndarray]:
    return [x[:, 0] < 0, (x[:, 0] >= 0) & (x[:, 1] < 0), (x[:, 0] >= 0) & (x[:, 1] >= 0)]


def test_an_answer_is_the_sum_of_what_rows_contribute(sample) -> None:
    partition = Halving(sample.geometry)
    starts = np.array([[0, partition.end // 2]] * 2, dtype=float)
    query = CellSums(partition, starts, (0, 1, 2, 3), "sums")
    for run in range(2):
        parts = contributions(query, sample.rows(run), run)
        assert ((parts.reshape(-1, 2, 4)[..., 0] != 0).sum(axis=1) == 1).all()
        np.testing.assert_allclose(parts.sum(axis=0), exact_answer(query, sample)[run], atol=1e-12)


def test_queries_of_other_cells_have_another_identity(geometry) -> None:
    partition = Halving(geometry(2))
    first, second = (CellSums(partition, np.array([[0.0, start]])) for start in (partition.end / 2, partition.end / 4))
    assert first.identity != second.identity
    assert first.identity == CellSums(partition, first.starts.copy()).identity
