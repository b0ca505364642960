"""Ridge regression, and the problem class that lasso and elastic net extend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.geometry import Geometry
from dpbench.fitting.least_squares import LeastSquares
from dpbench.privacy.curator import Curator
from dpbench.privacy.queries.quadratic import Quadratic

from ._cross_validation import PenaltyForm, chosen_penalty

PENALISED_CAPABILITIES: frozenset[Capability] = frozenset({"polynomial", "gradient", "weighted", "likelihood"})
"""What a problem with a squared loss and a penalty provides."""


class PenalisedSquares(LeastSquares):
    """The sum of squared errors plus n λ ‖w‖², with one λ for all runs or one per run. The intercept is not penalised."""

    has_penalty = True

    def __init__(self, geometry: Geometry, n: np.ndarray, penalty: np.ndarray | float, penalty_on: PenaltyForm = "mean") -> None:
        super().__init__(geometry, n)
        weight = np.broadcast_to(np.asarray(penalty, dtype=float), n.shape)
        self.penalty = weight / n if penalty_on == "sum" else weight
        """λ relative to the mean loss. n is public, so both forms leave the sensitivity alone."""
        self.chosen_penalty = weight if isinstance(penalty, np.ndarray) else None

    @property
    def penalised(self) -> np.ndarray:
        """A mask over the coefficients: 0 for the intercept, 1 for all others."""
        mask = np.ones(self.geometry.dimension)
        mask[: int(self.geometry.intercept)] = 0.0
        return mask

    @property
    def square_weight(self) -> np.ndarray:
        """The factor of ‖w‖² in the summed objective of each run."""
        return np.asarray(self.penalty * self.n)

    def for_run(self, run: int) -> Self:
        single = super().for_run(run)
        single.penalty = self.penalty[run : run + 1]
        single.chosen_penalty = None if self.chosen_penalty is None else self.chosen_penalty[run : run + 1]
        return single

    def regularised(self, quadratic: Quadratic) -> Quadratic:
        return quadratic.ridged(self.square_weight, self.penalised)


@dataclass(frozen=True)
class Ridge(Model):
    """Least squares with a squared penalty on the weights.

    It minimises the mean of (y - x'w)² plus λ ‖w‖²; the intercept is not penalised (Dandekar et al. 2018, equation 4). The paper
    sums the loss and its slides average it: ``penalty_on=mean`` follows the slides, ``sum`` the paper, where λ stands for n times
    as little.

    ``penalty=cv`` chooses λ for each run by 5-fold cross-validation of the non-private fit on the run's training rows, among 13
    values between 1e-6 and 1 (on the sum: 0.001 and 1000), and uses it for the private fit, as the paper does (section 5.2). No ε
    pays for this choice, so the record lists it as a leak, with what was chosen (``health/penalty``).

    Reference: Hoerl and Kennard 1970, "Ridge regression: biased estimation for nonorthogonal problems", Technometrics 12(1);
    Dandekar, Basu and Bressan 2018, "Differential privacy for regularised linear regression".
    """

    name: ClassVar[str] = "ridge"
    provides: ClassVar[frozenset[Capability]] = PENALISED_CAPABILITIES | {"smoothness"}

    penalty: Literal["cv"] | float = option(0.01, low=0, help="λ, the weight of the penalty; cv: cross-validated, which leaks")
    penalty_on: PenaltyForm = option("mean", help="what λ is relative to: the mean loss, or the summed loss")

    def uses_moments_alone(self) -> bool:
        return self.penalty != "cv"

    def prepare(self, curator: Curator) -> Problem:
        penalty = chosen_penalty(curator, self.penalty, 1.0, self.penalty_on)
        return PenalisedSquares(curator.geometry, curator.n, penalty, self.penalty_on)


@hookimpl
def dpbench_models() -> list[type[Model]]:
    return [Ridge]
