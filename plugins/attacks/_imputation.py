"""Guesses an attribute from the other attributes and the target, without a model: the control that a release is compared with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpbench.data.scaling import CHUNK

RELATIVE_RIDGE = 1e-6
"""Added to the diagonal of the covariance, as a fraction of the mean square.

It keeps a direction usable along which the classes do not vary at all.
"""


def discriminant(columns: np.ndarray, classes: np.ndarray, size: int) -> Callable[[np.ndarray], np.ndarray]:
    """Fit a linear discriminant analysis and return its rule: from columns to log posteriors (rows, size).

    ``columns`` is (rows, columns) and ``classes`` the class of each row, from 0 to size - 1. The rows of each class are assumed
    to be normal with a mean of their own and a common covariance; the share of a class is its prior.
    """
    width = columns.shape[1]
    sums, gram = np.zeros((size, width)), np.zeros((width, width))
    for start in range(0, len(columns), CHUNK):
        part = columns[start : start + CHUNK]
        sums += (classes[start : start + CHUNK, None] == np.arange(size)).astype(float).T @ part
        gram += part.T @ part
    counts = np.bincount(classes, minlength=size).astype(float)
    means = sums / np.maximum(counts, 1)[:, None]
    within = (gram - sums.T @ means) / len(columns)
    ridge = RELATIVE_RIDGE * float(np.trace(gram)) / (width * len(columns)) + float(np.finfo(float).eps)
    slopes = np.linalg.solve(within + ridge * np.eye(width), means.T)
    with np.errstate(divide="ignore"):  # a class without rows is impossible: log 0
        offsets = np.log(counts / len(columns)) - 0.5 * np.einsum("lw,wl->l", means, slopes)
    return lambda new_columns: np.asarray(new_columns @ slopes + offsets)
