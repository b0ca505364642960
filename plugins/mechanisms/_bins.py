"""Bins of a private tree: the noise on their sums, and the least squares problem that the noisy sums pose."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from dpbench.data.halving import Halving
from dpbench.privacy.noise import Gaussian, Noise
from dpbench.privacy.queries.cell_sums import CellSums
from dpbench.privacy.queries.quadratic import Quadratic

Correction = Literal["sum", "mean", "none"]
"""What is subtracted from S'WS for the noise of S: its expected size, that divided by the number of bins, or nothing."""
PROOF = "two bins, or the largest change within one (docs/sensitivities.md, Sums in bins)"


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of a tree, and the standard deviations of the noise on each one's count, sums of features and sum of targets.

    They are proportional to 1, the largest size that a column takes in the bin times √p, and 1, where p counts numeric columns
    and groups: at most p columns of a row are at their ends.
    """

    partition: Halving
    tree: np.ndarray
    """The first code of each bin, and the partition's end in the places that are left."""

    @cached_property
    def starts(self) -> np.ndarray:
        """The first code of each bin."""
        return self.tree[self.tree < self.partition.end]

    @cached_property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper ends of each bin: (bins, features)."""
        return self.partition.boxes(self.starts)

    @property
    def query(self) -> CellSums:
        """The count, the sums of the features and the sum of the targets of each bin."""
        return CellSums(self.partition, self.starts[None], tuple(range(self.partition.geometry.features + 2)), "sums in bins")

    @cached_property
    def sizes(self) -> np.ndarray:
        """The largest absolute value that each column takes in each bin: (bins, features)."""
        low, high = self.box
        return np.asarray(np.maximum(np.abs(low), np.abs(high)))

    @property
    def noise(self) -> np.ndarray:
        """The noise of each number of each bin, in units of one factor: (bins, features + 2)."""
        one = np.ones((len(self.starts), 1))
        return np.hstack([one, self.sizes * math.sqrt(self.parts), one])

    @property
    def parts(self) -> int:
        """p."""
        geometry = self.partition.geometry
        return geometry.numeric + len(geometry.groups)

    @cached_property
    def bound(self) -> float:
        """sup ‖change / noise‖ over neighbours, for noise of the factor 1."""
        apart = 2 * (1 + 1 + 1)
        return self.partition.geometry.replaced_rows * math.sqrt(max(apart, self._within / self.parts + 4))

    @property
    def _within(self) -> float:
        """The most that Σ (change of a column / its size)² can be for a row that is replaced within its bin."""
        geometry = self.partition.geometry
        low, high = self.box
        change = np.square((high - low) / self.sizes)
        for members in geometry.groups:  # of a group, at most two columns change, and only those that are not cut
            columns = list(members)
            free = ((low[:, columns] == 0) & (high[:, columns] == 1)).sum(axis=1)
            change[:, columns] = 0.0
            change[:, columns[0]] = np.minimum(free, 2)
        return float(change.sum(axis=1).max())

    def gaussian(self, mu: float) -> Noise:
        """Return normal noise that makes the sums μ-GDP, all columns of a row charged together."""
        return Noise(Gaussian(), self.noise.ravel() * (self.bound / mu), mu, PROOF)

    def alone(self, mu: float) -> Noise:
        """Return normal noise as the public code prices it: one row moves a count, one column and a target by their sizes."""
        scales = np.hstack([np.ones((len(self.starts), 1)), self.sizes, np.ones((len(self.starts), 1))]) * (math.sqrt(3) / mu)
        bound = math.sqrt(max(2 * (2 + self.parts), self._within + 4) / 3) * mu * self.partition.geometry.replaced_rows
        return Noise(Gaussian(), scales.ravel(), bound, PROOF)

    def least_squares(self, sums: np.ndarray, std: np.ndarray, min_count: int, correction: Correction) -> tuple[Quadratic, float]:
        """Return the weighted least squares problem of noisy sums, and the size of the noise in its matrix.

        With S the sums of the design's columns, t those of the targets and W = 1/counts: S'WS less its noise, and S'Wt. The
        column of an intercept sums to the count, and Σ count²/count has no noise to be corrected for.
        """
        geometry = self.partition.geometry
        table, std = (array.reshape(len(self.starts), -1) for array in (sums, std))
        counts = np.rint(table[:, 0])
        chosen = counts >= min_count
        table, std, counts = table[chosen], std[chosen], counts[chosen]
        design, spread = table[:, 1:-1], std[:, 1:-1]
        if geometry.intercept:
            design = np.column_stack([counts * geometry.constant, design])
            spread = np.column_stack([np.zeros(len(counts)), spread])
        weight = 1 / counts
        variance = weight @ np.square(spread)
        share = {"sum": 1.0, "mean": 1 / max(len(counts), 1), "none": 0.0}[correction]
        weighted = design * weight[:, None]
        matrix = weighted.T @ design - np.diag(share * variance)
        # the variance of an entry of S'WS: Σ w² (s² τ² + τ² s'²), with s from the noisy sums
        entries = np.square(weighted).T @ np.square(spread)
        noise = math.sqrt(float((entries + entries.T).max(initial=0.0)))
        return Quadratic(matrix[None], -2 * (weighted.T @ table[:, -1])[None]), noise
