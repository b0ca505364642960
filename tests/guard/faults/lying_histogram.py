"""A subclass of Histogram that counts every row a thousand times. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.data.bins import BinCounts, Binning
from dpbench.privacy.noise import laplace
from dpbench.privacy.queries.histogram import L1_SENSITIVITY, PROOF, Histogram

from ._planted import Planted


@dataclass(frozen=True)
class Loud(Histogram):
    """A histogram with loud rows."""

    def count(self, sample: Any, run: int) -> Any:
        counts = super().count(sample, run)
        return BinCounts(counts.index, 1000 * counts.counts)


@dataclass(frozen=True)
class LyingHistogram(Planted):
    """A subclass of Histogram that counts every row a thousand times."""

    name: ClassVar[str] = "lying_histogram"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        binning = Binning(curator.geometry, 2)
        noise = laplace(L1_SENSITIVITY, budget.epsilon, PROOF)
        scan = curator.scan(Loud(binning), noise, binning.step)
        weights = [next(iter(scan.blocks(run)))[1] for run in range(curator.runs)]
        return Fit.good(np.stack(weights)[:, : curator.geometry.dimension] / 1000)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [LyingHistogram]
