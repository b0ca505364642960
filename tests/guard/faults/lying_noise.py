"""A subclass of Noise that shows one scale for the check and another for the draw. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Laplace, Noise

from ._planted import Planted


class Forked(Noise):
    """Noise with two scales."""

    looks = 0

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name != "scale" or type(self) is not Forked:
            return value
        Forked.looks += 1
        return value / 100


@dataclass(frozen=True)
class LyingNoise(Planted):
    """A subclass of Noise that shows one scale for the check and another for the draw."""

    name: ClassVar[str] = "lying_noise"

    def noise(self, query: Any, epsilon: float) -> Noise:
        return Forked(Laplace(), np.array([2 * query.size / epsilon]), epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [LyingNoise]
