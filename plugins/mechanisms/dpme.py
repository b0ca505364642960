"""A regression on a noisy histogram: Lei's differentially private M-estimators."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.fit import Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.bins import BinCounts, Binning, spell_count
from dpbench.data.geometry import Geometry
from dpbench.fitting.noisy_histogram import fit_bins, fit_moments, fit_unbiased, moments_suffice
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Noise, laplace
from dpbench.privacy.queries.histogram import PROOF, Histogram, Scan


@dataclass(frozen=True)
class NoisyHistogram(Mechanism):
    """Fit the model to a noisy histogram of the whole table: Laplace noise on every bin, then a fit weighted by the counts.

    Formula: features and target are divided into bins of side h, a fraction of the declared ranges. Each count gets Lap(2/ε), and
    the model is fitted to the centres of the bins. ``bandwidth=lei`` uses h = (√(log n)/n)^(1/(1 + D'/2)) for D' attributes,
    including the target, and K = ⌈1/h⌉ bins per attribute. ``d+1`` uses the exponent 1/(D' + 1), which some papers quote instead.
    A number is K itself. ``counts=clip`` clips noisy counts at 0, ``threshold`` drops those below log(n)/ε, and ``raw`` uses them
    as they are: it fits unbiased moments whose eigenvalues are raised to the size of the noise, and only suits losses that the
    moments determine.

    Guarantee: ε-DP for replace-one neighbours: a replaced row changes two counts by one.

    Public: n, the bounds, the levels of attributes with few levels, and the bins.

    Cost: bins are drawn in blocks of 260,000, one run at a time. For linear models 250 runs take 0.2 s with 10⁵ bins and 3 s with
    10⁶, in less than 100 MB. Logistic regression is fitted to the grid of bins itself, without a row for each: 250 runs take
    another 2 s with 5·10⁵ bins. Other models hold the bins of one run with positive weight, 0.25 GB for 10⁶ bins of 14 columns,
    and add the cost of their fit to as many rows: 250 runs of 5·10⁵ bins take a minute for robust regression.

    Reference: Lei 2011, "Differentially private M-estimators", NIPS. The full paper was not available; counts and bandwidth are
    chosen as described here.

    Errata: the paper uses Lap(1/ε) for neighbours that add or remove a row; here neighbours replace one. Clipping leaves 1/ε
    pseudo-rows in every empty bin, spread evenly. The result is useless with many more bins than nε, as in the figures of the
    functional mechanism's paper.

    Attributes with at most K public levels have a bin for each level, one-hot groups one for each level and one for "no level".
    K is lowered until there are at most ``cells`` bins, and recorded together with their number (``health/bins``,
    ``health/cells``).
    """

    name: ClassVar[str] = "dpme"
    handles_persons: ClassVar[bool] = True
    counts_alone: ClassVar[bool] = True
    guarantee: ClassVar[str] = "ε-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"weighted"})
    expected_failures: ClassVar[Mapping[str, str]] = {
        "limit": "rows stand at the centres of bins at any ε",
    }

    bandwidth: Literal["lei", "d+1"] | int = option("lei", low=2, high=10_000, help="bins per attribute, or the rule for them")
    counts: Literal["clip", "raw", "threshold"] = option("clip", help="what happens to negative and to small counts")
    cells: int = option(1_000_000, low=4, high=100_000_000, help="largest number of bins; attributes get fewer bins to meet it")

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        if geometry.scaling == "ball":
            return "its bins divide the declared ranges, so dataset.scaling must be box or corner"
        if self.counts == "raw" and ("polynomial" not in model.provides or "truncation" in model.provides):
            return "counts=raw leaves negative weights, which only a quadratic loss can take"
        smallest = Binning(geometry, 2).size
        if smallest > self.cells:
            return f"two bins per attribute make {spell_count(smallest)} bins, above mechanism.cells={self.cells:,}"
        return None

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        n = max(float(curator.n.min()), 2.0)  # folds may differ by a row, and all runs of a fit have the same bins
        binning = Binning.within(curator.geometry, self.bins(curator.geometry, n), self.cells)
        histogram = Histogram(binning)
        noise = laplace(histogram.l1_bound, budget.epsilon, PROOF)
        scan = curator.scan(histogram, noise, binning.step)
        threshold = math.log(n) / budget.epsilon if self.counts == "threshold" else 0.0
        fit = self._fit_bins(problem, binning, scan, noise, threshold)
        return replace(fit, notes={"bins": binning.bins_per_attribute, "cells": float(binning.size)})

    def bins(self, geometry: Geometry, n: float) -> int:
        """Return K before the limit on the number of bins."""
        if isinstance(self.bandwidth, int):
            return self.bandwidth
        axes = len(Binning(geometry, 2).axes)
        exponent = 1 / (1 + axes / 2) if self.bandwidth == "lei" else 1 / (1 + axes)
        return max(math.ceil(math.pow(n / math.sqrt(math.log(n)), exponent)), 2)

    def _fit_bins(self, problem: Problem, binning: Binning, scan: Scan, noise: Noise, threshold: float) -> Fit:
        runs = range(len(problem.n))
        if not moments_suffice(problem):
            return fit_bins(problem, binning, (_weighted_bins(scan, run, threshold) for run in runs))
        gram = np.zeros((len(runs), problem.geometry.features + 2, problem.geometry.features + 2))
        for run in runs:
            for start, counts in scan.blocks(run):
                gram[run] += binning.gram(start, counts if self.counts == "raw" else _weights(counts, threshold))
        if self.counts == "raw":
            return fit_unbiased(problem, gram, _noise_floor(problem, binning, noise))
        return fit_moments(problem, gram)


def _weights(counts: np.ndarray, threshold: float) -> np.ndarray:
    """Return the counts with those below the threshold set to 0. A threshold of 0 clips negative counts."""
    return counts * (counts >= threshold) if threshold else np.maximum(counts, 0)


def _weighted_bins(scan: Scan, run: int, threshold: float) -> BinCounts:
    """Return one run's bins with positive weight, and their weights."""
    indices, weights = [], []
    for start, counts in scan.blocks(run):
        bins = _weights(counts, threshold)
        positive = np.flatnonzero(bins > 0)
        indices.append(start + positive)
        weights.append(bins[positive])
    return BinCounts(np.concatenate(indices)[:, None], np.concatenate(weights))


def _noise_floor(problem: Problem, binning: Binning, noise: Noise) -> np.ndarray:
    """Return the size of M's eigenvalues from noise alone: about 2 std √D, with the largest std outside the diagonal."""
    squares = [float(np.square(axis.centres).mean(axis=0).max()) for axis in binning.axes[:-1]]
    largest = np.sort([*squares, *[1.0] * problem.geometry.intercept])[-2:]
    assert problem.loss is not None
    spread = problem.loss.curvature * np.sqrt(noise.law.variance(noise.scale[:, 0]) * binning.size * largest.prod())
    return np.broadcast_to(2 * spread * np.sqrt(problem.geometry.dimension), problem.n.shape)


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [NoisyHistogram]
