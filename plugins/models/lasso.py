"""Lasso regression: elastic net with α = 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from dpbench.base.options import option
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.privacy.curator import Curator

from ._cross_validation import chosen_penalty
from .elastic_net import ElasticNetSquares, Solver
from .ridge import PENALISED_CAPABILITIES


@dataclass(frozen=True)
class Lasso(Model):
    """Least squares with an absolute penalty on the weights, which sets some of them to zero.

    It minimises the mean of (y - x'w)² plus λ ‖w‖₁; the intercept is not penalised (Dandekar et al. 2018, equation 9 with α = 0).
    The paper sums the loss and its slides average it; this model follows the slides. The solver is that of elastic_net and takes
    1 to 2 ms per run.

    ``penalty=cv`` chooses λ for each run by 5-fold cross-validation of the non-private fit on the run's training rows, among 13
    values between 1e-6 and 1, and uses it for the private fit, as the paper does (section 5.2). No ε pays for this choice, so the
    record lists it as a leak.
    """

    name: ClassVar[str] = "lasso"
    provides: ClassVar[frozenset[Capability]] = PENALISED_CAPABILITIES

    penalty: Literal["cv"] | float = option(0.01, low=0, help="λ relative to the mean loss; cv: cross-validated, which leaks")
    solver: Solver = option("scs", help="the cone solver that CVXPY calls")

    def prepare(self, curator: Curator) -> Problem:
        penalty = chosen_penalty(curator, self.penalty, alpha=0.0)
        return ElasticNetSquares(curator.geometry, curator.n, penalty, 0.0, self.solver)


@hookimpl
def dpbench_models() -> list[type[Model]]:
    return [Lasso]
