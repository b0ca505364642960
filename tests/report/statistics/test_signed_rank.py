"""The Hodges-Lehmann shift and its interval by the signed ranks."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from report_helpers import RNG
from scipy import stats

from dpbench.report.statistics.signed_rank import MAX_EXACT, shift, signed_rank_p


@pytest.mark.parametrize("count", [8, 30])
def test_the_interval_covers_the_shift_as_often_as_it_says(count: int) -> None:
    """Exact for symmetric errors: 1 - 2 · 5 / 2⁸ = 96.1 % at 8, where the next step would be below 95 %, and 95.0 % at 30.

    2000 samples within four standard deviations: fails by chance for one seed in 10,000.
    """
    samples = RNG(11).normal(0.7, 2.0, (2000, count))
    covered = np.mean([low <= 0.7 <= high for _, low, high in (shift(sample) for sample in samples.tolist())])
    stated = {8: 1 - 10 / 256, 30: 0.950}[count]
    assert abs(covered - stated) < 4 * math.sqrt(stated * (1 - stated) / 2000)


def test_exact_and_approximate_meet() -> None:
    """The largest sample that is counted, and one more difference of a middling rank."""
    values = RNG(3).normal(0.12, 1, MAX_EXACT).tolist()
    assert shift(values) == pytest.approx(shift([*values, 1e-9]), abs=0.01)


def test_nothing_differs_in_nothing() -> None:
    assert shift([0.0] * 20) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("count", "finite"), [(1, False), (5, False), (6, True), (8, True)])
def test_fewer_than_six_repeats_have_no_interval(count: int, finite: bool) -> None:
    """Six of one sign are a chance of 2 in 64; five of 2 in 32, which is more than 5 %."""
    assert math.isfinite(shift(list(range(1, count + 1)))[1]) is finite


def test_the_interval_leaves_out_zero_where_the_test_rejects() -> None:
    for seed in range(200):
        differences = RNG(seed).normal(0.5, 1, 15).tolist()
        _, low, high = shift(differences)
        assert (stats.wilcoxon(differences, method="exact").pvalue <= 0.05) is not (low <= 0 <= high)


@pytest.mark.parametrize("count", [5, 12, 25])
def test_the_p_is_that_of_the_textbook_where_no_two_differences_are_equal(count: int) -> None:
    values = RNG(count).normal(0.4, 1, count)
    assert signed_rank_p(values.tolist()) == pytest.approx(stats.wilcoxon(values, method="exact").pvalue)


def test_equal_differences_share_their_ranks_and_zeros_do_not_count() -> None:
    """Of the 8 signs of three equal differences, two are as extreme as all of one sign."""
    assert signed_rank_p([0.0, 1.0, 1.0, 1.0, 0.0]) == pytest.approx(2 / 8)
    assert signed_rank_p([1.0, -1.0]) == 1
    assert signed_rank_p([0.0, 0.0]) == 1


def test_ties_keep_the_level() -> None:
    """All signs of differences with ties, counted one by one."""
    sizes = np.array([1.0, 1.0, 2.0, 3.0, 3.0, 5.0])
    signs = np.array(list(itertools.product((-1, 1), repeat=len(sizes))))
    ps = np.array([signed_rank_p((sign * sizes).tolist()) for sign in signs])
    assert all((ps <= level).mean() <= level for level in (0.05, 0.1, 0.25, 0.5))
