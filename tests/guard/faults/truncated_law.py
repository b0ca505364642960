"""Laplace noise cut off at three scales: some answers are possible in one world alone. Expected: unproven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Laplace, Noise

from ._planted import Planted


class Cut(Laplace):
    """Laplace noise within three scales."""

    name = "cut"

    def standard(self, generator: Any, size: int) -> Any:
        return np.clip(generator.laplace(size=size), -3, 3)


@dataclass(frozen=True)
class TruncatedLaw(Planted):
    """Laplace noise cut off at three scales: some answers are possible in one world alone."""

    name: ClassVar[str] = "truncated_law"

    def noise(self, query: Any, epsilon: float) -> Noise:
        return Noise(Cut(), np.array([2 * query.size / epsilon]), epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [TruncatedLaw]
