"""The difference of two medians over the same splits: its interval by the bootstrap, its p-value, and the repeats that it needs.

The values of a cell are an array (repeats, folds), NaN where a run has no finite value. The folds of one repeat share training
rows, so a repeat is drawn, or swapped between the two cells, with all of its folds. The draws come from fixed seeds, so the same
records give the same numbers.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

RESAMPLES = 2000
"""Draws of the bootstrap."""
PERMUTATIONS = 4999
"""Draws of the permutation test: the smallest p is 1 in 5,000."""
MAX_ENUMERATED_REPEATS = 12
"""With up to this many repeats, the permutation test counts all ways to swap them."""
PERMUTATIONS_PER_STEP = 500
MIN_EXCEEDANCES = 100
"""Draws at least as extreme as the observed difference after which p is known well enough (Besag and Clifford 1991)."""
MIN_REPEATS = 6
"""Fewer repeats have no interval: even if all differences had the same sign, that would be chance once in 16 times or more."""
POWER = 0.8
"""The probability that a sample of :func:`sample_size` repeats separates two cells."""


@dataclass(frozen=True)
class MedianDifference:
    """The median of the second cell's runs minus the median of the first's."""

    value: float
    error: float
    """The standard error by the bootstrap; infinite with fewer than 6 repeats."""
    repeats: int

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval: Student's t times the standard error to either side."""
        from scipy.special import stdtrit

        reach = float(stdtrit(self.repeats - 1, 0.975)) * self.error if math.isfinite(self.error) else math.inf
        return self.value - reach, self.value + reach

    @property
    def p(self) -> float:
        """The p-value of Student's t: how likely so large a difference is if the medians are equal, whatever the spreads."""
        if not math.isfinite(self.error) or self.value == 0:
            return 1.0
        from scipy.special import stdtr

        return 2 * float(stdtr(self.repeats - 1, -abs(self.value) / self.error)) if self.error else 0.0


def median_difference(first: np.ndarray, second: np.ndarray) -> MedianDifference:
    """Return the difference of the medians over all runs, with its standard error by a paired bootstrap over the repeats."""
    value, repeats = _median(second) - _median(first), len(first)
    if repeats < MIN_REPEATS:
        return MedianDifference(value, math.inf, repeats)
    weights = _bootstrap_weights(repeats)
    draws = _weighted_medians(second, weights) - _weighted_medians(first, weights)
    low, high = np.nanquantile(draws, [0.025, 0.975])
    # quantiles, because exploding runs give the draws a long tail; the factor corrects the bootstrap's variance, which divides
    # by the repeats instead of by one less
    error = float(high - low) / (2 * _normal_quantile(0.975)) * math.sqrt(repeats / (repeats - 1))
    return MedianDifference(value, error, repeats)


def p_value(first: np.ndarray, second: np.ndarray, difference: MedianDifference) -> float:
    """Return the two-sided p of the difference: the larger one of two tests.

    The permutation test swaps the values of the two cells repeat by repeat. It is exact if the cells are alike in everything.
    If their medians agree and their spreads do not, it alone calls up to two of three pairs different; Student's t with the
    bootstrap's standard error does not, but is only approximate with few repeats.
    """
    return max(_permutation_p(first, second), difference.p)


def min_repeats(level: float) -> int:
    """Return the number of repeats below which no difference can reach the level: 2 of the 2^n ways to swap are as extreme."""
    return max(MIN_REPEATS, math.ceil(1 - math.log2(level)))


def sample_size(difference: MedianDifference, level: float) -> float:
    """Return the number of repeats that would separate this difference at this level with a probability of 0.8.

    The standard error of a median falls with the root of the repeats. Infinite without a difference or a standard error.
    """
    if not difference.value or not math.isfinite(difference.error):
        return math.inf
    quantiles = _normal_quantile(1 - level / 2) + _normal_quantile(POWER)
    return max(difference.repeats * (quantiles * difference.error / difference.value) ** 2, float(min_repeats(level)))


def _permutation_p(first: np.ndarray, second: np.ndarray) -> float:
    observed = abs(_median(second) - _median(first))
    both, extreme, count = np.vstack([first, second]), 0, 0
    for swapped in _swaps(len(first)):
        one = _weighted_medians(both, np.hstack([~swapped, swapped]))
        other = _weighted_medians(both, np.hstack([swapped, ~swapped]))
        hits = np.flatnonzero(np.abs(other - one) >= observed * (1 - 1e-9))
        if len(first) > MAX_ENUMERATED_REPEATS and extreme + len(hits) >= MIN_EXCEEDANCES:
            return MIN_EXCEEDANCES / (count + 1 + int(hits[MIN_EXCEEDANCES - extreme - 1]))
        extreme, count = extreme + len(hits), count + len(swapped)
    if len(first) <= MAX_ENUMERATED_REPEATS:
        return extreme / count
    return (extreme + 1) / (count + 1)


def _swaps(repeats: int) -> Iterator[np.ndarray]:
    """Yield which repeats are swapped, (draws, repeats): all ways if there are few repeats, else random ones in several steps."""
    if repeats <= MAX_ENUMERATED_REPEATS:
        ways = np.arange(2 ** (repeats - 1))  # to swap the others instead gives the same size, so the last repeat stays
        yield (ways[:, None] >> np.arange(repeats)) % 2 == 1
        return
    generator = np.random.default_rng(1)
    for start in range(0, PERMUTATIONS, PERMUTATIONS_PER_STEP):
        yield generator.random((min(PERMUTATIONS_PER_STEP, PERMUTATIONS - start), repeats)) < 0.5


@cache
def _bootstrap_weights(repeats: int) -> np.ndarray:
    """Return how often each draw has each repeat: the same for all cells, so that pairs stay pairs."""
    return np.random.default_rng(0).multinomial(repeats, np.full(repeats, 1 / repeats), size=RESAMPLES)


def _median(values: np.ndarray) -> float:
    return float(_weighted_medians(values, np.ones((1, len(values))))[0])


def _weighted_medians(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the median of the finite values, where the values of each repeat count as often as the weights (draws, repeats) say.

    The values are sorted once; how many of them lie at or below each is a matrix product.
    """
    order = np.argsort(values, axis=None)
    order = order[np.isfinite(values.ravel()[order])]
    ordered = values.ravel()[order]
    if not len(ordered):
        return np.full(len(weights), np.nan)
    owner = np.zeros((len(values), len(order)), dtype=np.float32)
    owner[order // values.shape[1], np.arange(len(order))] = 1
    below = weights.astype(np.float32) @ np.cumsum(owner, axis=1)
    total = below[:, -1:]
    ranks = np.floor((total + 1) / 2), np.floor(total / 2) + 1
    lower, upper = (np.minimum((below < rank).sum(axis=1), len(ordered) - 1) for rank in ranks)
    # each is halved first, since a sum of large values may overflow
    return np.asarray(np.where(total[:, 0] > 0, ordered[lower] / 2 + ordered[upper] / 2, np.nan))


def _normal_quantile(probability: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(probability))
