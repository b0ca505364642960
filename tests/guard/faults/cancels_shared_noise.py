"""Asks one run twice at its full ε through curators of its own, with noise of two scales that would cancel. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted


@dataclass(frozen=True)
class CancelsSharedNoise(Planted):
    """Asks one run twice at its full ε through curators of its own, with noise of two scales that would cancel."""

    name: ClassVar[str] = "cancels_shared_noise"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = self.query(curator)
        answers = []
        for share in (1 / 3, 1.0):
            singles = [curator.for_run(run) for run in range(curator.runs)]
            noise = laplace(2 * query.size, budget.epsilon * share, "every product lies in [-1, 1]")
            answers.append(np.concatenate([single.release(query, noise) for single in singles]))
        # a = f + 4u and b = f + (4/3)u have the same u
        return self.finish(curator, (3 * answers[1] - answers[0]) / 2)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [CancelsSharedNoise]
