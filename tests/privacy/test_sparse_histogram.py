"""Histograms: noisy counts block by block, and the summary that never visits an empty cell.

Every statistical test below rejects a correct implementation with probability at most 1e-6 over the choice of the seed.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats

from dpbench.base.random_streams import stream
from dpbench.data.bins import BinCounts, Binning
from dpbench.data.samples import WholeSample
from dpbench.privacy import sparse_histogram as filtering
from dpbench.privacy.curator import Draws
from dpbench.privacy.histogram import PROOF, Histogram
from dpbench.privacy.ledger import Budget, Overspent
from dpbench.privacy.noise import Laplace, Noise, geometric, laplace
from dpbench.privacy.replay import ReplayCurator, Violation
from dpbench.privacy.sparse_histogram import (
    draw_empty_bins,
    draw_summary,
    expected_survivors,
    priority_sample,
    smallest_threshold,
)

FALSE_ALARM = 1e-6


@pytest.fixture
def few(geometry, rows):
    """Seven rows in 4 x 4 cells (one feature, the target): 3 in cell 0, 2 in cell 5, 1 each in 6 and 15."""
    g = geometry(1)
    x = np.array([-0.9, -0.9, -0.9, -0.3, -0.3, -0.3, 0.9])
    y = np.array([-0.9, -0.9, -0.8, -0.3, -0.4, 0.3, 0.9])
    return rows(g, x[:, None], y), Histogram(Binning(g, 4))


COUNTS = np.zeros(16)
COUNTS[[0, 5, 6, 15]] = [3, 2, 1, 1]


def scanned(curator, query, noise, step=16, run=0):
    return np.concatenate([counts for _, counts in curator.scan(query, noise, step).blocks(run)])


# -- scan --------------------------------------------------------------------------------------------------------------


def test_without_noise_a_scan_is_the_histogram(few, curate) -> None:
    sample, query = few
    noise = laplace(2, 1e12, "p")
    np.testing.assert_allclose(scanned(curate(sample, 1e12), query, noise, 5), COUNTS, atol=1e-9)
    np.testing.assert_array_equal(WholeSample(sample).sums(query)[0], COUNTS)


def test_every_cell_gets_laplace_noise_of_the_declared_scale(few, curate, repeated) -> None:
    """Kolmogorov-Smirnov over 3,000 runs, cell by cell. False alarm 1e-6."""
    sample, query = few
    curator = curate(repeated(sample, 3_000), 0.5)
    scan = curator.scan(query, laplace(2, 0.5, "p"), 7)
    noise = np.stack([np.concatenate([counts for _, counts in scan.blocks(run)]) - COUNTS for run in range(3_000)])
    pvalues = [stats.kstest(noise[:, cell] / 4, stats.laplace.cdf).pvalue for cell in range(16)]
    assert min(pvalues) > FALSE_ALARM / 32
    assert np.unique(noise).size == noise.size, "no draw occurs twice"
    correlation = np.corrcoef(stats.laplace.cdf(noise / 4), rowvar=False)[np.triu_indices(16, 1)]
    assert np.abs(correlation).max() * np.sqrt(3_000) < stats.norm.isf(FALSE_ALARM / 2 / 240)


def test_a_second_pass_meets_the_same_counts(few, curate) -> None:
    sample, query = few
    scan = curate(sample).scan(query, laplace(2, 1.0, "p"), 6)
    first = list(scan.blocks(0))
    assert [start for start, _ in first] == [0, 6, 12]
    assert [len(counts) for _, counts in first] == [6, 6, 4]
    for (_, before), (_, after) in zip(first, scan.blocks(0), strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_run_s_counts_depend_on_neither_its_block_nor_the_order_of_the_runs(few, curate, repeated) -> None:
    sample, query = few
    runs = [(repeat, fold) for repeat in range(2) for fold in range(3)]
    together = curate(repeated(sample, 6), runs=runs).scan(query, laplace(2, 1.0, "p"), 9)
    summaries = list(curate(repeated(sample, 6), runs=runs).sparse(query, geometric(2, 1.0, "p"), 1, 5))
    for at, run in enumerate(runs):
        alone = curate(sample, runs=[run])
        expected = np.concatenate([counts for _, counts in together.blocks(at)])
        np.testing.assert_array_equal(scanned(alone, query, laplace(2, 1.0, "p"), 9), expected)
        single = next(iter(curate(sample, runs=[run]).sparse(query, geometric(2, 1.0, "p"), 1, 5)))
        np.testing.assert_array_equal(single.index, summaries[at].index)
        np.testing.assert_array_equal(single.counts, summaries[at].counts)


def test_scales_by_run_reach_the_noise(few, curate, repeated) -> None:
    sample, query = few
    plain = curate(repeated(sample, 2)).scan(query, Noise(Laplace(), np.ones((1, 1)), 1.0, "p"), 16)
    scaled = curate(repeated(sample, 2)).scan(query, Noise(Laplace(), np.array([[1.0], [5.0]]), 1.0, "p"), 16)
    for run, factor in enumerate((1, 5)):
        (_, one), (_, other) = next(plain.blocks(run)), next(scaled.blocks(run))
        np.testing.assert_allclose(other - COUNTS, factor * (one - COUNTS), rtol=1e-9, atol=1e-12)


def test_histograms_are_paid_before_anything_is_drawn(few, curate) -> None:
    sample, query = few
    curator = curate(sample, 1.0)
    curator.scan(query, laplace(2, 0.6, PROOF), 16)
    entry = curator.ledger.entries[0]
    assert (entry.query, entry.sensitivity, entry.bound, entry.scale) == ("histogram", 2.0, 0.6, (2 / 0.6, 2 / 0.6))
    with pytest.raises(Overspent):
        curator.sparse(query, geometric(2, 0.5, PROOF), 1, 5)
    curator.sparse(query, geometric(2, 0.4, PROOF), 1, 5)
    assert curator.ledger.total.epsilon == pytest.approx(1.0)
    assert curator.ledger.sound


def test_a_second_call_has_noise_of_its_own(few, curate) -> None:
    sample, query = few
    curator = curate(sample, 1.0)
    first, second = (scanned(curator, query, laplace(2, 0.5, "p")) for _ in range(2))
    assert (first != second).all()


def test_what_cannot_be_drawn_is_refused_and_not_paid(few, curate, geometry, rows) -> None:
    sample, query = few
    curator = curate(sample)
    for call, message in (
        (lambda: curator.sparse(query, laplace(2, 1.0, "p"), 1, 5), "geometric noise only"),
        (lambda: curator.sparse(query, geometric(2, 1.0, "p"), 0, 5), "at least 1"),
        (lambda: curator.sparse(query, geometric(2, 1.0, "p"), 1, 0), "at least 1"),
        (lambda: curator.scan(query, Noise(Laplace(), np.ones((1, 16)), 1.0, "p"), 16), "one scale for all bins"),
        (lambda: curator.scan(query, Noise(Laplace(), np.ones((3, 1)), 1.0, "p"), 16), "must have scales of shape"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert not curator.ledger.entries
    wide = geometry(60)
    many = curate(rows(wide, np.zeros((3, 60)), np.zeros(3)))
    with pytest.raises(ValueError, match=r"more than 10\^55 bins cannot be scanned"):
        many.scan(Histogram(Binning(wide, 8)), laplace(2, 1.0, "p"), 16)
    with pytest.raises(ValueError, match="at most 5,000,000 empty bins"):
        many.sparse(Histogram(Binning(wide, 8)), geometric(2, 1.0, "p"), 60, 10)
    assert not many.ledger.entries


# -- sparse: the law ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scale", "threshold"), [(0.7, 1), (2.5, 1), (2.5, 3)])
def test_which_cells_survive_has_the_exact_joint_law(scale, threshold, geometry) -> None:
    """All 2^6 outcomes on 6 cells of which 2 are occupied, against the product of the exact chances: χ², false alarm 1e-6."""
    grid = Binning(geometry(0, (2,)), 2)
    tally = BinCounts(np.array([[1], [4]]), np.array([1.0, 3.0]))
    a = np.exp(-1 / scale)
    tail = {m: a**m / (1 + a) if m >= 1 else 1 - a ** (1 - m) / (1 + a) for m in range(-5, 6)}  # P[X >= m]
    chance = [tail[threshold - int(count)] for count in (0, 1, 0, 0, 3, 0)]
    draws = 30_000
    outcomes = np.zeros(64)
    generator = stream(3, "joint", threshold)
    for _ in range(draws):
        outcomes[(1 << draw_summary(tally, grid, scale, threshold, 10, generator).index[:, 0]).sum()] += 1
    bits = np.array(list(product([0, 1], repeat=6)))[:, ::-1]
    expected = np.where(bits, chance, 1 - np.array(chance)).prod(axis=1) * draws
    rare = expected < 10
    pooled = np.append(outcomes[~rare], outcomes[rare].sum()), np.append(expected[~rare], expected[rare].sum())
    keep = pooled[1] > 0
    assert stats.chisquare(pooled[0][keep], pooled[1][keep]).pvalue > FALSE_ALARM


def test_the_counts_of_survivors_have_the_conditional_law(geometry) -> None:
    """Of an occupied and of an empty cell, given that they reach θ = 2: χ² on the integers, false alarm 1e-6."""
    grid, scale, threshold = Binning(geometry(0, (2,)), 2), 2.0, 2
    tally = BinCounts(np.array([[4]]), np.array([3.0]))
    generator = stream(4, "counts")
    kept = [draw_summary(tally, grid, scale, threshold, 10, generator) for _ in range(30_000)]
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


def test_the_summary_is_the_law_of_noise_on_every_cell(few, curate, repeated) -> None:
    """Through the curator, against filtering a full noisy table: moments of every cell's kept count. False alarm 1e-6."""
    sample, query = few
    runs, threshold, scale = 4_000, 2, 2 / 1.5
    drawn = curate(repeated(sample, runs), 1.5).sparse(query, geometric(2, 1.5, "p"), threshold, 16)
    found = np.zeros((runs, 16))
    for run, kept in enumerate(drawn):
        found[run, kept.index[:, 0]] = kept.counts
    every = np.arange(-80, 81)
    a = np.exp(-1 / scale)
    pmf = (1 - a) / (1 + a) * a ** np.abs(every)
    for cell in range(16):
        value = COUNTS[cell] + every
        value = np.where(value >= threshold, value, 0)
        mean, square = (pmf * value).sum(), (pmf * value**2).sum()
        score = (found[:, cell].mean() - mean) / np.sqrt((square - mean**2) / runs)
        assert abs(score) < stats.norm.isf(FALSE_ALARM / 32 / 8), f"cell {cell} is {score:.1f} standard errors away"


@pytest.mark.parametrize("wide", [False, True])
def test_empty_cells_are_uniform_and_without_replacement(wide, geometry) -> None:
    """Each of the 12 empty bins of 16 as often as the others, 5 at a time; of 8^61 cells, each coordinate. False alarm 1e-6."""
    generator = stream(5, "empty", int(wide))
    if wide:
        grid = Binning(geometry(60), 8)
        occupied = grid.count(generator.integers(0, [8 ** len(word) for word in grid.index_axes], (50, 4))).index
        cells = draw_empty_bins(occupied, grid, 5_000, generator)
        z = grid.centres(cells).z[:, 1:]
        found = np.stack([np.bincount(np.rint((column + 1) * 4 - 0.5).astype(int), minlength=8) for column in z.T])
        assert min(stats.chisquare(row).pvalue for row in found) > FALSE_ALARM / 61
        assert len(np.unique(cells, axis=0)) == 5_000
        return
    grid, occupied = Binning(geometry(1), 4), np.array([[0], [5], [6], [15]])
    times, pairs = np.zeros(16), np.zeros((16, 16))
    for _ in range(12_000):
        cells = draw_empty_bins(occupied, grid, 5, generator)[:, 0]
        assert len(set(cells.tolist())) == 5
        times[cells] += 1
        pairs[np.ix_(cells, cells)] += 1
    empty = np.setdiff1d(np.arange(16), occupied)
    assert times[occupied[:, 0]].sum() == 0
    # counts of a fixed number of distinct cells vary less than independent ones: by (1 - 5/12) · 12/11
    chi = ((times[empty] - 5_000) ** 2 / 5_000).sum() / (7 / 11)
    assert stats.chi2.sf(chi, 11) > FALSE_ALARM / 2
    together = pairs[np.ix_(empty, empty)][np.triu_indices(12, 1)]
    each = 12_000 * 5 * 4 / (12 * 11)
    score = (together - each) / np.sqrt(each * (1 - each / 12_000))
    assert np.abs(score).max() < stats.norm.isf(FALSE_ALARM / 4 / 66)


def test_all_empty_cells_can_be_asked_for(geometry) -> None:
    grid = Binning(geometry(1), 4)
    cells = draw_empty_bins(np.array([[0], [5], [15]]), grid, 13, stream(0, "all"))
    assert sorted(cells[:, 0].tolist()) == [c for c in range(16) if c not in (0, 5, 15)]


def test_drawn_again_a_wide_empty_cell_is_not_an_occupied_one(geometry, monkeypatch) -> None:
    """With names of one bit each, collisions are the rule: what is occupied or drawn before is drawn anew."""
    monkeypatch.setattr("dpbench.data.bins.INDEX_LIMIT", 3)
    grid = Binning(geometry(3), 2)
    assert len(grid.index_axes) == 4
    occupied = np.array([[0, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]])
    cells = draw_empty_bins(occupied, grid, 13, stream(0, "bits"))
    assert len({*map(tuple, cells.tolist()), *map(tuple, occupied.tolist())}) == 16
    times = np.zeros(16)
    generator = stream(1, "bits")
    for _ in range(6_500):
        times[draw_empty_bins(occupied, grid, 4, generator) @ [8, 4, 2, 1]] += 1
    empty = np.setdiff1d(np.arange(16), occupied @ [8, 4, 2, 1])
    chi = ((times[empty] - 2_000) ** 2 / 2_000).sum() / (9 / 12)
    assert stats.chi2.sf(chi, 12) > FALSE_ALARM


def test_of_very_many_cells_a_poisson_number_survives(geometry) -> None:
    """8^61 cells, θ such that about 40 are expected: mean and variance over 3,000 draws. False alarm 1e-6."""
    grid, scale = Binning(geometry(60), 8), 2.0
    threshold = smallest_threshold(grid.size, scale, 40)
    mean = expected_survivors(grid.size, threshold, scale)
    tally = BinCounts(np.zeros((0, 4), dtype=np.int64), np.zeros(0))
    generator = stream(6, "poisson")
    counts = np.array([len(draw_summary(tally, grid, scale, threshold, 1_000, generator).counts) for _ in range(3_000)])
    limit = stats.norm.isf(FALSE_ALARM / 8)
    assert abs(counts.mean() - mean) < limit * np.sqrt(mean / 3_000)
    assert abs(counts.var() / mean - 1) < limit * np.sqrt((2 + 1 / mean) / 3_000)


def test_the_poisson_law_stands_in_only_where_it_is_closer_than_its_stated_distance() -> None:
    """Total variation of Binomial(m, p) and Poisson(mp), summed over their probabilities, is at most p."""
    for m, p in ((10**9, 1e-8), (10**11, 1e-10), (10**4, 1e-3)):
        k = np.arange(int(m * p + 40 * np.sqrt(m * p) + 40))
        distance = np.abs(stats.binom.pmf(k, m, p) - stats.poisson.pmf(k, m * p)).sum() / 2
        assert distance < p + 1e-7  # the probabilities themselves are known to about 1e-8
    assert filtering.MAX_POISSON_CHANCE <= 1e-8


@pytest.mark.parametrize("scale", [0.05, 0.8, 2.0, 200.0])
@pytest.mark.parametrize("size", [1, 30, 200_000])
def test_the_threshold_is_the_least_that_keeps_the_expected_number_of_survivors(scale, size) -> None:
    a = np.exp(-1 / scale)
    for cells in (4, 10**3, 10**6, 8**14, 8**40):
        found = smallest_threshold(cells, scale, size)
        assert found >= 1
        assert np.log(float(cells)) + found * -1 / scale - np.log1p(a) <= np.log(size) + 1e-9
        if found > 1:
            assert np.log(float(cells)) + (found - 1) * -1 / scale - np.log1p(a) > np.log(size) - 1e-9
        assert expected_survivors(cells, found, scale) <= size * (1 + 1e-9)


# -- sparse: priority sampling -------------------------------------------------------------------------------------------


def test_priority_weights_are_unbiased_for_every_cell_and_subset() -> None:
    """Means over 40,000 samples of 4 in 9, cell by cell, of pairs and of all. False alarm 1e-6."""
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


def test_a_summary_has_at_most_the_asked_size_and_says_nothing_of_what_was_empty(few, curate, repeated) -> None:
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


# -- the audit -----------------------------------------------------------------------------------------------------------


def neighbours(few):
    """The same table with one row in another cell: two counts move by one."""
    rows, query = few
    z = rows.z.copy()
    z[0, 1:] = 0.9, -0.9
    return rows, replace(rows, z=z), query


def replayed(curator, neighbour, epsilon=1.0):
    return ReplayCurator(WholeSample(neighbour), Draws(0, "test", [(0, 0)]), Budget(epsilon, 1e-6, "pure"), curator.tape)


def test_a_replayed_scan_is_the_first_one_and_its_sensitivity_is_met(few, curate) -> None:
    rows, neighbour, query = neighbours(few)
    curator, noise = curate(rows), laplace(2, 1.0, PROOF)
    first = scanned(curator, query, noise, 5)
    replay = replayed(curator, neighbour)
    np.testing.assert_array_equal(scanned(replay, query, noise, 5), first)
    replay.finish()
    assert replay.ratios == [pytest.approx(1.0, rel=1e-12)]


def test_a_replayed_summary_is_the_first_one_and_its_sensitivity_is_met(few, curate) -> None:
    rows, neighbour, query = neighbours(few)
    curator, noise = curate(rows), geometric(2, 1.0, PROOF)
    first = next(curator.sparse(query, noise, 1, 5))
    replay = replayed(curator, neighbour)
    again = next(replay.sparse(query, noise, 1, 5))
    np.testing.assert_array_equal(again.index, first.index)
    np.testing.assert_array_equal(again.counts, first.counts)
    replay.finish()
    assert replay.ratios == [pytest.approx(1.0, rel=1e-12)]


def test_a_histogram_noised_for_one_cell_is_caught(few, curate) -> None:
    """The constant for adding or removing a row, half of what replacing one needs."""
    rows, neighbour, query = neighbours(few)
    scan, sparse = curate(rows), curate(rows)
    scanned(scan, query, laplace(1, 1.0, "wrong"))
    with pytest.raises(Violation, match="moved by 2 times its declared L1 sensitivity"):
        replayed(scan, neighbour).scan(query, laplace(1, 1.0, "wrong"), 16)
    sparse.sparse(query, geometric(1, 1.0, "wrong"), 1, 5)
    with pytest.raises(Violation, match="moved by 2 times its declared L1 sensitivity"):
        replayed(sparse, neighbour).sparse(query, geometric(1, 1.0, "wrong"), 1, 5)


def test_the_sensitivity_of_a_domain_too_large_to_enumerate_is_audited_too(geometry, rows, curate) -> None:
    g = geometry(60)
    generator = np.random.default_rng(0)
    x, y = generator.uniform(-1, 1, (30, 60)), generator.uniform(-1, 1, 30)
    query, noise = Histogram(Binning(g, 8)), geometric(2, 1.0, PROOF)
    curator = curate(rows(g, x, y))
    curator.sparse(query, noise, 250, 50)
    x[0] *= -1
    replay = replayed(curator, rows(g, x, y))
    replay.sparse(query, noise, 250, 50)
    assert replay.ratios == [pytest.approx(1.0, rel=1e-12)]


@pytest.mark.parametrize("change", ["threshold", "size", "step", "grid", "epsilon", "call"])
def test_another_call_on_the_neighbour_is_control_flow(change, few, curate) -> None:
    rows, neighbour, query = neighbours(few)
    curator = curate(rows, 5.0)
    other = Histogram(Binning(rows.geometry, 5)) if change == "grid" else query
    noise = geometric(2, 1.1 if change == "epsilon" else 1.0, "p")
    threshold, size = 3 if change == "threshold" else 2, 6 if change == "size" else 5
    if change in ("step", "call"):
        curator.scan(query, laplace(2, 1.0, "p"), 16)
    else:
        curator.sparse(query, geometric(2, 1.0, "p"), 2, 5)
    replay = replayed(curator, neighbour, 5.0)
    asked = replay.scan if change == "step" else replay.sparse
    arguments = (query, laplace(2, 1.0, "p"), 8) if change == "step" else (other, noise, threshold, size)
    with pytest.raises(Violation, match="control flow"):
        asked(*arguments)


def test_a_released_histogram_is_the_scanned_one_without_blocks(few, curate) -> None:
    """A small grid is a query like any other."""
    sample, query = few
    np.testing.assert_allclose(curate(sample, 1e12).release(query, laplace(2, 1e12, "p"))[0], COUNTS, atol=1e-9)
