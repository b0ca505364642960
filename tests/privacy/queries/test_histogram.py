"""A scan draws the noisy counts of all bins block by block, the same at every pass."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpbench.data.bins import Binning
from dpbench.data.samples import WholeSample
from dpbench.privacy.ledger import Overspent
from dpbench.privacy.noise import Laplace, Noise, geometric, laplace
from dpbench.privacy.queries.histogram import PROOF, Histogram

FALSE_ALARM = 1e-6
"""The probability at which a statistical test below rejects a correct implementation, over the choice of the seed."""


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


def test_a_released_histogram_is_the_scanned_one_without_blocks(few, curate) -> None:
    """A small histogram is a query like any other."""
    sample, query = few
    np.testing.assert_allclose(curate(sample, 1e12).release(query, laplace(2, 1e12, "p"))[0], COUNTS, atol=1e-9)


def test_without_noise_a_scan_is_the_histogram(few, curate) -> None:
    sample, query = few
    noise = laplace(2, 1e12, "p")
    np.testing.assert_allclose(scanned(curate(sample, 1e12), query, noise, 5), COUNTS, atol=1e-9)
    np.testing.assert_array_equal(WholeSample(sample).sums(query)[0], COUNTS)


def test_every_bin_gets_laplace_noise_of_the_declared_scale(few, curate, repeated) -> None:
    """Kolmogorov-Smirnov over 3,000 runs, bin by bin. False alarm 1e-6."""
    sample, query = few
    curator = curate(repeated(sample, 3_000), 0.5)
    scan = curator.scan(query, laplace(2, 0.5, "p"), 7)
    noise = np.stack([np.concatenate([counts for _, counts in scan.blocks(run)]) - COUNTS for run in range(3_000)])
    pvalues = [stats.kstest(noise[:, number] / 4, stats.laplace.cdf).pvalue for number in range(16)]
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
