"""Two cells are compared on the same splits by their medians; the best is compared with all others it may be compared with."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from report_helpers import RNG, errors_cell, led
from scipy import stats

from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.report.statistics.paired import LEVEL, PRACTICAL_SHARE, against_best, compare, distance, means, paired_differences


def lost(cell: CellRecord) -> CellRecord:
    """The cell without its runs."""
    return replace(cell, detail=DetailInMemory())


def referenced(name: str, errors: Any, no_privacy: float, mean_predictor: float) -> CellRecord:
    metrics = {"reference/no_privacy/rmse_median": no_privacy, "reference/mean_predictor/rmse_median": mean_predictor}
    return errors_cell(name, errors, metrics=metrics)


def test_a_difference_of_two_repeats_is_that_of_the_means_of_their_folds() -> None:
    row = errors_cell("a", [[1.0, 3.0], [2.0, 6.0]])
    assert means(row) == {0: 2.0, 1: 4.0}
    assert paired_differences(row, errors_cell("b", [[2.0, 3.0], [2.0, 7.0]]), "utility/rmse") == (0.5, 0.5)


def test_paired_differences_leave_out_runs_that_one_of_the_two_lacks() -> None:
    errors = np.tile([1.0, 100.0], (8, 1))
    broken = errors.copy()
    broken[3] = [np.nan, 100.0]
    broken[5] = [np.nan, np.inf]
    found = paired_differences(errors_cell("a", errors), errors_cell("b", broken), "utility/rmse")
    assert found == (0.0,) * 7, "the fold that is harder does not count against the cell that has it"
    assert paired_differences(errors_cell("a", [1.0]), lost(errors_cell("b", [1.0])), "utility/rmse") == ()


def test_the_difference_is_that_of_the_medians_that_tables_show() -> None:
    one, other = errors_cell("a", RNG(1).normal(1, 0.1, (12, 5))), errors_cell("b", RNG(2).normal(1.05, 0.1, (12, 5)))
    there, back = compare(one, other), compare(other, one)
    assert there.difference.value == pytest.approx(other.error() - one.error(), rel=1e-12)
    assert back.difference.value == -there.difference.value
    assert back.p == there.p
    assert there.low < there.difference.value < there.high


def test_pairs_are_by_repeat_whatever_their_order() -> None:
    one, other = errors_cell("a", RNG(1).normal(1, 0.1, (12, 5))), errors_cell("b", RNG(2).normal(1.1, 0.1, (12, 5)))
    runs = {name: value[::-1] for name, value in other.detail.runs.items()}
    turned = compare(one, replace(other, detail=DetailInMemory(runs=runs)))
    assert (turned.difference, turned.p) == (compare(one, other).difference, compare(one, other).p)


def test_runs_without_an_error_are_left_out_and_counted() -> None:
    errors = RNG(1).normal(1, 0.1, (8, 2))
    broken = errors + 1
    broken[[3, 5], 0] = np.nan
    found = compare(errors_cell("a", errors), errors_cell("b", broken))
    assert found.dropped == 2
    assert found.repeats == 8
    assert found.difference.value == pytest.approx(np.nanmedian(broken) - np.median(errors))


def test_only_repeats_that_both_have_are_compared() -> None:
    assert compare(errors_cell("a", [1.0] * 10), errors_cell("b", [2.0] * 7)).repeats == 7


def test_cells_without_runs_are_compared_by_their_medians_and_never_separated() -> None:
    found = compare(errors_cell("a", [1.0] * 8), lost(errors_cell("b", [2.0] * 8)))
    assert (found.difference.value, found.repeats, found.p, found.separated) == (1.0, 0, None, False)
    assert found.low == -math.inf


def test_equal_cells_are_practically_the_same_and_never_will_differ() -> None:
    found = compare(errors_cell("a", [0.5] * 20), errors_cell("b", [0.5] * 20))
    assert found.practically_same
    assert not found.separated
    assert found.p is None
    assert found.more_repeats is None


@pytest.mark.parametrize(("difference", "same"), [(0.0009, True), (0.0011, False)])
def test_below_one_per_cent_of_the_way_to_the_mean_a_sure_difference_is_none(difference: float, same: bool) -> None:
    """From 0.1 to 0.2 it is a way of 0.1, and 1 % of it is 0.001; the scatter is a thousandth of that."""
    base = 0.15 + RNG(1).normal(0, 1e-6, (20, 5))
    board = led([referenced("a", base, 0.1, 0.2), referenced("b", base + difference, 0.1, 0.2)])
    (found,) = board.comparisons
    assert found.threshold == pytest.approx(PRACTICAL_SHARE * 0.1)
    assert (found.practically_same, found.separated) == (same, not same)
    assert (board.winner is None) == same
    assert len(board.practically_same) == same


def test_without_references_every_difference_counts() -> None:
    names = ["reference/no_privacy/rmse_median", "reference/mean_predictor/rmse_median"]
    base = 0.15 + RNG(1).normal(0, 1e-7, (20, 5))
    rows = [errors_cell(name, base + shift, without=names) for name, shift in (("a", 0.0), ("b", 1e-5))]
    assert distance(rows[0]) is None
    assert led(rows).winner is rows[0]


def test_the_larger_the_difference_the_fewer_repeats_are_missing() -> None:
    spread = stats.norm.ppf((RNG(0).permutation(40) + 0.5) / 40)
    zero = stats.norm.ppf((RNG(1).permutation(40) + 0.5) / 40)
    found = [compare(errors_cell("a", zero), errors_cell("b", spread + size)) for size in (0.02, 0.05, 0.1, 0.2)]
    missing = [comparison.more_repeats for comparison in found]
    assert None not in missing
    assert missing == sorted(missing, reverse=True)
    assert len(set(missing)) == 4
    large = compare(errors_cell("a", zero), errors_cell("b", spread + 5))
    assert large.separated
    assert large.more_repeats is None
    tiny = compare(errors_cell("a", zero), errors_cell("b", spread + 1e-4))
    assert tiny.more_repeats is None, "a hundred thousand would not be enough"


def test_the_best_has_the_lowest_median_over_the_runs() -> None:
    """One fold in five goes wrong, which the median hides: the answer says it in a sentence of its own."""
    steady, bad_folds = errors_cell("steady", np.full((9, 5), 0.3)), np.full((9, 5), 0.2)
    bad_folds[:, 0] = 5.0
    wild = errors_cell("wild", bad_folds)
    board = led([steady, wild, errors_cell("worse", np.full((9, 5), 0.4))])
    assert board.best is wild
    assert [found.second.params["mechanism"] for found in board.comparisons] == ["steady", "worse"]


def test_only_ranked_cells_are_on_it() -> None:
    rows = [errors_cell("odd", [0.1] * 8, sound=False), errors_cell("fm", [0.2] * 8), errors_cell("none", [np.nan] * 8)]
    board = led(rows)
    assert board.best is rows[1]
    assert board.comparisons == ()
    assert board.winner is rows[1]
    assert against_best(rows[:1]) is None
    assert against_best(rows[2:]) is None


def test_holms_correction_counts_every_pair() -> None:
    """Four cells have six pairs, as the best could have been any: the smallest p six times, the next five, never falling."""
    rows = [errors_cell("best", RNG(9).normal(1, 0.02, 12))] + [
        errors_cell(f"m{size}", RNG(index).normal(1 + size, 0.02, 12)) for index, size in enumerate((0.02, 0.03, 0.06), 1)
    ]
    board = led(rows)
    raw = {found.second.params["mechanism"]: found.p for found in board.comparisons}
    expected, reached = {}, 0.0
    for factor, name in zip((6, 5, 4), sorted(raw, key=lambda name: raw[name]), strict=True):
        reached = max(reached, min(1.0, factor * raw[name]))
        expected[name] = reached
    assert {found.second.params["mechanism"]: found.corrected for found in board.comparisons} == pytest.approx(expected)
    assert {found.separated for found in board.comparisons} == {True, False}
    assert all(found.separated is (found.corrected < LEVEL) for found in board.comparisons)
    pair = led(rows[:2]).comparisons[0]
    assert pair.corrected == pair.p


def test_what_is_practically_the_same_still_counts_as_a_pair() -> None:
    """Whether a pair is tested depends on the same errors, so leaving it out of the count would be a choice by luck."""
    base = 0.15 + RNG(1).normal(0, 1e-4, 12)
    rows = [referenced("a", base, 0.1, 0.2), referenced("b", base, 0.1, 0.2), referenced("c", base + 0.01, 0.1, 0.2)]
    same, far = led(rows).comparisons
    assert same.corrected is None
    assert far.corrected == pytest.approx(3 * far.p)


@pytest.mark.slow
def test_of_equal_cells_none_is_called_better_more_often_than_it_may() -> None:
    """8 equal cells, 12 repeats, 120 sweeps: at most 5 %; 13 or more is a chance of 1 in 100.

    Corrected for the 7 comparisons with the best alone it would be about 10 %.
    """
    wrong = 0
    for sample in RNG(8).normal(1, 0.1, (120, 8, 12)):
        board = led([errors_cell(f"m{index}", errors) for index, errors in enumerate(sample)])
        wrong += any(found.separated for found in board.comparisons)
    assert wrong < 13


def test_the_order_of_the_cells_changes_nothing() -> None:
    rows = [errors_cell(f"m{index}", RNG(index).normal(1 + index / 50, 0.05, (15, 3))) for index in range(5)]
    one, other = led(rows), led(rows[::-1])
    assert one.best is other.best
    assert one.comparisons == other.comparisons
