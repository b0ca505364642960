"""The shift of paired differences with its interval, and the test of a shift, by the distribution of Wilcoxon's signed ranks.

Exact up to :data:`MAX_EXACT` differences; beyond, by the normal approximation.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

MAX_EXACT = 200
"""With more differences, the null distribution is approximated by the normal law."""


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


def signed_rank_p(differences: Sequence[float]) -> float:
    """Return the exact two-sided p of Wilcoxon's signed-rank test that there is no shift.

    Differences of zero are left out, as Wilcoxon did, and equal ones share their ranks.
    """
    values = np.asarray(differences, dtype=float)
    values = values[values != 0]
    if not values.size:
        return 1.0
    _, group, count = np.unique(np.abs(values), return_inverse=True, return_counts=True)
    doubled = (2 * np.cumsum(count) - count + 1)[group]  # twice the mean rank is an integer
    positive = int(doubled[values > 0].sum())
    smaller = min(positive, int(doubled.sum()) - positive)
    return min(1.0, 2 * float(_at_most(tuple(sorted(doubled.tolist())))[smaller]))


def _pair_means(differences: Sequence[float]) -> np.ndarray:
    """Return Walsh's averages in order: of every pair, each difference with itself included."""
    half = np.asarray(differences, dtype=float) / 2
    first, second = np.triu_indices(len(half))
    return np.sort(half[first] + half[second])


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
