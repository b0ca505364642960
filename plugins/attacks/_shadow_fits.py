"""Shadow fits: fits of the same mechanism on other splits of the same rows, and the evidence they give about each row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench.contracts.attack import AttackTarget
from dpbench.data.blocks import Block
from dpbench.data.scaling import Rows
from dpbench.data.splits import UNSAMPLED

MIN_FITS_PER_SIDE = 2
"""The evidence about a row counts only if at least this many fits contain the row, and as many do not."""


def shadow_block(target: AttackTarget, repeat: int, fits: int) -> Block:
    """Return a block of at least this many fits, on random splits of one repeat's rows into parts of the same sizes.

    The splits are the same for every block of repeats that is attacked.
    """
    rows, block = target.block.rows(repeat), target.block
    parts = np.sort(block.labels(repeat))

    def labels(shadow: int) -> np.ndarray:
        return np.asarray(target.stream("shadow splits", shadow).permutation(parts))

    return Block(lambda shadow: rows, labels, range(-(-fits // block.tests)), block.parts, block.tests)


def members(block: Block, repeat: int, fold: int, rows: np.ndarray) -> np.ndarray:
    """Return which of these rows trained a run."""
    labels = block.labels(repeat)[rows]
    return np.asarray((labels != fold) & (labels != UNSAMPLED))


def evidence(target: AttackTarget, block: Block, rows: Rows, positions: np.ndarray) -> Evidence:
    """Return what the mechanism's fits on a shadow block say about the rows at these positions."""
    is_member = np.stack([members(block, repeat, fold, positions) for repeat, fold in block.runs], axis=1)
    return Evidence.of(rows.take(positions).x, target.refit(block), is_member)


@dataclass(frozen=True)
class Evidence:
    """For each row, the laws of x'w in fits with the row and in fits without it: two normal laws with one variance."""

    middle: np.ndarray
    """The mean of the two means."""
    slope: np.ndarray
    """The difference of the two means divided by the variance; 0 for a row with too few fits on either side."""

    @classmethod
    def of(cls, x: np.ndarray, weights: np.ndarray, is_member: np.ndarray) -> Evidence:
        """Estimate the laws from ``weights`` (fits, D) and ``is_member`` (rows, fits): whether the row trained the fit."""
        finite = np.isfinite(weights).all(axis=1)
        linear, member = x @ weights[finite].T, is_member[:, finite].astype(float)
        fits_with, fits_without = member.sum(axis=1), (1 - member).sum(axis=1)
        mean_with = (linear * member).sum(axis=1) / np.maximum(fits_with, 1)
        mean_without = (linear * (1 - member)).sum(axis=1) / np.maximum(fits_without, 1)
        squares = np.square(linear - np.where(member > 0, mean_with[:, None], mean_without[:, None])).sum(axis=1)
        variance = squares / np.maximum(fits_with + fits_without - 2, 1)
        enough = (fits_with >= MIN_FITS_PER_SIDE) & (fits_without >= MIN_FITS_PER_SIDE) & (variance > 0)
        slope = np.divide(mean_with - mean_without, variance, out=np.zeros(len(x)), where=enough)
        return cls((mean_with + mean_without) / 2, slope)

    def log_ratio(self, linear: np.ndarray) -> np.ndarray:
        """Return the log likelihood ratio of each x'w: positive if it is likelier with the row than without it."""
        return np.asarray(self.slope * (linear - self.middle))
