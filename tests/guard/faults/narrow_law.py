"""A law that draws nine tenths of the scale that it declares, and brings the function of the declared one. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Laplace, Noise

from ._planted import Planted


class Narrow(Laplace):
    """Laplace noise, a little less of it."""

    name = "narrow"

    def shape(self, standard: Any, scale: Any) -> Any:
        return 0.9 * standard * scale

    def cdf(self, x: Any, scale: Any) -> Any:
        tail = np.exp(-np.abs(x) / scale) / 2
        return np.where(x < 0, tail, 1 - tail)


@dataclass(frozen=True)
class NarrowLaw(Planted):
    """A law that draws nine tenths of the scale that it declares, and brings the function of the declared one."""

    name: ClassVar[str] = "narrow_law"

    def noise(self, query: Any, epsilon: float) -> Noise:
        return Noise(Narrow(), np.array([2 * query.size / epsilon]), epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [NarrowLaw]
