"""A linear map of moments that is a hundred times as large whenever the core computes the answer. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.privacy.queries.query import Layer, MomentQuery

from ._planted import Planted


class Restless(MomentQuery):
    """The sum of the target, at times."""

    name = "restless"

    def __init__(self) -> None:
        self.looks = 0

    @property
    def layers(self) -> tuple[Layer, ...]:
        self.looks += 1
        return (Layer(np.array([0]), np.array([3]), np.array([1.0 if self.looks % 2 else 100.0])),)


@dataclass(frozen=True)
class ChangesItsLayers(Planted):
    """A linear map of moments that is a hundred times as large whenever the core computes the answer."""

    name: ClassVar[str] = "changes_its_layers"

    def query(self, curator: Any) -> Any:
        return Restless()

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        return Fit.good(np.repeat(answer / curator.n[:, None], curator.geometry.dimension, axis=1))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [ChangesItsLayers]
