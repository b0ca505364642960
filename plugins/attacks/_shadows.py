"""Shadow fits: the same mechanism on other splits of the same rows, and what they say about each attacked row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench.contracts.attack import Target
from dpbench.data.blocks import Block
from dpbench.data.scaling import Rows
from dpbench.data.splits import UNSAMPLED

FEWEST = 2
"""Fits with a row, and without it, from which its evidence can be weighed."""


def shadow_block(target: Target, repeat: int, fits: int) -> Block:
    """So many random splits of a repeat's rows into parts of the same sizes, whatever the block of repeats."""
    rows, block = target.block.rows(repeat), target.block
    parts = np.sort(block.labels(repeat))

    def labels(shadow: int) -> np.ndarray:
        return np.asarray(target.stream("shadow splits", shadow).permutation(parts))

    return Block(lambda shadow: rows, labels, range(-(-fits // block.tests)), block.parts, block.tests)


def members(block: Block, repeat: int, fold: int, rows: np.ndarray) -> np.ndarray:
    """Which of these rows trained a run."""
    labels = block.labels(repeat)[rows]
    return np.asarray((labels != fold) & (labels != UNSAMPLED))


@dataclass(frozen=True)
class Evidence:
    """For each attacked row, x'w in the fits that it trained and in those that it did not, as two normal laws of one variance."""

    middle: np.ndarray
    slope: np.ndarray
    """The difference of the two means over the variance; 0 where too few fits tell."""

    @classmethod
    def of(cls, x: np.ndarray, weights: np.ndarray, inside: np.ndarray) -> Evidence:
        """``weights``: (fits, D), ``inside``: (rows, fits), whether the row trained the fit."""
        finite = np.isfinite(weights).all(axis=1)
        linear, inside = x @ weights[finite].T, inside[:, finite].astype(float)
        many, few = inside.sum(axis=1), (1 - inside).sum(axis=1)
        with_row = (linear * inside).sum(axis=1) / np.maximum(many, 1)
        without = (linear * (1 - inside)).sum(axis=1) / np.maximum(few, 1)
        squares = np.square(linear - np.where(inside > 0, with_row[:, None], without[:, None])).sum(axis=1)
        variance = squares / np.maximum(many + few - 2, 1)
        told = (many >= FEWEST) & (few >= FEWEST) & (variance > 0)
        slope = np.divide(with_row - without, variance, out=np.zeros(len(x)), where=told)
        return cls((with_row + without) / 2, slope)

    def log_ratio(self, linear: np.ndarray) -> np.ndarray:
        """How much likelier x'w of a release is with the row than without it."""
        return np.asarray(self.slope * (linear - self.middle))


def evidence(target: Target, block: Block, rows: Rows, picked: np.ndarray) -> Evidence:
    """What the mechanism's fits on a shadow block say about the picked rows."""
    inside = np.stack([members(block, repeat, fold, picked) for repeat, fold in block.runs], axis=1)
    return Evidence.of(rows.take(picked).x, target.refit(block), inside)
