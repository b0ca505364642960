"""A summary has the law of noise on every bin, and never visits an empty one.

Every statistical test below rejects a correct implementation with probability at most 1e-6 over the choice of the seed.
"""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats

from dpbench.base.random_streams import stream
from dpbench.data.bins import BinCounts, Binning
from dpbench.privacy.noise import geometric
from dpbench.privacy.queries import sparse_histogram
from dpbench.privacy.queries.histogram import Histogram
from dpbench.privacy.queries.sparse_histogram import (
    draw_empty_bins,
    draw_successes,
    draw_summary,
    expected_survivors,
    positions_after,
    priority_sample,
    smallest_threshold,
)

FALSE_ALARM = 1e-6


@pytest.fixture
def few(geometry, rows):
    """Seven rows in 4 x 4 bins (one feature, the target): 3 in bin 0, 2 in bin 5, 1 each in 6 and 15."""
    g = geometry(1)
    x = np.array([-0.9, -0.9, -0.9, -0.3, -0.3, -0.3, 0.9])
    y = np.array([-0.9, -0.9, -0.8, -0.3, -0.4, 0.3, 0.9])
    return rows(g, x[:, None], y), Histogram(Binning(g, 4))


COUNTS = np.zeros(16)

COUNTS[[0, 5, 6, 15]] = [3, 2, 1, 1]


def scanned(curator, query, noise, step=16, run=0):
    return np.concatenate([counts for _, counts in curator.scan(query, noise, step).blocks(run)])


@pytest.mark.parametrize(("scale", "threshold"), [(0.7, 1), (2.5, 1), (2.5, 3)])
def test_which_bins_survive_has_the_exact_joint_law(scale, threshold, geometry) -> None:
    """All 2^6 outcomes on 6 bins of which 2 are filled, against the product of the exact chances: χ², false alarm 1e-6."""
    grid = Binning(geometry(0, (2,)), 2)
    counts = BinCounts(np.array([[1], [4]]), np.array([1.0, 3.0]))
    a = np.exp(-1 / scale)
    tail = {m: a**m / (1 + a) if m >= 1 else 1 - a ** (1 - m) / (1 + a) for m in range(-5, 6)}  # P[X >= m]
    chance = [tail[threshold - int(count)] for count in (0, 1, 0, 0, 3, 0)]
    draws = 30_000
    outcomes = np.zeros(64)
    generator = stream(3, "joint", threshold)
    for _ in range(draws):
        outcomes[(1 << draw_summary(counts, grid, scale, threshold, 10, generator).index[:, 0]).sum()] += 1
    bits = np.array(list(product([0, 1], repeat=6)))[:, ::-1]
    expected = np.where(bits, chance, 1 - np.array(chance)).prod(axis=1) * draws
    rare = expected < 10
    pooled = np.append(outcomes[~rare], outcomes[rare].sum()), np.append(expected[~rare], expected[rare].sum())
    keep = pooled[1] > 0
    assert stats.chisquare(pooled[0][keep], pooled[1][keep]).pvalue > FALSE_ALARM


def test_the_counts_of_survivors_have_the_conditional_law(geometry) -> None:
    """Counts of a filled and of an empty bin that reach θ = 2: χ² on the integers, false alarm 1e-6."""
    grid, scale, threshold = Binning(geometry(0, (2,)), 2), 2.0, 2
    counts = BinCounts(np.array([[4]]), np.array([3.0]))
    generator = stream(4, "counts")
    kept = [draw_summary(counts, grid, scale, threshold, 10, generator) for _ in range(30_000)]
    index, count = (np.concatenate([getattr(s, name) for s in kept]) for name in ("index", "counts"))
    assert (count == np.round(count)).all()
    a = np.exp(-1 / scale)
    for values, exact in ((count[index[:, 0] == 4], 3), (count[index[:, 0] != 4], 0)):
        last = 14
        inner = np.arange(threshold, last)
        pmf = (1 - a) / (1 + a) * a ** np.abs(inner - exact)
        pmf = np.append(pmf, a ** (last - exact) / (1 + a))
        expected = pmf / pmf.sum() * len(values)
        found = np.bincount(np.minimum(values, last).astype(int) - threshold, minlength=len(expected))
        assert stats.chisquare(found, expected).pvalue > FALSE_ALARM / 2


def test_the_summary_is_the_law_of_noise_on_every_bin(few, curate, repeated) -> None:
    """Through the curator, against filtering a full noisy table: moments of every bin's remaining count. False alarm 1e-6."""
    sample, query = few
    runs, threshold, scale = 4_000, 2, 2 / 1.5
    drawn = curate(repeated(sample, runs), 1.5).sparse(query, geometric(2, 1.5, "p"), threshold, 16)
    found = np.zeros((runs, 16))
    for run, kept in enumerate(drawn):
        found[run, kept.index[:, 0]] = kept.counts
    every = np.arange(-80, 81)
    a = np.exp(-1 / scale)
    pmf = (1 - a) / (1 + a) * a ** np.abs(every)
    for number in range(16):
        value = COUNTS[number] + every
        value = np.where(value >= threshold, value, 0)
        mean, square = (pmf * value).sum(), (pmf * value**2).sum()
        score = (found[:, number].mean() - mean) / np.sqrt((square - mean**2) / runs)
        assert abs(score) < stats.norm.isf(FALSE_ALARM / 32 / 8), f"bin {number} is {score:.1f} standard errors away"


def test_successes_are_those_of_independent_trials() -> None:
    """All 2^5 outcomes of 5 trials with the chance 0.3, of which some need a second batch: χ², false alarm 1e-6."""
    outcomes, generator = np.zeros(32), stream(8, "successes")
    for _ in range(30_000):
        drawn = draw_successes(5, 0.3, generator)
        assert (np.diff(drawn) > 0).all()
        outcomes[(1 << drawn).sum()] += 1
    successes = np.array([number.bit_count() for number in range(32)])
    assert stats.chisquare(outcomes, 30_000 * 0.3**successes * 0.7 ** (5 - successes)).pvalue > FALSE_ALARM


def test_rare_successes_are_uniform_and_as_many_as_their_law_says() -> None:
    """500 times 10^10 trials with the chance 10^-8: their numbers, their places and their last digits. False alarm 1e-6."""
    trials, chance = 10**10, 1e-8
    drawn = [draw_successes(trials, chance, stream(9, "rare", number)) for number in range(500)]
    numbers, places = np.array([len(each) for each in drawn]), np.concatenate(drawn)
    assert places.min() >= 0
    assert places.max() < trials
    expected = trials * chance * len(drawn)
    assert abs(numbers.sum() - expected) < stats.norm.isf(FALSE_ALARM / 10) * np.sqrt(expected)
    assert abs(numbers.var() / 100 - 1) < stats.norm.isf(FALSE_ALARM / 20) * np.sqrt(2.01 / len(drawn))
    assert stats.kstest(places / trials, "uniform").pvalue > FALSE_ALARM / 5
    assert stats.chisquare(np.bincount(places % 10)).pvalue > FALSE_ALARM / 5


@pytest.mark.parametrize("wide", [False, True])
def test_empty_bins_are_uniform_and_without_replacement(wide, geometry) -> None:
    """Each of the 12 empty bins of 16 as often as the others, 5 at a time; of 8^61 bins, each coordinate. False alarm 1e-6."""
    generator = stream(5, "empty", int(wide))
    if wide:
        grid = Binning(geometry(60), 8)
        filled = grid.count(generator.integers(0, [8 ** len(word) for word in grid.index_axes], (50, 4))).index
        bins = draw_empty_bins(filled, grid, 5_000, generator)
        z = grid.centres(bins).z[:, 1:]
        found = np.stack([np.bincount(np.rint((column + 1) * 4 - 0.5).astype(int), minlength=8) for column in z.T])
        assert min(stats.chisquare(row).pvalue for row in found) > FALSE_ALARM / 61
        assert len(np.unique(bins, axis=0)) == 5_000
        return
    grid, filled = Binning(geometry(1), 4), np.array([[0], [5], [6], [15]])
    times, pairs = np.zeros(16), np.zeros((16, 16))
    for _ in range(12_000):
        bins = draw_empty_bins(filled, grid, 5, generator)[:, 0]
        assert len(set(bins.tolist())) == 5
        times[bins] += 1
        pairs[np.ix_(bins, bins)] += 1
    empty = np.setdiff1d(np.arange(16), filled)
    assert times[filled[:, 0]].sum() == 0
    # counts of a fixed number of distinct bins vary less than independent ones: by (1 - 5/12) · 12/11
    chi = ((times[empty] - 5_000) ** 2 / 5_000).sum() / (7 / 11)
    assert stats.chi2.sf(chi, 11) > FALSE_ALARM / 2
    together = pairs[np.ix_(empty, empty)][np.triu_indices(12, 1)]
    each = 12_000 * 5 * 4 / (12 * 11)
    score = (together - each) / np.sqrt(each * (1 - each / 12_000))
    assert np.abs(score).max() < stats.norm.isf(FALSE_ALARM / 4 / 66)


def test_all_empty_bins_can_be_drawn(geometry) -> None:
    grid = Binning(geometry(1), 4)
    bins = draw_empty_bins(np.array([[0], [5], [15]]), grid, 13, stream(0, "all"))
    assert sorted(bins[:, 0].tolist()) == [c for c in range(16) if c not in (0, 5, 15)]


def test_an_empty_bin_that_is_drawn_again_is_never_a_filled_one(geometry, monkeypatch) -> None:
    """With names of one bit each, collisions are the rule: what is filled or drawn before is drawn anew."""
    monkeypatch.setattr("dpbench.data.bins.INDEX_LIMIT", 3)
    grid = Binning(geometry(3), 2)
    assert len(grid.index_axes) == 4
    filled = np.array([[0, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]])
    bins = draw_empty_bins(filled, grid, 13, stream(0, "bits"))
    assert len({*map(tuple, bins.tolist()), *map(tuple, filled.tolist())}) == 16
    times = np.zeros(16)
    generator = stream(1, "bits")
    for _ in range(6_500):
        times[draw_empty_bins(filled, grid, 4, generator) @ [8, 4, 2, 1]] += 1
    empty = np.setdiff1d(np.arange(16), filled @ [8, 4, 2, 1])
    chi = ((times[empty] - 2_000) ** 2 / 2_000).sum() / (9 / 12)
    assert stats.chi2.sf(chi, 12) > FALSE_ALARM


def test_a_poisson_number_of_very_many_bins_survives(geometry) -> None:
    """8^61 bins, θ such that about 40 are expected: mean and variance over 3,000 draws. False alarm 1e-6."""
    grid, scale = Binning(geometry(60), 8), 2.0
    threshold = smallest_threshold(grid.size, scale, 40)
    mean = expected_survivors(grid.size, threshold, scale)
    counts = BinCounts(np.zeros((0, 4), dtype=np.int64), np.zeros(0))
    generator = stream(6, "poisson")
    counts = np.array([len(draw_summary(counts, grid, scale, threshold, 1_000, generator).counts) for _ in range(3_000)])
    limit = stats.norm.isf(FALSE_ALARM / 8)
    assert abs(counts.mean() - mean) < limit * np.sqrt(mean / 3_000)
    assert abs(counts.var() / mean - 1) < limit * np.sqrt((2 + 1 / mean) / 3_000)


def test_the_poisson_law_replaces_the_binomial_only_within_its_stated_distance() -> None:
    """Total variation of Binomial(m, p) and Poisson(mp), summed over their probabilities, is at most p."""
    for m, p in ((10**9, 1e-8), (10**11, 1e-10), (10**4, 1e-3)):
        k = np.arange(int(m * p + 40 * np.sqrt(m * p) + 40))
        distance = np.abs(stats.binom.pmf(k, m, p) - stats.poisson.pmf(k, m * p)).sum() / 2
        assert distance < p + 1e-7  # the probabilities themselves are known to about 1e-8
    assert sparse_histogram.MAX_POISSON_CHANCE <= 1e-8


@pytest.mark.parametrize("scale", [0.05, 0.8, 2.0, 200.0])
@pytest.mark.parametrize("size", [1, 30, 200_000])
def test_the_threshold_is_the_smallest_that_keeps_the_expected_number_of_survivors(scale, size) -> None:
    a = np.exp(-1 / scale)
    for bins in (4, 10**3, 10**6, 8**14, 8**40):
        found = smallest_threshold(bins, scale, size)
        assert found >= 1
        assert np.log(float(bins)) + found * -1 / scale - np.log1p(a) <= np.log(size) + 1e-9
        if found > 1:
            assert np.log(float(bins)) + (found - 1) * -1 / scale - np.log1p(a) > np.log(size) - 1e-9
        assert expected_survivors(bins, found, scale) <= size * (1 + 1e-9)


def test_priority_weights_are_unbiased_for_every_bin_and_subset() -> None:
    """Means over 40,000 samples of 4 in 9, bin by bin, of pairs and of all. False alarm 1e-6."""
    values = np.array([1.0, 1, 2, 3, 3, 5, 8, 20, 100])
    generator, samples = stream(7, "priority"), 40_000
    weights = np.zeros((samples, len(values)))
    for sample in weights:
        chosen, weight = priority_sample(values, 4, generator)
        assert len(chosen) == 4
        sample[chosen] = weight
    subsets = np.vstack([np.eye(9), np.ones(9), [1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0, 1, 0]])
    estimates = weights @ subsets.T
    score = (estimates.mean(axis=0) - subsets @ values) / (estimates.std(axis=0) / np.sqrt(samples))
    assert np.abs(score).max() < stats.norm.isf(FALSE_ALARM / len(subsets) / 8), score
    assert (np.abs(np.corrcoef(weights[:, 3], weights[:, 4])[0, 1]) < 0.2).all()


def test_a_sample_that_holds_everything_is_everything() -> None:
    values = np.array([3.0, 1, 4])
    for size in (3, 10):
        chosen, weight = priority_sample(values, size, stream(0, "all"))
        np.testing.assert_array_equal(weight, values[chosen])
        assert len(chosen) == 3
    chosen, weight = priority_sample(values[:0], 5, stream(0, "none"))
    assert len(chosen) == len(weight) == 0


def test_a_summary_has_at_most_the_requested_size_and_hides_which_bins_were_empty(few, curate, repeated) -> None:
    """Cells come in their own order, whether their counts were there or noise made them."""
    sample, query = few
    for kept in curate(repeated(sample, 200)).sparse(query, geometric(2, 1.0, "p"), 1, 4):
        assert len(kept.counts) <= 4
        assert all(first < second for first, second in pairwise(kept.index[:, 0]))
        assert (kept.counts >= 1).all()


def test_runs_are_summarised_one_after_the_other(few, curate, repeated, monkeypatch) -> None:
    sample, query = few
    curator = curate(repeated(sample, 5))
    curator.tape = None
    seen = []
    monkeypatch.setattr("dpbench.privacy.curator.draw_summary", lambda *rest: seen.append(rest))
    drawn = curator.sparse(query, geometric(2, 1.0, "p"), 1, 4)
    assert not seen
    next(drawn)
    assert len(seen) == 1


def test_expected_survivors_are_finite_up_to_10_to_the_299() -> None:
    """With half of the empty bins reaching 1, as at a very large scale."""
    assert expected_survivors(10**200, 1, 1e9) == pytest.approx(5e199)
    assert expected_survivors(10**298, 1, 1e9) == pytest.approx(5e297)
    assert expected_survivors(10**305, 1, 1e9) == np.inf
    assert expected_survivors(0, 1, 1.0) == 0


@pytest.mark.parametrize("size", [1, 7, 2**14 - 1, 2**14, 100_000, 2**40 + 3, 2**62])
@pytest.mark.parametrize("spread", [1.0, 0.01])
def test_positions_are_those_of_a_search(size, spread) -> None:
    """Ordered numbers that are equal, in clusters, at both ends, or missing; numbers in no order."""
    generator = np.random.default_rng(size)
    largest = max(int(spread * size), 1)
    for number in (0, 1, 3, 500):
        ordered = np.sort(np.concatenate([generator.integers(largest, size=number), [0, size - 1][: min(number, 2)]]).astype(int))
        numbers = np.concatenate([generator.integers(size, size=300), ordered[::-1], [0, size - 1]])
        expected = np.searchsorted(ordered, numbers, side="right")
        np.testing.assert_array_equal(positions_after(ordered, numbers, size), expected)
