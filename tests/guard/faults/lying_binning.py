"""A subclass of Binning that moves every row to the bin that its rank decides. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.data.bins import Binning
from dpbench.privacy.noise import laplace
from dpbench.privacy.queries.histogram import L1_SENSITIVITY, PROOF, Histogram

from ._planted import Planted


@dataclass(frozen=True)
class Ranked(Binning):
    """Bins by rank: one row decides where all others are."""

    def locate(self, rows: Any) -> Any:
        return (np.argsort(np.argsort(rows.y)) * self.size // max(len(rows.y), 1))[:, None]


@dataclass(frozen=True)
class LyingBinning(Planted):
    """A subclass of Binning that moves every row to the bin that its rank decides."""

    name: ClassVar[str] = "lying_binning"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        binning = Ranked(curator.geometry, 2)
        noise = laplace(L1_SENSITIVITY, budget.epsilon, PROOF)
        scan = curator.scan(Histogram(binning), noise, binning.step)
        weights = [next(iter(scan.blocks(run)))[1] for run in range(curator.runs)]
        return Fit.good(np.stack(weights)[:, : curator.geometry.dimension])


@hookimpl
def dpbench_mechanisms() -> Any:
    return [LyingBinning]
