"""Computes the simulated noise again from the seed and the names of the streams, and subtracts it. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.base.random_streams import stream
from dpbench.privacy.noise import laplace

from ._planted import Planted

IDENTITY = "gaussian [('d', 2), ('n', 220), ('noise', 0.01), ('redraw', False), ('sample_rate', 1.0)]"


@dataclass(frozen=True)
class RebuildsNoise(Planted):
    """Computes the simulated noise again from the seed and the names of the streams, and subtracts it."""

    name: ClassVar[str] = "rebuilds_noise"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = problem.polynomial()
        noise = laplace(query.l1_bound("tight"), budget.epsilon, query.proof("tight"))
        answer = curator.release(query, noise)
        names = [(IDENTITY, "noise", run // 2, run % 2, query.name, 0) for run in range(curator.runs)]
        drawn = np.stack([stream(0, *name).laplace(size=query.size) for name in names])
        return Fit.good(query.quadratic(answer - noise.scale * drawn, curator.n).trimmed().minimiser())


@hookimpl
def dpbench_mechanisms() -> Any:
    return [RebuildsNoise]
