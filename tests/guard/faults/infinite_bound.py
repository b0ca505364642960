"""Declares an infinite scale next to its real one, so that its moves are small relative to it. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import hookimpl
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted


@dataclass(frozen=True)
class InfiniteBound(Planted):
    """Declares an infinite scale next to its real one, so that its moves are small relative to it."""

    name: ClassVar[str] = "infinite_bound"

    def noise(self, query: Any, epsilon: float) -> Noise:
        noise = laplace(2 * query.size, epsilon, "every product lies in [-1, 1]")
        object.__setattr__(noise, "bound", float("nan"))
        return noise


@hookimpl
def dpbench_mechanisms() -> Any:
    return [InfiniteBound]
