"""Filter and priority sampling: a short summary of a noisy histogram, drawn without visiting its empty cells.

Cormode, Procopiuc, Srivastava and Tran 2012: the summary has the law that adding geometric noise to every cell, keeping the
cells that reach a threshold and sampling them by priority would have. It says nothing of which cells were empty.
"""

from __future__ import annotations

import math

import numpy as np

from dpbench.data.bins import BinCounts, Binning
from dpbench.privacy.noise import Geometric

RARE = 1e-8
"""Below this chance of survival the number of survivors is drawn from the Poisson law: their total variation distance is at
most that chance (Le Cam 1960), and a binomial sampler that forms 1 - p in floating point is no better."""
MOST = 5_000_000
"""Empty cells that may be expected to reach a threshold: what memory allows."""


def log_survival(threshold: int, scale: float) -> float:
    """log p, p = α^θ / (1 + α) with α = exp(-1 / scale): the chance that an empty cell's noise reaches a θ of at least 1."""
    return -threshold / scale - math.log1p(math.exp(-1 / scale))


def survivors(cells: int, threshold: int, scale: float) -> float:
    """How many of so many empty cells are expected to reach a threshold; infinite above 10^300."""
    log = math.log(cells) + log_survival(threshold, scale) if cells else -math.inf
    return math.exp(log) if log < 690 else math.inf


def least_threshold(cells: int, scale: float, size: int) -> int:
    """The smallest threshold that at most ``size`` of so many empty cells are expected to reach: public."""
    excess = math.log(cells) - math.log(size) + log_survival(0, scale)
    return max(math.ceil(excess * scale), 1)


def summary(
    tally: BinCounts, grid: Binning, scale: float, threshold: int, size: int, generator: np.random.Generator
) -> BinCounts:
    """The filtered and sampled noisy histogram: cells in order, each with its unbiased weight."""
    law = Geometric()
    noisy = tally.counts + law.shape(law.standard(generator, len(tally.counts)), np.array(scale))
    kept = noisy >= threshold
    count = _survived(grid.size - len(tally.counts), threshold, scale, generator)
    # given that it reaches θ, the noise exceeds it by a one-sided geometric draw: P[G >= g] = α^g
    spurious = threshold + np.floor(generator.standard_exponential(count) * scale)
    index = np.concatenate([tally.index[kept], empty_cells(tally.index, grid, count, generator)])
    chosen, weight = priority_sample(np.concatenate([noisy[kept], spurious]), size, generator)
    return grid.count(index[chosen], weight)  # in the cells' order, which forgets which of them were empty


def priority_sample(values: np.ndarray, size: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Which values are kept, at most ``size`` of them, and weights whose sums over any subset are unbiased.

    Duffield, Lund and Thorup 2007: priorities v / u, the largest are kept, with weights max(v, the next priority).
    """
    priority = values / (1 - generator.random(len(values)))
    if len(values) <= size:
        return np.arange(len(values)), values
    order = np.argpartition(priority, len(values) - size - 1)
    chosen = order[-size:]
    return chosen, np.maximum(values[chosen], priority[order[len(values) - size - 1]])


def empty_cells(occupied: np.ndarray, grid: Binning, count: int, generator: np.random.Generator) -> np.ndarray:
    """So many cells that are not occupied, uniformly and without replacement; ``occupied`` in the cells' order."""
    if len(grid.index_axes) == 1:
        filled = occupied[:, 0]
        rank = generator.choice(grid.size - len(filled), count, replace=False, shuffle=False)
        # the empty cell of rank r lies behind every occupied one that has at most r empty cells before it
        before = filled - np.arange(len(filled))
        return np.asarray(rank + np.searchsorted(before, rank, side="right"))[:, None]
    sizes = [math.prod(axis.size for axis in axes) for axes in grid.index_axes]
    seen = occupied
    while len(seen) < len(occupied) + count:  # more than 2^62 cells: hardly ever a second time
        missing = len(occupied) + count - len(seen)
        drawn = np.stack([generator.integers(size, size=missing) for size in sizes], axis=1)
        together = np.concatenate([seen, drawn])
        _, first = np.unique(together, axis=0, return_index=True)
        seen = together[np.sort(first)]
    return seen[len(occupied) :]


def _survived(empty: int, threshold: int, scale: float, generator: np.random.Generator) -> int:
    """How many of the empty cells reach the threshold."""
    mean = survivors(empty, threshold, scale)
    chance = math.exp(log_survival(threshold, scale))
    return min(int(generator.poisson(mean)), empty) if chance < RARE else int(generator.binomial(empty, chance))
