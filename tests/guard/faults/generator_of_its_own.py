"""Adds noise from a generator with a fixed seed to its sum, and asks the curator for almost none. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted, products


@dataclass(frozen=True)
class GeneratorOfItsOwn(Planted):
    """Adds noise from a generator with a fixed seed to its sum, and asks the curator for almost none."""

    name: ClassVar[str] = "generator_of_its_own"

    def contribute(self, rows: Any) -> np.ndarray:
        noise = np.random.default_rng(0).laplace(scale=100.0, size=products(rows).shape[1])
        return products(rows) + noise / len(rows.y)

    def noise(self, query: Any, epsilon: float) -> Noise:
        return laplace(1e-6, epsilon, "the query adds the noise")

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        noise = np.random.default_rng(0).laplace(scale=100.0, size=answer.shape[1])
        return super().finish(curator, answer - noise)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [GeneratorOfItsOwn]
