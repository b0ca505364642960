"""Ridge regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.data.geometry import Geometry
from dpbench.hooks import hookimpl
from dpbench.model import Capability, Model, Problem
from dpbench.options import option
from dpbench.privacy.curator import Curator
from dpbench.quadratic import Quadratic

from .linear import LeastSquares, Linear


class PenalisedSquares(LeastSquares):
    """Least squares with n λ ‖w‖² on the sum; the intercept is not penalised."""

    def __init__(self, geometry: Geometry, n: np.ndarray, penalty: float) -> None:
        super().__init__(geometry, n)
        self.penalty = penalty

    @property
    def penalised(self) -> np.ndarray:
        """1 where a coefficient is penalised, 0 for the intercept's."""
        mask = np.ones(self.geometry.dimension)
        mask[: int(self.geometry.intercept)] = 0.0
        return mask

    def regularised(self, quadratic: Quadratic) -> Quadratic:
        weight = self.penalty * self.n
        return quadratic.ridged(weight if quadratic.linear.ndim > 1 else float(weight[0]), self.penalised)


@dataclass(frozen=True)
class Ridge(Model):
    """Least squares with a squared penalty on the weights.

    Minimises the mean of (y - x'w)² plus λ ‖w‖², the intercept left out of the penalty (Dandekar et al. 2018, equation 4,
    whose paper sums the loss and whose slides average it: the mean is meant here).
    """

    name: ClassVar[str] = "ridge"
    provides: ClassVar[frozenset[Capability]] = Linear.provides

    penalty: float = option(0.01, low=0, help="λ, beside the mean loss")

    def prepare(self, curator: Curator) -> Problem:
        return PenalisedSquares(curator.geometry, curator.n, self.penalty)


@hookimpl
def dpbench_models() -> list[type[Model]]:
    return [Ridge]
