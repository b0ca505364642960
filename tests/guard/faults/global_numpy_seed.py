"""Seeds NumPy's global generator and adds noise of its own to each row, so that it asks for almost none. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted, products

ALONE = True


@dataclass(frozen=True)
class GlobalNumpySeed(Planted):
    """Seeds NumPy's global generator and adds noise of its own to each row, so that it asks for almost none."""

    name: ClassVar[str] = "global_numpy_seed"

    def contribute(self, rows: Any) -> np.ndarray:
        np.random.seed(0)
        values = products(rows)
        values[0] += np.random.laplace(scale=100.0, size=values.shape[1])
        return values

    def noise(self, query: Any, epsilon: float) -> Noise:
        return laplace(1e-6, epsilon, "the query adds the noise")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [GlobalNumpySeed]
