"""Starts its iteration at a random point of a generator that nobody can repeat. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted, least_squares


@dataclass(frozen=True)
class FreshGenerator(Planted):
    """Starts its iteration at a random point of a generator that nobody can repeat."""

    name: ClassVar[str] = "fresh_generator"

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        start = np.random.default_rng().normal(size=(len(answer), curator.geometry.dimension))
        return Fit.good(least_squares(answer, curator.geometry.dimension) + 1e-6 * start)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [FreshGenerator]
