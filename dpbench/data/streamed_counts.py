"""Counts of bins over blocks of rows that come one after the other: what a histogram of a streamed table is made from."""

from collections.abc import Iterable

import numpy as np

from dpbench.base.errors import Refused
from dpbench.data.bins import Binning
from dpbench.data.scaling import Rows

MERGED_ROWS = 2**19
"""Rows whose bins are merged with those that are known, at a time: a merge sorts all of them."""
MAX_BYTES = 2**28
"""Memory for the filled bins of one repeat and their counts in each part."""


def count_parts(binning: Binning, blocks: Iterable[tuple[int, Rows]], parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the bins that rows fill, in order, and how many rows of each part they have: (parts, bins).

    The blocks come with the part that they belong to.
    """
    bins = np.zeros((0, len(binning.index_axes)), dtype=np.int64)
    counts = np.zeros((parts, 0), dtype=np.int64)
    indices: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    for part, rows in blocks:
        indices.append(binning.locate(rows))
        labels.append(np.full(rows.n, part, dtype=np.int64))
        if sum(map(len, labels)) >= MERGED_ROWS:
            bins, counts = _merged(binning, bins, counts, indices, labels)
            indices, labels = [], []
    return _merged(binning, bins, counts, indices, labels) if labels else (bins, counts)


def _merged(
    binning: Binning, bins: np.ndarray, counts: np.ndarray, indices: list[np.ndarray], labels: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Add rows with these indices and parts to the counts of the bins that are known."""
    merged, places = binning.occurring(np.concatenate([bins, *indices]))
    size = len(counts) * len(merged)
    if merged.nbytes + 8 * size > MAX_BYTES:
        raise Refused(
            f"The rows of the streamed table fill at least {len(merged):,} bins, whose counts do not fit into memory. "
            "Take fewer bins, or load the rows with dataset.stream=false, if they fit."
        )
    added = np.bincount(np.concatenate(labels) * len(merged) + places[len(bins) :], minlength=size).reshape(len(counts), -1)
    added[:, places[: len(bins)]] += counts
    return merged, added
