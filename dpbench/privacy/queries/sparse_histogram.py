"""Filter and priority sampling: a short summary of a noisy histogram, drawn without visiting its empty bins.

Cormode, Procopiuc, Srivastava and Tran 2012: the summary has the same law as adding geometric noise to every bin, keeping the
bins that reach a threshold and sampling them by priority. It does not say which bins were empty.
"""

import math

import numpy as np

from dpbench.data.bins import BinCounts, Binning
from dpbench.privacy.noise import Geometric

MAX_POISSON_CHANCE = 1e-8
"""Below this chance of survival the number of survivors is drawn from the Poisson law: their total variation distance is at
most that chance (Le Cam 1960), and a binomial sampler that forms 1 - p in floating point is no better."""
MAX_EXPECTED_SURVIVORS = 5_000_000
"""The empty bins that may be expected to reach a threshold: what memory allows."""
INTERVAL_BITS = 14
"""Bins are divided into up to this power of 2 of intervals, whose table stays in the processor's cache."""


def log_survival(threshold: int, scale: float) -> float:
    """Return log p, p = α^θ / (1 + α) with α = exp(-1 / scale): the chance that an empty bin's noise reaches θ >= 1."""
    return -threshold / scale - math.log1p(math.exp(-1 / scale))


def expected_survivors(empty: int, threshold: int, scale: float) -> float:
    """Return how many of ``empty`` empty bins are expected to reach a threshold; infinite above 10^300."""
    log = math.log(empty) + log_survival(threshold, scale) if empty else -math.inf
    return math.exp(log) if log < 690 else math.inf


def smallest_threshold(bins: int, scale: float, size: int) -> int:
    """Return the smallest threshold that at most ``size`` of ``bins`` empty bins are expected to reach: it is public."""
    excess = math.log(bins) - math.log(size) + log_survival(0, scale)
    return max(math.ceil(excess * scale), 1)


def draw_summary(
    exact: BinCounts, binning: Binning, scale: float, threshold: int, size: int, generator: np.random.Generator
) -> BinCounts:
    """Draw the filtered and sampled noisy histogram: bins in order, each with its unbiased weight."""
    law = Geometric()
    noisy = exact.counts + law.shape(law.standard(generator, len(exact.counts)), np.array(scale))
    reaches = noisy >= threshold
    spurious = _draw_survivors(binning.size - len(exact.counts), threshold, scale, generator)
    # noise that reaches θ exceeds it by a one-sided geometric draw: P[G >= g] = α^g
    values = np.concatenate([noisy[reaches], threshold + np.floor(generator.standard_exponential(spurious) * scale)])
    index = np.concatenate([exact.index[reaches], draw_empty_bins(exact.index, binning, spurious, generator)])
    chosen, weights = priority_sample(values, size, generator)
    return binning.count(index[chosen], weights)  # in the bins' order, which hides which of them were empty


def priority_sample(values: np.ndarray, size: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Choose at most ``size`` values, and return their positions with weights whose sums over any subset are unbiased.

    Duffield, Lund and Thorup 2007: the largest priorities v / u win, with weights max(v, the next priority).
    """
    priority = values / (1 - generator.random(len(values)))
    if len(values) <= size:
        return np.arange(len(values)), values
    order = np.argpartition(priority, len(values) - size - 1)
    chosen = order[-size:]
    return chosen, np.maximum(values[chosen], priority[order[len(values) - size - 1]])


def draw_empty_bins(filled: np.ndarray, binning: Binning, number: int, generator: np.random.Generator) -> np.ndarray:
    """Draw empty bins uniformly and without replacement; ``filled`` holds the others in the order of the bins."""
    if len(binning.index_axes) == 1:
        rank = generator.choice(binning.size - len(filled), number, replace=False, shuffle=False)
        if binning.few_for(number):
            empty = np.ones(binning.size, dtype=bool)
            empty[filled[:, 0]] = False
            return np.flatnonzero(empty)[rank][:, None]  # faster than a search for each rank, in bins of any order
        # the empty bin of rank r comes after every filled one that has at most r empty bins before it
        empty_before = filled[:, 0] - np.arange(len(filled))
        return np.asarray(rank + positions_after(empty_before, rank, binning.size))[:, None]
    sizes = [math.prod(axis.size for axis in axes) for axes in binning.index_axes]
    bins = filled
    while len(bins) < len(filled) + number:  # of more than 2^62 bins a draw hardly ever repeats one
        missing = len(filled) + number - len(bins)
        drawn = np.stack([generator.integers(size, size=missing) for size in sizes], axis=1)
        together = np.concatenate([bins, drawn])
        _, first = np.unique(together, axis=0, return_index=True)
        bins = together[np.sort(first)]
    return bins[len(filled) :]


def positions_after(ordered: np.ndarray, numbers: np.ndarray, size: int) -> np.ndarray:
    """Return how many of the ordered numbers are at most each of ``numbers``, all of them whole, from 0 to below ``size``.

    It is ``np.searchsorted(ordered, numbers, side="right")``, several times faster where the ordered numbers are in clusters: a
    number shares its answer with all others of its interval if none of the ordered ones lies there.
    """
    shift = max(size.bit_length() - INTERVAL_BITS, 0)
    starts = np.searchsorted(ordered, np.arange((size >> shift) + 2) << shift)
    interval = numbers >> shift
    positions = starts[interval]
    (searched,) = np.nonzero(positions != starts[interval + 1])
    searched = searched[np.argsort(numbers[searched])]  # a search in order stays in the processor's cache
    positions[searched] = np.searchsorted(ordered, numbers[searched], side="right")
    return np.asarray(positions)


def _draw_survivors(empty: int, threshold: int, scale: float, generator: np.random.Generator) -> int:
    """Draw how many of the empty bins reach the threshold."""
    chance = math.exp(log_survival(threshold, scale))
    if chance < MAX_POISSON_CHANCE:
        return min(int(generator.poisson(expected_survivors(empty, threshold, scale))), empty)
    return int(generator.binomial(empty, chance))
