"""Mean ranks over datasets, with Friedman's test and the critical difference."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from report_helpers import errors_cell
from scipy import stats

from dpbench.records.cell_record import CellRecord
from dpbench.report.statistics import ranks as ranks_module
from dpbench.report.statistics.ranks import critical_difference, friedman, ranks

DEMSAR = """
4 3 2 1; 1 2 3 4; 4 1 2 3; 4 1 3 2; 4 2 3 1; 1 2.5 4 2.5; 3 2 4 1; 2.5 2.5 4 1; 4 3 2 1; 2.5 2.5 2.5 2.5; 4 2.5 1 2.5; 3 2 4 1;
4 1 2 3; 3 1 4 2
"""
"""The ranks of four classifiers on 14 datasets (Demšar 2006, Table 6)."""


@pytest.fixture
def table() -> np.ndarray:
    return np.array([[float(rank) for rank in line.split()] for line in DEMSAR.split(";")])


def ranked_cells(table: np.ndarray) -> list[CellRecord]:
    return [
        errors_cell(f"m{column}", [value], dataset=f"d{line}")
        for line, errors in enumerate(table)
        for column, value in enumerate(errors)
    ]


def test_the_example_of_the_paper(table: np.ndarray) -> None:
    found = ranks(ranked_cells(table))
    assert found is not None
    assert found.names == ("m3", "m1", "m2", "m0")
    assert found.mean_ranks == pytest.approx((1.964, 2.0, 2.893, 3.143), abs=5e-4)
    assert found.critical == pytest.approx(1.25, abs=0.005)
    assert len(found.datasets) == 14
    expected = stats.friedmanchisquare(*table.T)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)


def test_the_quantiles_are_those_of_the_paper() -> None:
    """q at 5 % (Demšar 2006, Table 5a), where k (k + 1) / (6 N) is 1."""
    printed = (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)
    for count, quantile in enumerate(printed, 2):
        found = critical_difference(count, 1) / math.sqrt(count * (count + 1) / 6)
        assert found == pytest.approx(quantile, abs=1.5e-3)
        assert found == pytest.approx(stats.studentized_range.isf(0.05, count, np.inf) / math.sqrt(2), rel=1e-5)


def test_a_small_table_is_counted_out() -> None:
    """Two mechanisms in the same order on each of n datasets: a coin that falls on one side n times."""
    for count in (2, 5, 10):
        assert friedman(np.tile([1.0, 2.0], (count, 1))) == pytest.approx(2 * 0.5**count)
    assert friedman(np.tile([1.0, 2.0, 3.0], (3, 1))) == pytest.approx(1 / 36)
    assert friedman(np.full((4, 3), 2.0)) == 1.0


def test_the_names_carry_nothing(table: np.ndarray) -> None:
    rows = ranked_cells(table)
    found = ranks(rows)
    names = {"m0": "z", "m1": "a", "m2": "k", "m3": "b"}
    other = ranks([replace(row, params={**row.params, "mechanism": names[row.params["mechanism"]]}) for row in rows[::-1]])
    assert found is not None
    assert other is not None
    assert other.names == tuple(names[name] for name in found.names)
    assert other.mean_ranks == pytest.approx(found.mean_ranks)
    assert (other.p, other.critical) == pytest.approx((found.p, found.critical))


def test_a_dataset_counts_once_however_often_it_is_used(table: np.ndarray) -> None:
    rows = ranked_cells(table)
    again = [replace(row, params={**row.params, "model": "ridge"}) for row in rows]
    more = [replace(row, metrics={**row.metrics, "privacy/epsilon_accounted": 2.0}) for row in rows]
    assert ranks([*rows, *again, *more]) == ranks(rows)


def test_ranks_on_one_dataset_are_averaged_first() -> None:
    """On d0 the two change places between the ε; on d1 one is first at the only one: (1.5 + 1) / 2, not (1 + 2 + 1) / 3."""
    rows = [errors_cell("a", [1.0], dataset="d0", epsilon=1), errors_cell("b", [2.0], dataset="d0", epsilon=1)]
    rows += [errors_cell("a", [2.0], dataset="d0", epsilon=2), errors_cell("b", [1.0], dataset="d0", epsilon=2)]
    rows += [errors_cell("a", [1.0], dataset="d1", epsilon=1), errors_cell("b", [2.0], dataset="d1", epsilon=1)]
    found = ranks(rows)
    assert found is not None
    assert found.mean_ranks == (1.25, 1.75)
    assert found.datasets == ("d0", "d1")


def test_too_few_datasets_have_no_critical_difference() -> None:
    for count in range(1, 7):
        found = ranks(ranked_cells(np.tile([1.0, 2.0], (count, 1))))
        assert found is not None
        assert (found.critical is not None) is (count >= 4), "1.96 / √n must be below 1"
        assert (found.p is not None) is (count >= 2)


@pytest.mark.parametrize("mechanisms", [2, 3, 5, 12, 40])
def test_only_differences_that_cannot_be_reached_are_not_computed(mechanisms: int) -> None:
    for datasets in (1, 2, 3, 4, 10, 200):
        critical = critical_difference(mechanisms, datasets)
        wanted = critical if critical < mechanisms - 1 else None
        assert ranks_module._attainable(mechanisms, datasets) == wanted
        smallest = ranks_module.SMALLEST_QUANTILE * ranks_module._spread_of_ranks(mechanisms, datasets)
        assert smallest < critical


def test_what_may_not_be_ranked_has_no_rank(table: np.ndarray) -> None:
    rows = ranked_cells(table)
    better = [errors_cell("odd", [0.0], dataset=f"d{line}", sound=False) for line in range(14)]
    assert ranks([*rows, *better]) == ranks(rows)


def test_only_problems_that_all_have_count_and_a_rare_mechanism_is_left_out(table: np.ndarray) -> None:
    rows = ranked_cells(table)
    rare = errors_cell("rare", [0.0], dataset="d0")
    elsewhere = [errors_cell("irls", [0.0], dataset=f"d{line}", epsilon=6.827) for line in range(14)]
    assert ranks([*rows, rare, *elsewhere]) == ranks(rows)
    one_missing = [row for row in rows if (row.params["mechanism"], row.params["dataset"]) != ("m0", "d5")]
    found = ranks(one_missing)
    assert found is not None
    assert len(found.datasets) == 13
    assert len(found.names) == 4


def test_a_cell_without_a_finite_error_is_the_last() -> None:
    rows = [errors_cell("a", [np.nan]), errors_cell("b", [9.0]), errors_cell("c", [5.0])]
    found = ranks(rows)
    assert found is not None
    assert found.names == ("c", "b", "a")


def test_there_is_nothing_to_rank_where_no_two_share_a_problem() -> None:
    assert ranks([]) is None
    assert ranks([errors_cell("a", [1.0]), errors_cell("b", [1.0], dataset="adult")]) is None
