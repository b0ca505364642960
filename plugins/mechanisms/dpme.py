"""The noisy histogram of Lei's differentially private M-estimators."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.fit import Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.bins import Binning, spell_count
from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows
from dpbench.fitting.noisy_histogram import fit_cells, fit_moments, fit_unbiased, moments_suffice
from dpbench.privacy.curator import Curator
from dpbench.privacy.histogram import L1_SENSITIVITY, PROOF, Histogram, Scan
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Noise, laplace


@dataclass(frozen=True)
class NoisyHistogram(Mechanism):
    """A regression on a noisy histogram of the whole table: Laplace noise on every cell, then a fit weighted by the counts.

    Formula: features and target are divided into cells of side h, as a fraction of the declared ranges; each count gets Lap(2/ε),
    and the model is fitted to the cells' centres. ``bandwidth=lei``: h = (√(log n)/n)^(1/(1 + D'/2)) for D' attributes, the
    target included, and K = ⌈1/h⌉ bins of each; ``d+1``: the exponent 1/(D' + 1) that is quoted instead at times; a number: K
    itself. Noisy counts are clipped at 0 (``clip``), kept where they reach log(n)/ε (``threshold``), or taken as they are
    (``raw``: unbiased moments, eigenvalues floored at what noise alone makes of them; only for losses that moments determine).

    Guarantee: ε-DP for replace-one neighbours: a replaced row moves two counts by one.

    Public: n, the bounds, the levels of attributes that have few, and the cells.

    Cost: cells are drawn in blocks of 260,000, a run at a time. 250 runs of 10⁵ cells take 0.7 s for linear models, of 10⁶
    cells 8 s, in under 100 MB. Other models keep the cells of one run that weigh anything, 0.25 GB for 10⁶ cells of 14 columns,
    and cost what their fit of so many rows costs: 250 runs of 5·10⁵ cells take 15 s for logistic, a minute for robust regression.

    Reference: Lei 2011, "Differentially private M-estimators", NIPS. The full paper was not at hand: counts and bandwidth are
    settled as said here.

    Errata: there, with Lap(1/ε), a row is added or removed; here one is replaced. Clipping leaves 1/ε pseudo-rows in every empty
    cell, uniformly spread: useless where there are many more cells than nε, which is what the functional mechanism's figures
    show of it.

    Attributes of at most K public levels have a cell for each, one-hot groups one for each level and one for none. K is
    lowered until at most ``cells`` are left, and recorded (``health/bins``, ``health/cells``).
    """

    name: ClassVar[str] = "dpme"
    guarantee: ClassVar[str] = "ε-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"weighted"})

    bandwidth: Literal["lei", "d+1"] | int = option("lei", low=2, high=10_000, help="bins of each attribute, or the rule for it")
    counts: Literal["clip", "raw", "threshold"] = option("clip", help="what is done to negative and to small counts")
    cells: int = option(1_000_000, low=4, high=100_000_000, help="the most cells: fewer bins are taken until they suffice")

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        if geometry.scaling != "box":
            return "its cells divide the declared ranges, so dataset.scaling must be box"
        if self.counts == "raw" and ("polynomial" not in model.provides or "truncation" in model.provides):
            return "counts=raw leaves negative weights, which only a quadratic loss can take"
        least = Binning(geometry, 2).size
        if least > self.cells:
            return f"two bins an attribute make {spell_count(least)} cells, above mechanism.cells={self.cells:,}"
        return None

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        n = max(float(curator.n.min()), 2.0)  # folds may differ by a row: all runs of a fit have one grid
        grid = Binning.within(curator.geometry, self.bins(curator.geometry, n), self.cells)
        noise = laplace(L1_SENSITIVITY, budget.epsilon, PROOF)
        scan = curator.scan(Histogram(grid), noise, grid.step)
        least = math.log(n) / budget.epsilon if self.counts == "threshold" else 0.0
        return replace(
            self._fitted(problem, grid, scan, noise, least), notes={"bins": grid.bins_per_attribute, "cells": float(grid.size)}
        )

    def bins(self, geometry: Geometry, n: float) -> int:
        """K before the cap."""
        if isinstance(self.bandwidth, int):
            return self.bandwidth
        axes = len(Binning(geometry, 2).axes)
        exponent = 1 / (1 + axes / 2) if self.bandwidth == "lei" else 1 / (1 + axes)
        return max(math.ceil(math.pow(n / math.sqrt(math.log(n)), exponent)), 2)

    def _fitted(self, problem: Problem, grid: Binning, scan: Scan, noise: Noise, least: float) -> Fit:
        runs = range(len(problem.n))
        if not moments_suffice(problem):
            return fit_cells(problem, (_kept(grid, scan, run, least) for run in runs))
        gram = np.zeros((len(runs), problem.geometry.features + 2, problem.geometry.features + 2))
        for run in runs:
            for start, counts in scan.blocks(run):
                gram[run] += grid.gram(start, counts if self.counts == "raw" else _weights(counts, least))
        return fit_unbiased(problem, gram, _floor(problem, grid, noise)) if self.counts == "raw" else fit_moments(problem, gram)


def _weights(counts: np.ndarray, least: float) -> np.ndarray:
    """Counts that reach the threshold, in place; at 0, those that are positive."""
    counts[counts < least] = 0
    return counts


def _kept(grid: Binning, scan: Scan, run: int, least: float) -> tuple[Rows, np.ndarray]:
    """One run's cells of positive weight."""
    cells, weights = [], []
    for start, counts in scan.blocks(run):
        at = np.flatnonzero(_weights(counts, least) > 0)
        cells.append(start + at)
        weights.append(counts[at])
    return grid.centres(np.concatenate(cells)[:, None]), np.concatenate(weights)


def _floor(problem: Problem, grid: Binning, noise: Noise) -> np.ndarray:
    """What noise alone makes of M's eigenvalues: about 2 std √D, for the largest std of an entry off the diagonal."""
    squares = [float(np.square(axis.centres).mean(axis=0).max()) for axis in grid.axes[:-1]]
    largest = np.sort([*squares, *[1.0] * problem.geometry.intercept])[-2:]
    assert problem.loss is not None
    spread = problem.loss.curvature * np.sqrt(noise.law.variance(noise.scale[:, 0]) * grid.size * largest.prod())
    return np.broadcast_to(2 * spread * np.sqrt(problem.geometry.dimension), problem.n.shape)


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [NoisyHistogram]
