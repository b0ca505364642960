"""Two cells are compared repeat by repeat; the best is compared with all others."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from report_helpers import RNG, errors_cell, led
from scipy import stats

from dpbench.records.cell_record import DetailInMemory
from dpbench.report.statistics.paired import LEVEL, against_best, compare, groups, means


def test_a_repeat_counts_once_by_the_mean_of_its_folds() -> None:
    row = errors_cell("a", [[1.0, 3.0], [2.0, 6.0]])
    assert means(row) == {0: 2.0, 1: 4.0}
    found = compare(row, errors_cell("b", [[2.0, 3.0], [2.0, 7.0]]))
    assert found is not None
    assert found.repeats == 2
    assert found.differences == (0.5, 0.5)
    assert found.shift == 0.5


def test_the_other_way_round_the_shift_turns_and_p_stays() -> None:
    one, other = errors_cell("a", RNG(1).normal(1, 0.1, (12, 5))), errors_cell("b", RNG(2).normal(1.05, 0.1, (12, 5)))
    there, back = compare(one, other), compare(other, one)
    assert there is not None
    assert back is not None
    assert (back.shift, back.low, back.high) == (-there.shift, -there.high, -there.low)
    assert back.p == there.p
    assert back.more_repeats == there.more_repeats
    assert there.low < there.shift < there.high


def test_pairs_are_by_repeat_whatever_their_order() -> None:
    """Between repeats much varies, within a pair little: only the pairs can tell the two apart."""
    hard = RNG(1).normal(10, 5, 20)
    one, other = errors_cell("a", hard), errors_cell("b", hard + RNG(2).normal(0.1, 0.01, 20))
    found = compare(one, other)
    turned = compare(
        one, replace(other, detail=DetailInMemory(runs={name: value[::-1] for name, value in other.detail.runs.items()}))
    )
    assert found is not None
    assert turned is not None
    assert found.separated
    assert (found.shift, found.p) == (turned.shift, turned.p)
    unpaired = stats.mannwhitneyu(hard, np.array(list(means(other).values()))).pvalue
    assert unpaired > 0.5


def test_a_run_without_an_error_is_dropped_on_both_sides() -> None:
    errors = np.tile([1.0, 100.0], (8, 1))
    broken = errors.copy()
    broken[3] = [np.nan, 100.0]
    broken[5] = [np.nan, np.inf]
    found = compare(errors_cell("a", errors), errors_cell("b", broken))
    assert found is not None
    assert found.dropped == 3
    assert found.repeats == 7, "the repeat that has no run left is gone"
    assert set(found.differences) == {0.0}, "the fold that is harder does not count against whom it is left"
    assert means(errors_cell("b", broken))[3] == 100.0
    assert 5 not in means(errors_cell("b", broken))


def test_only_repeats_that_both_have_are_compared() -> None:
    found = compare(errors_cell("a", [1.0] * 10), errors_cell("b", [2.0] * 7))
    assert found is not None
    assert found.repeats == 7
    assert compare(errors_cell("a", [1.0]), replace(errors_cell("b", [1.0]), detail=DetailInMemory())) is None
    assert compare(errors_cell("a", [1.0]), errors_cell("b", [np.nan])) is None


def test_equal_cells_are_not_separated_and_never_will_be() -> None:
    found = compare(errors_cell("a", [0.5] * 20), errors_cell("b", [0.5] * 20))
    assert found is not None
    assert (found.shift, found.low, found.high, found.p) == (0, 0, 0, 1)
    assert not found.separated
    assert found.more_repeats is None


def test_huge_errors_pass_without_a_warning() -> None:
    found = compare(errors_cell("a", np.full((8, 5), 1e-300)), errors_cell("b", np.full((8, 5), 1.7e308)))
    assert found is not None
    assert found.separated
    assert math.isfinite(found.shift)


def test_the_larger_the_difference_the_fewer_repeats_are_missing() -> None:
    spread = stats.norm.ppf((np.arange(40) + 0.5) / 40)
    asked = [compare(errors_cell("a", np.zeros(40)), errors_cell("b", spread + size)) for size in (0.02, 0.05, 0.1, 0.2, 0.3)]
    missing = [found.more_repeats for found in asked if found]
    assert None not in missing
    assert missing == sorted(missing, reverse=True)
    assert len(set(missing)) == 5
    assert min(missing) > 10
    large = compare(errors_cell("a", np.zeros(40)), errors_cell("b", spread + 2))
    assert large is not None
    assert large.separated
    assert large.more_repeats is None


@pytest.mark.parametrize(("difference", "reachable"), [(0.0096, True), (0.0085, False), (0.002, False)])
def test_a_difference_too_small_for_a_hundred_thousand_repeats_is_hopeless(difference: float, reachable: bool) -> None:
    """Noether's formula gives about 8.2 / difference²: 89,000, 114,000 and two million repeats."""
    spread = stats.norm.ppf((np.arange(400) + 0.5) / 400)
    found = compare(errors_cell("a", np.zeros(400)), errors_cell("b", spread + difference))
    assert found is not None
    assert (found.more_repeats is not None) == reachable
    assert not found.separated


def test_the_best_has_the_smallest_median_of_the_repeats_means() -> None:
    steady, bad_folds = errors_cell("steady", np.full((9, 5), 0.3)), np.full((9, 5), 0.2)
    bad_folds[:, 0] = 5.0
    board = led([errors_cell("wild", bad_folds), steady, errors_cell("worse", np.full((9, 5), 0.4))])
    assert board.best is steady
    assert board.median == pytest.approx(0.3)
    assert [found.second.params["mechanism"] for found in board.comparisons] == ["worse", "wild"]


def test_only_ranked_cells_are_on_it() -> None:
    rows = [errors_cell("odd", [0.1] * 8, sound=False), errors_cell("fm", [0.2] * 8), errors_cell("none", [np.nan] * 8)]
    board = led(rows)
    assert board.best is rows[1]
    assert board.comparisons == ()
    assert against_best(rows[:1]) is None
    assert against_best(rows[2:]) is None


def test_holms_correction_counts_every_pair() -> None:
    """Four cells have six pairs, as the best could have been any: the smallest p six times, the next five, never falling."""
    base = RNG(0).normal(1, 0.02, 12)
    rows = [errors_cell("best", base)] + [
        errors_cell(f"m{size}", base + RNG(index).normal(size, 0.02, 12)) for index, size in enumerate((0.005, 0.02, 0.05), 1)
    ]
    board = led(rows)
    assert board.best is rows[0]
    raw = {found.second.params["mechanism"]: found.p for found in board.comparisons}
    expected, reached = {}, 0.0
    for factor, name in zip((6, 5, 4), sorted(raw, key=lambda name: raw[name]), strict=True):
        reached = max(reached, min(1.0, factor * raw[name]))
        expected[name] = reached
    assert {found.second.params["mechanism"]: found.corrected for found in board.comparisons} == pytest.approx(expected)
    assert all(found.separated is (found.corrected < LEVEL) for found in board.comparisons)
    assert {found.separated for found in board.comparisons} == {True, False}
    pair = led(rows[:2]).comparisons[0]
    assert pair.corrected == pair.p


def test_a_larger_p_is_never_corrected_to_a_smaller_one() -> None:
    base = RNG(0).normal(1, 0.02, 12)
    alike = led([errors_cell("best", base), errors_cell("far", base + 1), errors_cell("farther", base + 2)]).comparisons
    assert [found.p for found in alike] == [2 / 2**12] * 2
    assert [found.corrected for found in alike] == [3 * 2 / 2**12] * 2


def test_of_equal_cells_none_is_called_better_more_often_than_it_may() -> None:
    """8 equal cells, 20 repeats, 300 sweeps: at most 5 %, so 30 or more are a chance of 1 in 1,000.

    Corrected for the 7 comparisons with the best alone it is 28 pairs' worth of luck: about 10 %.
    """
    wrong = 0
    for sample in RNG(8).normal(1, 0.1, (300, 8, 20)):
        board = led([errors_cell(f"m{index}", errors) for index, errors in enumerate(sample)])
        wrong += any(found.separated for found in board.comparisons)
    assert wrong < 30 * 0.9


def test_the_order_of_the_cells_changes_nothing() -> None:
    rows = [errors_cell(f"m{index}", RNG(index).normal(1 + index / 50, 0.05, (15, 3))) for index in range(5)]
    one, other = led(rows), led(rows[::-1])
    assert one.best is other.best
    assert one.comparisons == other.comparisons


def test_cells_whose_runs_are_lost_are_named_and_not_compared() -> None:
    lost = replace(errors_cell("lost", [0.3] * 8), detail=DetailInMemory())
    board = led([lost, errors_cell("fm", [0.2] * 8)])
    assert board.unpaired == (lost,)
    assert board.comparisons == ()
    lost = replace(errors_cell("lost", [0.1] * 8), detail=DetailInMemory())
    assert led([lost, errors_cell("fm", [0.2] * 8)]).best is lost


def test_groups_keep_problems_and_epsilons_apart() -> None:
    rows = [errors_cell("a", [1.0], dataset=name, epsilon=size) for name in ("wine", "adult") for size in (0.1, 0.8)]
    rows += [errors_cell("b", [1.0]), errors_cell("c", [1.0], private=False)]
    assert sorted(len(found) for found in groups(rows).values()) == [1, 1, 1, 2]
