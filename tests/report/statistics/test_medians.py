"""The difference of two medians: its interval, its p-value, and the number of repeats that it needs, by simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from report_helpers import RNG
from scipy import stats

from dpbench.report.statistics import medians
from dpbench.report.statistics.medians import MedianDifference, median_difference, min_repeats, p_value, sample_size


def p_of(first: np.ndarray, second: np.ndarray) -> float:
    return p_value(first, second, median_difference(first, second))


def is_separated(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether p is below 0.05. It is the larger p of two tests, and the quick one comes first: it decides most pairs alone."""
    difference = median_difference(first, second)
    return difference.p < 0.05 and p_value(first, second, difference) < 0.05


def pair(law: str, repeats: int, folds: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two cells with the same median: repeats have something in common, and the spreads are alike or ten times apart."""
    common = generator.normal(0, 0.3, (repeats, 1))
    if law == "alike":
        return common + generator.normal(0, 1, (repeats, folds)), common + generator.normal(0, 1, (repeats, folds))
    if law == "exploding":
        return tuple(generator.standard_cauchy((2, repeats, folds)))
    return 0.1 * common + generator.normal(0, 0.1, (repeats, folds)), common + generator.normal(0, 1, (repeats, folds))


def test_it_is_the_difference_of_the_medians_over_all_runs() -> None:
    one, other = RNG(1).normal(0, 1, (7, 5)), RNG(2).normal(3, 1, (7, 4))
    other[2, 1] = one[0, 0] = np.nan
    assert median_difference(one, other).value == pytest.approx(np.nanmedian(other) - np.nanmedian(one), rel=1e-12)


def test_a_draw_of_the_bootstrap_is_the_median_of_the_repeats_that_it_has() -> None:
    """Against numpy, on repeated rows: with a missing run, ties and an even number of runs."""
    values = RNG(3).normal(0, 1, (6, 3)).round(1)
    values[4, 2] = np.nan
    weights = RNG(4).multinomial(6, np.full(6, 1 / 6), size=50)
    expected = [np.nanmedian(np.repeat(values, weight, axis=0)) for weight in weights]
    np.testing.assert_allclose(medians._weighted_medians(values, weights), expected, rtol=1e-12)


def test_with_few_repeats_every_way_to_swap_is_counted() -> None:
    one, other = RNG(5).normal(0, 1, (7, 2)), RNG(6).normal(1, 1, (7, 2))
    observed, sizes = abs(np.median(other) - np.median(one)), []
    for signs in itertools.product([False, True], repeat=7):
        swapped = np.array(signs)[:, None]
        sizes.append(abs(np.median(np.where(swapped, one, other)) - np.median(np.where(swapped, other, one))))
    assert medians._permutation_p(one, other) == np.mean(np.array(sizes) >= observed * (1 - 1e-9))


def test_random_swaps_agree_with_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four standard deviations of a share over 4,999 draws, and of a hundred exceedances: 0.05 fails once in 16,000 seeds."""
    for shift in (0.2, 0.8):
        one, other = RNG(7).normal(0, 1, (12, 3)), RNG(8).normal(shift, 1, (12, 3))
        exact = medians._permutation_p(one, other)
        with monkeypatch.context() as patch:
            patch.setattr(medians, "MAX_ENUMERATED_REPEATS", 5)
            drawn = medians._permutation_p(one, other)
        assert drawn == pytest.approx(exact, abs=max(0.4 * exact, 4 * math.sqrt(exact / 4999)))


def test_the_same_values_give_the_same_numbers() -> None:
    one, other = RNG(1).normal(0, 1, (20, 5)), RNG(2).normal(0.4, 1, (20, 5))
    assert median_difference(one, other) == median_difference(one.copy(), other.copy())
    assert p_of(one, other) == p_of(one.copy(), other.copy())


def test_turned_round_the_difference_turns_and_p_stays() -> None:
    one, other = RNG(1).normal(0, 1, (20, 5)), RNG(2).normal(0.4, 1, (20, 5))
    there, back = median_difference(one, other), median_difference(other, one)
    assert back.value == -there.value
    assert back.interval == pytest.approx((-there.interval[1], -there.interval[0]))
    assert p_of(one, other) == pytest.approx(p_of(other, one))


def test_one_exploding_run_does_not_stretch_the_interval() -> None:
    one, other = RNG(1).normal(0.75, 0.002, (10, 5)), RNG(2).normal(0.76, 0.002, (10, 5))
    before = median_difference(one, other).interval
    other[3, 2] = 8.49
    after = median_difference(one, other).interval
    assert after == pytest.approx(before, abs=0.001)


def test_the_folds_of_a_repeat_stay_together() -> None:
    """Folds that are all alike are no evidence of their own: ten of them give the interval of one."""
    one, other = RNG(1).normal(0, 1, (15, 1)), RNG(2).normal(0.5, 1, (15, 1))
    single, tenfold = median_difference(one, other), median_difference(np.tile(one, 10), np.tile(other, 10))
    assert tenfold.interval == pytest.approx(single.interval)
    assert p_of(np.tile(one, 10), np.tile(other, 10)) == p_of(one, other)


@pytest.mark.parametrize("repeats", [1, 2, 5])
def test_fewer_than_six_repeats_have_no_interval_and_separate_nothing(repeats: int) -> None:
    one, other = np.zeros((repeats, 5)), np.ones((repeats, 5)) + RNG(0).normal(0, 1e-3, (repeats, 5))
    assert median_difference(one, other).interval == (-math.inf, math.inf)
    assert p_of(one, other) == 1.0
    assert min_repeats(0.05) == 6


@pytest.mark.parametrize("level", [0.05, 0.05 / 3, 0.05 / 45])
def test_the_fewest_repeats_can_reach_the_level_and_one_less_cannot(level: float) -> None:
    fewest = min_repeats(level)
    assert 2 / 2**fewest <= level < 2 / 2 ** (fewest - 1)
    one = RNG(1).normal(0, 1e-6, (fewest, 1))
    assert p_of(one, one + 1) <= level


@pytest.mark.parametrize("law", ["alike", "exploding", "spreads apart"])
def test_p_is_never_below_that_of_either_test(law: str) -> None:
    values = pair(law, 14, 2, RNG(7))
    difference = median_difference(*values)
    assert p_of(*values) == max(difference.p, medians._permutation_p(*values))


def test_equal_cells_have_a_difference_of_zero_and_a_p_of_one() -> None:
    one = RNG(1).normal(0, 1, (20, 5))
    difference = median_difference(one, one)
    assert (difference.value, difference.interval, p_of(one, one)) == (0, (0, 0), 1)
    assert sample_size(difference, 0.05) == math.inf


def test_huge_errors_pass_without_a_warning() -> None:
    difference = median_difference(np.full((8, 5), 1e-300), np.full((8, 5), 1.7e308))
    assert math.isfinite(difference.value)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["alike", "exploding", "spreads apart"])
@pytest.mark.parametrize(("repeats", "folds"), [(8, 1), (12, 2), (20, 5)])
def test_equal_medians_are_called_different_once_in_twenty(law: str, repeats: int, folds: int) -> None:
    """500 pairs: 5 % and three standard deviations are 7.9 %."""
    generator = RNG(sum(map(ord, law)) + repeats)
    pairs = [pair(law, repeats, folds, generator) for _ in range(500)]
    assert np.mean([is_separated(*values) for values in pairs]) < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 500)


def test_the_permutation_test_alone_takes_another_spread_for_another_median() -> None:
    """This is why p is the larger one of two: of 60 pairs with equal medians, more than a third would be called different."""
    pairs = [pair("spreads apart", 20, 2, RNG(seed)) for seed in range(60)]
    assert np.mean([medians._permutation_p(*values) < 0.05 for values in pairs]) > 1 / 3
    assert np.mean([is_separated(*values) for values in pairs]) < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 60)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["alike", "exploding", "spreads apart"])
@pytest.mark.parametrize(("repeats", "folds"), [(8, 1), (12, 2), (20, 5), (50, 5)])
def test_the_interval_covers_the_difference_as_often_as_it_says(law: str, repeats: int, folds: int) -> None:
    """600 pairs: at least 95 %, less three standard deviations (2.7 points)."""
    generator = RNG(sum(map(ord, law)) + repeats + 1)
    covered = []
    for _ in range(600):
        one, other = pair(law, repeats, folds, generator)
        low, high = median_difference(one, other + 0.7).interval
        covered.append(low <= 0.7 <= high)
    assert np.mean(covered) > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 600)


@pytest.mark.slow
def test_with_as_many_repeats_as_it_asks_for_the_difference_is_separated_four_times_in_five() -> None:
    """The error of the median of n normal values is √(π/2n), and the difference of two has √2 times it; 200 trials ± 0.1."""
    error = math.sqrt(math.pi / 2 / 30) * math.sqrt(2)
    size = math.ceil(sample_size(MedianDifference(0.7, error, 30), 0.05))
    quantiles = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert size == math.ceil(math.pi * (quantiles / 0.7) ** 2)
    generator = RNG(9)
    power = [is_separated(generator.normal(0, 1, (size, 1)), generator.normal(0.7, 1, (size, 1))) for _ in range(200)]
    assert np.mean(power) == pytest.approx(0.8, abs=0.1)
