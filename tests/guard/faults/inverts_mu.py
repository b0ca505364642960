"""Passes the standard deviation where μ belongs: σ = 1/μ is meant. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Gaussian, Noise

from ._planted import Planted


@dataclass(frozen=True)
class InvertsMu(Planted):
    """Passes the standard deviation where μ belongs: σ = 1/μ is meant."""

    name: ClassVar[str] = "inverts_mu"

    def counted(self) -> Any:
        return "gdp"

    def noise(self, query: Any, epsilon: float) -> Noise:
        sigma = 2 * np.sqrt(query.size) / epsilon
        return Noise(Gaussian(), np.array([1 / sigma]), epsilon, "σ is the inverse of its calibration")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [InvertsMu]
