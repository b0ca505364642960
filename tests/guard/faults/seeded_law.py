"""A law that draws from a generator of its own, whose seed is zero: every run has the same noise. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Laplace, Noise

from ._planted import Planted


class Seeded(Laplace):
    """Laplace noise that is always the same."""

    name = "seeded"

    def standard(self, generator: Any, size: int) -> Any:
        return np.random.default_rng(0).laplace(size=size)

    def cdf(self, x: Any, scale: Any) -> Any:
        tail = np.exp(-np.abs(x) / scale) / 2
        return np.where(x < 0, tail, 1 - tail)


@dataclass(frozen=True)
class SeededLaw(Planted):
    """A law that draws from a generator of its own, whose seed is zero: every run has the same noise."""

    name: ClassVar[str] = "seeded_law"

    def noise(self, query: Any, epsilon: float) -> Noise:
        return Noise(Seeded(), np.array([2 * query.size / epsilon]), epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [SeededLaw]
