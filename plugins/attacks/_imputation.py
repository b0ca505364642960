"""Guessing an attribute from the other attributes and the target, with no model: what a release must be compared with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpbench.data.samples import CHUNK

RIDGE = 1e-6
"""Added to the covariance's diagonal, as a part of the mean square: a direction that decides without error stays usable."""


def discriminant(known: np.ndarray, level: np.ndarray, levels: int) -> Callable[[np.ndarray], np.ndarray]:
    """Linear discriminant analysis of (rows, columns) that belong to levels: from columns to log posteriors (rows, levels).

    Each level's rows are taken to be normal with its own mean and the common covariance; its share is the prior.
    """
    width = known.shape[1]
    sums, gram = np.zeros((levels, width)), np.zeros((width, width))
    for start in range(0, len(known), CHUNK):
        part = known[start : start + CHUNK]
        sums += (level[start : start + CHUNK, None] == np.arange(levels)).astype(float).T @ part
        gram += part.T @ part
    counts = np.bincount(level, minlength=levels).astype(float)
    means = sums / np.maximum(counts, 1)[:, None]
    within = (gram - sums.T @ means) / len(known)
    floor = RIDGE * float(np.trace(gram)) / (width * len(known)) + float(np.finfo(float).eps)
    slopes = np.linalg.solve(within + floor * np.eye(width), means.T)
    with np.errstate(divide="ignore"):  # a level that nobody has is impossible
        offsets = np.log(counts / len(known)) - 0.5 * np.einsum("lw,wl->l", means, slopes)
    return lambda columns: np.asarray(columns @ slopes + offsets)
