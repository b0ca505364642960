"""Ridge regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.geometry import Geometry
from dpbench.privacy.curator import Curator
from dpbench.privacy.quadratic import Quadratic

from ._cross_validation import chosen_penalty
from .linear import LeastSquares

PENALISED: frozenset[Capability] = frozenset({"polynomial", "gradient", "weighted", "likelihood"})


class PenalisedSquares(LeastSquares):
    """Least squares with n λ ‖w‖² on the sum; the intercept is not penalised. λ is a number or one for each run."""

    def __init__(self, geometry: Geometry, n: np.ndarray, penalty: np.ndarray | float) -> None:
        super().__init__(geometry, n)
        self.penalty = np.broadcast_to(np.asarray(penalty, dtype=float), n.shape)

    @property
    def penalised(self) -> np.ndarray:
        """1 where a coefficient is penalised, 0 for the intercept's."""
        mask = np.ones(self.geometry.dimension)
        mask[: int(self.geometry.intercept)] = 0.0
        return mask

    @property
    def square_weight(self) -> np.ndarray:
        """What multiplies ‖w‖² in each run's summed objective."""
        return np.asarray(self.penalty * self.n)

    def one(self, run: int) -> Self:
        single = super().one(run)
        single.penalty = self.penalty[run : run + 1]
        return single

    def regularised(self, quadratic: Quadratic) -> Quadratic:
        weight = self.square_weight
        return quadratic.ridged(weight if quadratic.linear.ndim > 1 else float(weight[0]), self.penalised)


@dataclass(frozen=True)
class Ridge(Model):
    """Least squares with a squared penalty on the weights.

    Minimises the mean of (y - x'w)² plus λ ‖w‖², the intercept left out of the penalty (Dandekar et al. 2018, equation 4,
    whose paper sums the loss and whose slides average it: the mean is meant here).

    ``penalty=cv`` chooses λ for each run by 5-fold cross-validation of the non-private fit on its training rows, from 13 values
    from 1e-6 to 1, and keeps it for the private fit, as they do (section 5.2). No ε pays for that: it is a leak on the record.
    """

    name: ClassVar[str] = "ridge"
    provides: ClassVar[frozenset[Capability]] = PENALISED - {"reweighted"}

    penalty: Literal["cv"] | float = option(0.01, low=0, help="λ, beside the mean loss; cv: cross-validated, a leak")

    def prepare(self, curator: Curator) -> Problem:
        return PenalisedSquares(curator.geometry, curator.n, chosen_penalty(curator, self.penalty, alpha=1.0))


@hookimpl
def dpbench_models() -> list[type[Model]]:
    return [Ridge]
