"""Laplace noise cut off at three scales, which brings the function of the whole law. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Laplace, Noise

from ._planted import Planted


class Clipped(Laplace):
    """Laplace noise within three scales."""

    name = "clipped"

    def standard(self, generator: Any, size: int) -> Any:
        return np.clip(generator.laplace(size=size), -3, 3)

    def cdf(self, x: Any, scale: Any) -> Any:
        tail = np.exp(-np.abs(x) / scale) / 2
        return np.where(x < 0, tail, 1 - tail)


@dataclass(frozen=True)
class ClippedLaw(Planted):
    """Laplace noise cut off at three scales, which brings the function of the whole law."""

    name: ClassVar[str] = "clipped_law"

    def noise(self, query: Any, epsilon: float) -> Noise:
        return Noise(Clipped(), np.array([2 * query.size / epsilon]), epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [ClippedLaw]
