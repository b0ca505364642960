"""What reports say of two cells, and of many: the paired test, its interval, Holm's correction, ranks over datasets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.report.statistics.paired import LEVEL, Contest, against_best, compare, groups, means
from dpbench.report.statistics.ranks import critical_difference, friedman, ranks
from dpbench.report.statistics.signed_rank import EXACT, fewest, needed, p_value, shift

RNG = np.random.default_rng
Cell = Callable[..., CellRecord]


@pytest.fixture
def cell() -> Cell:
    """A cell with these errors: one line a repeat, one column a fold."""

    def row(
        name: str, errors: Sequence[float] | np.ndarray, *, dataset: str = "wine", epsilon: float = 0.8, **tags: str
    ) -> CellRecord:
        table = np.asarray(errors, dtype=float)
        table = table[:, None] if table.ndim == 1 else table
        repeats, folds = table.shape
        runs = {"repeat": np.repeat(np.arange(repeats), folds), "fold": np.tile(np.arange(folds), repeats)}
        runs["utility/rmse"] = table.ravel()
        params = {"mechanism": name, "model": "linear", "dataset": dataset, "attack": "none", "epsilon": f"{epsilon:g}"}
        metrics = {"privacy/epsilon_accounted": epsilon}
        if np.isfinite(table).any():
            metrics["utility/rmse_median"] = float(np.nanquantile(table, 0.5))
        tags = {"dpbench.sound": "true", "dpbench.private": "true", "dpbench.leaks": "", **tags}
        return CellRecord("run", params, tags, metrics, "rmse", detail=DetailInMemory(runs=runs))

    return row


def led(rows: Sequence[CellRecord]) -> Contest:
    board = against_best(rows)
    assert board is not None
    return board


class TestTheTest:
    @pytest.mark.parametrize("count", [1, 2, 5, 6, 13, 50])
    def test_it_agrees_with_scipys_exact_one(self, count: int) -> None:
        for seed in range(5):
            differences = RNG(seed).normal(0.3, 1, count)
            assert p_value(differences.tolist()) == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue, rel=1e-9)

    def test_beyond_it_agrees_with_scipys_approximation(self) -> None:
        differences = RNG(1).normal(0.1, 1, EXACT + 50)
        differences[:40] = np.round(differences[:40], 1)
        differences = differences[differences != 0]
        expected = stats.wilcoxon(differences, method="asymptotic", correction=True).pvalue
        assert p_value(differences.tolist()) == pytest.approx(expected, rel=1e-9)

    def test_with_ties_and_zeros_it_counts_every_choice_of_signs(self) -> None:
        differences = [0.0, 1.0, 1.0, -1.0, 2.0, 2.0, 2.0, 0.0, -3.0, 4.0]
        kept = np.array([value for value in differences if value])
        sizes = stats.rankdata(np.abs(kept))
        sums = np.array([sizes[np.array(signs)].sum() for signs in itertools.product([False, True], repeat=len(kept))])
        found = sizes[kept > 0].sum()
        assert p_value(differences) == pytest.approx(2 * min((sums <= found).mean(), (sums >= found).mean()))

    def test_exact_and_approximate_meet(self) -> None:
        """The largest sample that is counted, and one more difference of a middling rank."""
        values = RNG(3).normal(0.12, 1, EXACT).tolist()
        below, beyond = p_value(values), p_value([*values, 1e-9])
        assert below == pytest.approx(beyond, rel=0.05)
        assert shift(values) == pytest.approx(shift([*values, 1e-9]), abs=0.01)

    def test_nothing_differs_in_nothing(self) -> None:
        assert p_value([0.0] * 20) == 1.0
        assert shift([0.0] * 20) == (0.0, 0.0, 0.0)
        assert needed([0.0] * 20, LEVEL) == math.inf

    def test_fewer_than_six_repeats_reach_nothing(self) -> None:
        assert fewest(LEVEL) == 6
        for count in range(1, 9):
            same_sign = list(range(1, count + 1))
            assert (p_value(same_sign) < LEVEL) is (count >= 6)
            assert math.isfinite(shift(same_sign)[1]) is (count >= 6)
        for level in (0.05 / 3, 0.05 / 45):
            count = fewest(level)
            assert p_value(list(range(1, count + 1))) < level <= p_value(list(range(1, count)))

    @pytest.mark.parametrize("count", [8, 30])
    def test_the_interval_covers_the_shift_as_often_as_it_says(self, count: int) -> None:
        """Exact for symmetric errors: 1 - 2 · 5 / 2⁸ = 96.1 % at 8, where the next step would be below 95 %, and 95.0 % at 30.

        2000 samples within four standard deviations: fails by chance for one seed in 10,000.
        """
        samples = RNG(11).normal(0.7, 2.0, (2000, count))
        covered = np.mean([low <= 0.7 <= high for _, low, high in (shift(sample) for sample in samples.tolist())])
        stated = {8: 1 - 10 / 256, 30: 0.950}[count]
        assert abs(covered - stated) < 4 * math.sqrt(stated * (1 - stated) / 2000)

    def test_the_interval_leaves_out_zero_where_the_test_rejects(self) -> None:
        for seed in range(200):
            differences = RNG(seed).normal(0.5, 1, 15).tolist()
            _, low, high = shift(differences)
            assert (p_value(differences) <= 0.05) is not (low <= 0 <= high)

    def test_with_as_many_as_it_asks_for_the_test_separates_four_times_in_five(self) -> None:
        """Noether's number from the true chance; 400 samples, power 0.8 ± 0.08 is four standard deviations."""
        population = RNG(5).normal(0.4, 1, 600).tolist()
        size = math.ceil(needed(population, LEVEL))
        assert 30 < size < 90
        centred = np.array(population) - np.mean(population) + 0.4
        samples = RNG(6).choice(centred, (400, size))
        assert np.mean([p_value(sample) < LEVEL for sample in samples.tolist()]) == pytest.approx(0.8, abs=0.1)


class TestCompare:
    def test_a_repeat_counts_once_by_the_mean_of_its_folds(self, cell: Cell) -> None:
        row = cell("a", [[1.0, 3.0], [2.0, 6.0]])
        assert means(row) == {0: 2.0, 1: 4.0}
        found = compare(row, cell("b", [[2.0, 3.0], [2.0, 7.0]]))
        assert found is not None
        assert found.repeats == 2
        assert found.differences == (0.5, 0.5)
        assert found.shift == 0.5

    def test_the_other_way_round_the_shift_turns_and_p_stays(self, cell: Cell) -> None:
        one, other = cell("a", RNG(1).normal(1, 0.1, (12, 5))), cell("b", RNG(2).normal(1.05, 0.1, (12, 5)))
        there, back = compare(one, other), compare(other, one)
        assert there is not None
        assert back is not None
        assert (back.shift, back.low, back.high) == (-there.shift, -there.high, -there.low)
        assert back.p == there.p
        assert back.more_repeats == there.more_repeats
        assert there.low < there.shift < there.high

    def test_pairs_are_by_repeat_whatever_their_order(self, cell: Cell) -> None:
        """Between repeats much varies, within a pair little: only the pairs can tell the two apart."""
        hard = RNG(1).normal(10, 5, 20)
        one, other = cell("a", hard), cell("b", hard + RNG(2).normal(0.1, 0.01, 20))
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

    def test_a_run_without_an_error_is_dropped_on_both_sides(self, cell: Cell) -> None:
        errors = np.tile([1.0, 100.0], (8, 1))
        broken = errors.copy()
        broken[3] = [np.nan, 100.0]
        broken[5] = [np.nan, np.inf]
        found = compare(cell("a", errors), cell("b", broken))
        assert found is not None
        assert found.dropped == 3
        assert found.repeats == 7, "the repeat that has no run left is gone"
        assert set(found.differences) == {0.0}, "the fold that is harder does not count against whom it is left"
        assert means(cell("b", broken))[3] == 100.0
        assert 5 not in means(cell("b", broken))

    def test_only_repeats_that_both_have_are_compared(self, cell: Cell) -> None:
        found = compare(cell("a", [1.0] * 10), cell("b", [2.0] * 7))
        assert found is not None
        assert found.repeats == 7
        assert compare(cell("a", [1.0]), replace(cell("b", [1.0]), detail=DetailInMemory())) is None
        assert compare(cell("a", [1.0]), cell("b", [np.nan])) is None

    def test_equal_cells_are_not_separated_and_never_will_be(self, cell: Cell) -> None:
        found = compare(cell("a", [0.5] * 20), cell("b", [0.5] * 20))
        assert found is not None
        assert (found.shift, found.low, found.high, found.p) == (0, 0, 0, 1)
        assert not found.separated
        assert found.more_repeats is None

    def test_huge_errors_pass_without_a_warning(self, cell: Cell) -> None:
        found = compare(cell("a", np.full((8, 5), 1e-300)), cell("b", np.full((8, 5), 1.7e308)))
        assert found is not None
        assert found.separated
        assert math.isfinite(found.shift)

    def test_the_larger_the_difference_the_fewer_repeats_are_missing(self, cell: Cell) -> None:
        spread = stats.norm.ppf((np.arange(40) + 0.5) / 40)
        asked = [compare(cell("a", np.zeros(40)), cell("b", spread + size)) for size in (0.02, 0.05, 0.1, 0.2, 0.3)]
        missing = [found.more_repeats for found in asked if found]
        assert None not in missing
        assert missing == sorted(missing, reverse=True)  # type: ignore[type-var]
        assert len(set(missing)) == 5
        assert min(missing) > 10  # type: ignore[type-var]
        large = compare(cell("a", np.zeros(40)), cell("b", spread + 2))
        assert large is not None
        assert large.separated
        assert large.more_repeats is None

    def test_a_difference_too_small_for_a_hundred_thousand_repeats_is_hopeless(self, cell: Cell) -> None:
        spread = stats.norm.ppf((np.arange(400) + 0.5) / 400)
        found = compare(cell("a", np.zeros(400)), cell("b", spread + 0.002))
        assert found is not None
        assert found.more_repeats is None
        assert not found.separated


class TestLeaderboard:
    def test_the_best_has_the_smallest_median_of_the_repeats_means(self, cell: Cell) -> None:
        steady, bad_folds = cell("steady", np.full((9, 5), 0.3)), np.full((9, 5), 0.2)
        bad_folds[:, 0] = 5.0
        board = led([cell("wild", bad_folds), steady, cell("worse", np.full((9, 5), 0.4))])
        assert board.best is steady
        assert board.median == pytest.approx(0.3)
        assert [found.second.params["mechanism"] for found in board.comparisons] == ["worse", "wild"]

    def test_only_ranked_cells_are_on_it(self, cell: Cell) -> None:
        rows = [cell("odd", [0.1] * 8, **{"dpbench.sound": "false"}), cell("fm", [0.2] * 8), cell("none", [np.nan] * 8)]
        board = led(rows)
        assert board.best is rows[1]
        assert board.comparisons == ()
        assert against_best(rows[:1]) is None
        assert against_best(rows[2:]) is None

    def test_holms_correction_counts_every_pair(self, cell: Cell) -> None:
        """Four cells have six pairs, as the best could have been any: the smallest p six times, the next five, never falling."""
        base = RNG(0).normal(1, 0.02, 12)
        rows = [cell("best", base)] + [
            cell(f"m{size}", base + RNG(index).normal(size, 0.02, 12)) for index, size in enumerate((0.005, 0.02, 0.05), 1)
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

    def test_a_larger_p_is_never_corrected_to_a_smaller_one(self, cell: Cell) -> None:
        base = RNG(0).normal(1, 0.02, 12)
        alike = led([cell("best", base), cell("far", base + 1), cell("farther", base + 2)]).comparisons
        assert [found.p for found in alike] == [2 / 2**12] * 2
        assert [found.corrected for found in alike] == [3 * 2 / 2**12] * 2

    def test_of_equal_cells_none_is_called_better_more_often_than_it_may(self, cell: Cell) -> None:
        """8 equal cells, 20 repeats, 300 sweeps: at most 5 %, so 30 or more are a chance of 1 in 1,000.

        Corrected for the 7 comparisons with the best alone it is 28 pairs' worth of luck: about 10 %.
        """
        wrong = 0
        for sample in RNG(8).normal(1, 0.1, (300, 8, 20)):
            board = led([cell(f"m{index}", errors) for index, errors in enumerate(sample)])
            wrong += any(found.separated for found in board.comparisons)
        assert wrong < 30 * 0.9

    def test_the_order_of_the_cells_changes_nothing(self, cell: Cell) -> None:
        rows = [cell(f"m{index}", RNG(index).normal(1 + index / 50, 0.05, (15, 3))) for index in range(5)]
        one, other = led(rows), led(rows[::-1])
        assert one.best is other.best
        assert one.comparisons == other.comparisons

    def test_cells_whose_runs_are_lost_are_named_and_not_compared(self, cell: Cell) -> None:
        lost = replace(cell("lost", [0.3] * 8), detail=DetailInMemory())
        board = led([lost, cell("fm", [0.2] * 8)])
        assert board.unpaired == (lost,)
        assert board.comparisons == ()
        lost = replace(cell("lost", [0.1] * 8), detail=DetailInMemory())
        assert led([lost, cell("fm", [0.2] * 8)]).best is lost

    def test_groups_keep_problems_and_epsilons_apart(self, cell: Cell) -> None:
        rows = [cell("a", [1.0], dataset=name, epsilon=size) for name in ("wine", "adult") for size in (0.1, 0.8)]
        rows += [cell("b", [1.0]), cell("c", [1.0], **{"dpbench.private": "false"})]
        assert sorted(len(found) for found in groups(rows).values()) == [1, 1, 1, 2]


DEMSAR = """
4 3 2 1; 1 2 3 4; 4 1 2 3; 4 1 3 2; 4 2 3 1; 1 2.5 4 2.5; 3 2 4 1; 2.5 2.5 4 1; 4 3 2 1; 2.5 2.5 2.5 2.5; 4 2.5 1 2.5; 3 2 4 1;
4 1 2 3; 3 1 4 2
"""
"""The ranks of four classifiers on 14 datasets (Demšar 2006, Table 6)."""


class TestRanks:
    @pytest.fixture
    def table(self) -> np.ndarray:
        return np.array([[float(rank) for rank in line.split()] for line in DEMSAR.split(";")])

    def rows(self, cell: Cell, table: np.ndarray) -> list[CellRecord]:
        return [
            cell(f"m{column}", [value], dataset=f"d{line}")
            for line, errors in enumerate(table)
            for column, value in enumerate(errors)
        ]

    def test_the_example_of_the_paper(self, cell: Cell, table: np.ndarray) -> None:
        found = ranks(self.rows(cell, table))
        assert found is not None
        assert found.names == ("m3", "m1", "m2", "m0")
        assert found.mean_ranks == pytest.approx((1.964, 2.0, 2.893, 3.143), abs=5e-4)
        assert found.critical == pytest.approx(1.25, abs=0.005)
        assert len(found.datasets) == 14
        expected = stats.friedmanchisquare(*table.T)
        assert found.p == pytest.approx(expected.pvalue, rel=1e-9)

    def test_the_quantiles_are_those_of_the_paper(self) -> None:
        """q at 5 % (Demšar 2006, Table 5a), where k (k + 1) / (6 N) is 1."""
        printed = (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)
        for count, quantile in enumerate(printed, 2):
            found = critical_difference(count, 1) / math.sqrt(count * (count + 1) / 6)
            assert found == pytest.approx(quantile, abs=1.5e-3)
            assert found == pytest.approx(stats.studentized_range.isf(0.05, count, np.inf) / math.sqrt(2), rel=1e-5)

    def test_a_small_table_is_counted_out(self) -> None:
        """Two mechanisms in the same order on each of n datasets: a coin that falls on one side n times."""
        for count in (2, 5, 10):
            assert friedman(np.tile([1.0, 2.0], (count, 1))) == pytest.approx(2 * 0.5**count)
        assert friedman(np.tile([1.0, 2.0, 3.0], (3, 1))) == pytest.approx(1 / 36)
        assert friedman(np.full((4, 3), 2.0)) == 1.0

    def test_the_names_carry_nothing(self, cell: Cell, table: np.ndarray) -> None:
        rows = self.rows(cell, table)
        found = ranks(rows)
        names = {"m0": "z", "m1": "a", "m2": "k", "m3": "b"}
        other = ranks([replace(row, params={**row.params, "mechanism": names[row.params["mechanism"]]}) for row in rows[::-1]])
        assert found is not None
        assert other is not None
        assert other.names == tuple(names[name] for name in found.names)
        assert other.mean_ranks == pytest.approx(found.mean_ranks)
        assert (other.p, other.critical) == pytest.approx((found.p, found.critical))

    def test_a_dataset_counts_once_however_often_it_is_used(self, cell: Cell, table: np.ndarray) -> None:
        rows = self.rows(cell, table)
        again = [replace(row, params={**row.params, "model": "ridge"}) for row in rows]
        more = [replace(row, metrics={**row.metrics, "privacy/epsilon_accounted": 2.0}) for row in rows]
        assert ranks([*rows, *again, *more]) == ranks(rows)

    def test_ranks_on_one_dataset_are_averaged_first(self, cell: Cell) -> None:
        """On d0 the two change places between the ε; on d1 one is first at the only one: (1.5 + 1) / 2, not (1 + 2 + 1) / 3."""
        rows = [cell("a", [1.0], dataset="d0", epsilon=1), cell("b", [2.0], dataset="d0", epsilon=1)]
        rows += [cell("a", [2.0], dataset="d0", epsilon=2), cell("b", [1.0], dataset="d0", epsilon=2)]
        rows += [cell("a", [1.0], dataset="d1", epsilon=1), cell("b", [2.0], dataset="d1", epsilon=1)]
        found = ranks(rows)
        assert found is not None
        assert found.mean_ranks == (1.25, 1.75)
        assert found.datasets == ("d0", "d1")

    def test_too_few_datasets_have_no_critical_difference(self, cell: Cell) -> None:
        for count in range(1, 7):
            found = ranks(self.rows(cell, np.tile([1.0, 2.0], (count, 1))))
            assert found is not None
            assert (found.critical is not None) is (count >= 4), "1.96 / √n must be below 1"
            assert (found.p is not None) is (count >= 2)

    def test_what_may_not_be_ranked_has_no_rank(self, cell: Cell, table: np.ndarray) -> None:
        rows = self.rows(cell, table)
        better = [cell("odd", [0.0], dataset=f"d{line}", **{"dpbench.sound": "false"}) for line in range(14)]
        assert ranks([*rows, *better]) == ranks(rows)

    def test_only_problems_that_all_have_count_and_a_rare_mechanism_is_left_out(self, cell: Cell, table: np.ndarray) -> None:
        rows = self.rows(cell, table)
        rare = cell("rare", [0.0], dataset="d0")
        elsewhere = [cell("irls", [0.0], dataset=f"d{line}", epsilon=6.827) for line in range(14)]
        assert ranks([*rows, rare, *elsewhere]) == ranks(rows)
        one_missing = [row for row in rows if (row.params["mechanism"], row.params["dataset"]) != ("m0", "d5")]
        found = ranks(one_missing)
        assert found is not None
        assert len(found.datasets) == 13
        assert len(found.names) == 4

    def test_a_cell_without_a_finite_error_is_the_last(self, cell: Cell) -> None:
        rows = [cell("a", [np.nan]), cell("b", [9.0]), cell("c", [5.0])]
        found = ranks(rows)
        assert found is not None
        assert found.names == ("c", "b", "a")

    def test_there_is_nothing_to_rank_where_no_two_share_a_problem(self, cell: Cell) -> None:
        assert ranks([]) is None
        assert ranks([cell("a", [1.0]), cell("b", [1.0], dataset="adult")]) is None
