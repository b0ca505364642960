"""Lasso regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from dpbench.base.options import option
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.privacy.curator import Curator

from ._cross_validation import chosen_penalty
from .elastic_net import ElasticNetSquares, Solver
from .ridge import PENALISED


@dataclass(frozen=True)
class Lasso(Model):
    """Least squares with an absolute penalty on the weights, which sets some of them to zero.

    Minimises the mean of (y - x'w)² plus λ ‖w‖₁, the intercept left out of the penalty (Dandekar et al. 2018, equation 9 with
    α = 0; their paper sums the loss and their slides average it: the mean is meant here). Solved as elastic_net is:
    1 to 2 ms a run.

    ``penalty=cv`` chooses λ for each run by 5-fold cross-validation of the non-private fit on its training rows, from 13 values
    from 1e-6 to 1, and keeps it for the private fit, as they do (section 5.2). No ε pays for that: it is a leak on the record.
    """

    name: ClassVar[str] = "lasso"
    provides: ClassVar[frozenset[Capability]] = PENALISED - {"reweighted"}

    penalty: Literal["cv"] | float = option(0.01, low=0, help="λ, beside the mean loss; cv: cross-validated, a leak")
    solver: Solver = option("scs", help="the cone solver behind CVXPY")

    def prepare(self, curator: Curator) -> Problem:
        penalty = chosen_penalty(curator, self.penalty, alpha=0.0)
        return ElasticNetSquares(curator.geometry, curator.n, penalty, 0.0, self.solver)


@hookimpl
def dpbench_models() -> list[type[Model]]:
    return [Lasso]
