"""The Wilcoxon signed-rank test of paired differences, the estimate of their shift, and the sample size that the test needs.

Exact up to :data:`MAX_EXACT` differences, ties included; beyond, by the normal approximation. SciPy has the test in a module that
takes half a second to import.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

MAX_EXACT = 200
"""With more differences, the null distribution is approximated by the normal law."""
POWER = 0.8
"""The probability that a sample of :func:`sample_size` differences separates two cells."""


def p_value(differences: Sequence[float]) -> float:
    """Return the two-sided p: how likely ranks this uneven are if signs are coin tosses. Zeros are omitted (Wilcoxon 1945)."""
    values = np.array([value for value in differences if value != 0.0])
    if not values.size:
        return 1.0
    ranks = _doubled_ranks(np.abs(values))
    smaller = int(min(ranks[values > 0].sum(), ranks[values < 0].sum()))
    if len(values) <= MAX_EXACT:
        return min(1.0, 2 * float(_at_most(tuple(sorted(ranks.tolist())))[smaller]))
    from scipy.special import ndtr

    spread = math.sqrt(float((ranks.astype(float) ** 2).sum())) / 2
    # continuity correction: 1 is half a step of the doubled ranks
    return min(1.0, 2 * float(ndtr((smaller + 1 - ranks.sum() / 2) / spread)))


def shift(differences: Sequence[float], confidence: float = 0.95) -> tuple[float, float, float]:
    """Return the Hodges-Lehmann estimate and its interval.

    They are the median of the means of all pairs, and two order statistics of them; with too few differences, the whole line
    (Hodges and Lehmann 1963; Hollander, Wolfe and Chicken 2014, section 3.3).
    """
    means = _pair_means(differences)
    cut = _cut(len(differences), (1 - confidence) / 2)
    ends = (float(means[cut - 1]), float(means[-cut])) if cut else (-math.inf, math.inf)
    middle = (len(means) - 1) // 2, len(means) // 2
    return float(means[middle[0]] / 2 + means[middle[1]] / 2), *ends


def sample_size(differences: Sequence[float], level: float) -> float:
    """Return the number of differences that give the test a power of 0.8 at this level, if these are typical.

    Noether 1987: n = (z(1 - level / 2) + z(power))² / (3 (p' - 1/2)²), where p' is the probability that the mean of two
    differences is positive, estimated by its share. Infinite if that is one half.
    """
    from scipy.special import ndtri

    means = _pair_means(differences)
    excess = float((means > 0).mean() + (means == 0).mean() / 2) - 0.5
    quantiles = float(ndtri(1 - level / 2) + ndtri(POWER))
    return max(quantiles**2 / (3 * excess**2), min_sample_size(level)) if excess else math.inf


def min_sample_size(level: float) -> int:
    """Return the number of differences below which not even those that all have the same sign reach the level."""
    return math.ceil(1 - math.log2(level))


def _pair_means(differences: Sequence[float]) -> np.ndarray:
    """Return Walsh's averages in order: of every pair, each difference with itself included."""
    half = np.asarray(differences, dtype=float) / 2
    first, second = np.triu_indices(len(half))
    return np.sort(half[first] + half[second])


def _doubled_ranks(sizes: np.ndarray) -> np.ndarray:
    """Return twice the ranks, so that equal sizes share a whole number."""
    _, group, count = np.unique(sizes, return_inverse=True, return_counts=True)
    return np.asarray((2 * np.cumsum(count) - count + 1)[group])


@lru_cache(maxsize=64)
def _at_most(ranks: tuple[int, ...]) -> np.ndarray:
    """Return the probability that the ranks with one sign add up to at most 0, 1, 2, …: one toss after the other."""
    chances = np.ones(1)
    for rank in ranks:
        longer = np.zeros(len(chances) + rank)
        longer[: len(chances)] = chances / 2
        longer[rank:] += chances / 2
        chances = longer
    return np.cumsum(chances)


def _cut(count: int, tail: float) -> int:
    """Return how many of the pairs' means lie below the interval, its end included."""
    if count <= MAX_EXACT:
        return int(np.searchsorted(_at_most(tuple(range(1, count + 1))), tail, side="right"))
    from scipy.special import ndtri

    pairs = count * (count + 1) / 2
    return math.floor(pairs / 2 + float(ndtri(tail)) * math.sqrt(pairs * (2 * count + 1) / 12))
