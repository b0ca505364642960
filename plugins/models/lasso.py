"""Lasso regression: elastic net with α = 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from dpbench.base.options import option
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.privacy.curator import Curator

from ._cross_validation import PenaltyForm, chosen_penalty
from .elastic_net import SOLVER_HELP, ElasticNetSquares, Solver
from .ridge import PENALISED_CAPABILITIES


@dataclass(frozen=True)
class Lasso(Model):
    """Least squares with an absolute penalty on the weights, which sets some of them to zero.

    It minimises the mean of (y - x'w)² plus λ ‖w‖₁; the intercept is not penalised (Dandekar et al. 2018, equation 9 with α = 0).
    The paper sums the loss and its slides average it: ``penalty_on=mean`` follows the slides, ``sum`` the paper, where λ stands
    for n times as little. The solvers are those of elastic_net. Weights are exactly zero where the optimality conditions say so;
    ``health/nonzero`` counts the others, without the intercept.

    ``penalty=cv`` chooses λ for each run by 5-fold cross-validation of the non-private fit on the run's training rows, among 13
    values between 1e-6 and 1 (on the sum: 0.001 and 1000), and uses it for the private fit, as the paper does (section 5.2). No ε
    pays for this choice, so the record lists it as a leak, with what was chosen (``health/penalty``).

    Reference: Tibshirani 1996, "Regression shrinkage and selection via the lasso", J. R. Stat. Soc. B 58(1); Dandekar, Basu
    and Bressan 2018, "Differential privacy for regularised linear regression".
    """

    name: ClassVar[str] = "lasso"
    provides: ClassVar[frozenset[Capability]] = PENALISED_CAPABILITIES

    penalty: Literal["cv"] | float = option(0.01, low=0, help="λ, the weight of the penalty; cv: cross-validated, which leaks")
    penalty_on: PenaltyForm = option("mean", help="what λ is relative to: the mean loss, or the summed loss")
    solver: Solver = option("auto", help=SOLVER_HELP)

    def uses_moments_alone(self) -> bool:
        return self.penalty != "cv"

    def prepare(self, curator: Curator) -> Problem:
        penalty = chosen_penalty(curator, self.penalty, 0.0, self.penalty_on, self.solver == "auto")
        return ElasticNetSquares(curator.geometry, curator.n, penalty, 0.0, self.solver, self.penalty_on)


@hookimpl
def dpbench_models() -> list[type[Model]]:
    return [Lasso]
