"""The signed-rank test, its interval, and the number of repeats that it needs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from report_helpers import RNG
from scipy import stats

from dpbench.report.statistics.paired import LEVEL
from dpbench.report.statistics.signed_rank import MAX_EXACT, min_sample_size, p_value, sample_size, shift


@pytest.mark.parametrize("count", [1, 2, 5, 6, 13, 50])
def test_it_agrees_with_scipys_exact_one(count: int) -> None:
    for seed in range(5):
        differences = RNG(seed).normal(0.3, 1, count)
        assert p_value(differences.tolist()) == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue, rel=1e-9)


def test_beyond_it_agrees_with_scipys_approximation() -> None:
    differences = RNG(1).normal(0.1, 1, MAX_EXACT + 50)
    differences[:40] = np.round(differences[:40], 1)
    differences = differences[differences != 0]
    expected = stats.wilcoxon(differences, method="asymptotic", correction=True).pvalue
    assert p_value(differences.tolist()) == pytest.approx(expected, rel=1e-9)


def test_with_ties_and_zeros_it_counts_every_choice_of_signs() -> None:
    differences = [0.0, 1.0, 1.0, -1.0, 2.0, 2.0, 2.0, 0.0, -3.0, 4.0]
    kept = np.array([value for value in differences if value])
    sizes = stats.rankdata(np.abs(kept))
    sums = np.array([sizes[np.array(signs)].sum() for signs in itertools.product([False, True], repeat=len(kept))])
    found = sizes[kept > 0].sum()
    assert p_value(differences) == pytest.approx(2 * min((sums <= found).mean(), (sums >= found).mean()))


def test_exact_and_approximate_meet() -> None:
    """The largest sample that is counted, and one more difference of a middling rank."""
    values = RNG(3).normal(0.12, 1, MAX_EXACT).tolist()
    below, beyond = p_value(values), p_value([*values, 1e-9])
    assert below == pytest.approx(beyond, rel=0.05)
    assert shift(values) == pytest.approx(shift([*values, 1e-9]), abs=0.01)


def test_nothing_differs_in_nothing() -> None:
    assert p_value([0.0] * 20) == 1.0
    assert shift([0.0] * 20) == (0.0, 0.0, 0.0)
    assert sample_size([0.0] * 20, LEVEL) == math.inf


def test_fewer_than_six_repeats_reach_nothing() -> None:
    assert min_sample_size(LEVEL) == 6
    for count in range(1, 9):
        same_sign = list(range(1, count + 1))
        assert (p_value(same_sign) < LEVEL) is (count >= 6)
        assert math.isfinite(shift(same_sign)[1]) is (count >= 6)
    for level in (0.05 / 3, 0.05 / 45):
        count = min_sample_size(level)
        assert p_value(list(range(1, count + 1))) < level <= p_value(list(range(1, count)))


@pytest.mark.parametrize("count", [8, 30])
def test_the_interval_covers_the_shift_as_often_as_it_says(count: int) -> None:
    """Exact for symmetric errors: 1 - 2 · 5 / 2⁸ = 96.1 % at 8, where the next step would be below 95 %, and 95.0 % at 30.

    2000 samples within four standard deviations: fails by chance for one seed in 10,000.
    """
    samples = RNG(11).normal(0.7, 2.0, (2000, count))
    covered = np.mean([low <= 0.7 <= high for _, low, high in (shift(sample) for sample in samples.tolist())])
    stated = {8: 1 - 10 / 256, 30: 0.950}[count]
    assert abs(covered - stated) < 4 * math.sqrt(stated * (1 - stated) / 2000)


def test_the_interval_leaves_out_zero_where_the_test_rejects() -> None:
    for seed in range(200):
        differences = RNG(seed).normal(0.5, 1, 15).tolist()
        _, low, high = shift(differences)
        assert (p_value(differences) <= 0.05) is not (low <= 0 <= high)


def test_with_as_many_as_it_asks_for_the_test_separates_four_times_in_five() -> None:
    """Noether's number from the true chance; 400 samples, power 0.8 ± 0.08 is four standard deviations."""
    population = RNG(5).normal(0.4, 1, 600).tolist()
    size = math.ceil(sample_size(population, LEVEL))
    assert 30 < size < 90
    centred = np.array(population) - np.mean(population) + 0.4
    samples = RNG(6).choice(centred, (400, size))
    assert np.mean([p_value(sample) < LEVEL for sample in samples.tolist()]) == pytest.approx(0.8, abs=0.1)
