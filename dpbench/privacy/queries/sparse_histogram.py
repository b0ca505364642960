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
most that chance (Le Cam 1960). The distances between survivors would have too many digits for floating point."""
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
    noisy = exact.counts + law.shape(law.standard_of_bins(generator, len(exact.counts)), np.array(scale))
    reaches = noisy >= threshold
    spurious = draw_survivors(exact.index, binning, threshold, scale, generator)
    # noise that reaches θ exceeds it by a one-sided geometric draw: P[G >= g] = α^g
    values = np.concatenate([noisy[reaches], threshold + np.floor(generator.standard_exponential(len(spurious)) * scale)])
    chosen, weights = priority_sample(values, size, generator)
    index = np.concatenate([exact.index[reaches], spurious])
    return binning.ordered(index[chosen], weights)  # their order hides which of them were empty


def priority_sample(values: np.ndarray, size: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Choose at most ``size`` values, and return their positions with weights whose sums over any subset are unbiased.

    Duffield, Lund and Thorup 2007: the largest priorities v / u win, with weights max(v, the next priority).
    """
    priority = values / (1 - generator.random(len(values)))
    if len(values) <= size:
        return np.arange(len(values)), values
    following = np.partition(priority, len(values) - size - 1)[len(values) - size - 1]
    (chosen,) = np.nonzero(priority > following)
    return chosen, np.maximum(values[chosen], following)


def draw_survivors(
    filled: np.ndarray, binning: Binning, threshold: int, scale: float, generator: np.random.Generator
) -> np.ndarray:
    """Draw the empty bins that reach the threshold: each of them does with the same chance, independently of the others."""
    chance = math.exp(log_survival(threshold, scale))
    if chance < MAX_POISSON_CHANCE:
        empty = binning.size - len(filled)
        number = min(int(generator.poisson(expected_survivors(empty, threshold, scale))), empty)
        return draw_empty_bins(filled, binning, number, generator)
    # as few survivors as can be held (MAX_EXPECTED_SURVIVORS) are of so few bins that an index is one integer
    drawn = draw_successes(binning.size, chance, generator)
    places = np.searchsorted(drawn, filled[:, 0])
    places = places[places < len(drawn)]
    return np.delete(drawn, places[drawn[places] == filled[: len(places), 0]])[:, None]


def draw_successes(trials: int, chance: float, generator: np.random.Generator) -> np.ndarray:
    """Draw which of many independent trials succeed, in order, without visiting the others.

    The distance to the next success is geometric, P[distance > k] = (1 - chance)^k: an exponential draw that is rounded up.
    """
    rate, last, parts = -math.log1p(-chance), -1, []
    while last < trials:
        expected = (trials - last) * chance
        distances = np.floor(generator.standard_exponential(math.ceil(expected + 4 * math.sqrt(expected)) + 1) / rate)
        parts.append(last + np.cumsum(distances.astype(np.int64) + 1))
        last = int(parts[-1][-1])
    drawn = np.concatenate(parts)
    return drawn[: np.searchsorted(drawn, trials)]


def draw_empty_bins(filled: np.ndarray, binning: Binning, number: int, generator: np.random.Generator) -> np.ndarray:
    """Draw empty bins uniformly and without replacement; ``filled`` holds the others in the order of the bins."""
    if len(binning.index_axes) == 1:
        rank = generator.choice(binning.size - len(filled), number, replace=False, shuffle=False)
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
