"""The functional mechanism with less noise on the coefficients of relevant features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.fit import Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Problem
from dpbench.data.scaling import Rows
from dpbench.fitting.noisy_objective import Repair, minimise
from dpbench.inference.released_moments import released_moments
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Laplace, Noise, laplace
from dpbench.privacy.queries.polynomial import Sensitivity
from dpbench.privacy.queries.query import RowQuery

FIRST_FIT_SHARE = 0.9
"""The share of the relevance budget for the first weights. The rest pays for the relevance of each feature by these weights."""
RELEVANT_BETA = 4.0
"""β of a relevant feature with ``rule=threshold``; the other features have 1."""


@dataclass(frozen=True)
class RelevanceAllocation(Mechanism):
    """Run the functional mechanism with less noise on features that matter for the prediction (in the style of PrivR).

    Formula: 1. w⁰ is the result of tight FM with 0.9 ρε. 2. R_j is the mean over rows of |x_j w⁰_j| / sum_k |x_k w⁰_k|, with
    Lap(2 / (0.1 ρε)) on the sum, clipped at 0. 3. With ``proportional``, β_j = D R_j / sum R, at least ``floor``; with
    ``threshold``, β_j is 4 if R_j >= 1/D and 1 otherwise. Both are then scaled to a mean of 1. 4. With q_j = sqrt(β_j), the
    coefficient of w_j w_l gets Lap(b / (q_j q_l)), that of w_j Lap(b / q_j). Linear models in the box also get y'y + Lap(b), at
    no cost. 5. Ridge and repair act on u, where w_j = q_j u_j, because the noise is even there.

    Guarantee: ε-DP for replace-one neighbours: 0.9 ρε + 0.1 ρε + (1 - ρ)ε = ε.

    Public: n and the bounds.

    Cost: step 2 depends on the w⁰ of each run, so for each ε it passes over the rows of every run in chunks: 250 runs × n rows.

    Reference: after Gong et al. 2019, Knowledge-Based Systems 173, of which only the abstract and the introduction were
    available. The idea that noise follows relevance is theirs; the numbered steps above are our construction.

    Errata: published relevances of this family (Phan et al. 2017 and their program) use a non-private fit on the same rows and
    data-dependent ranges, which no ε pays for. It is not known whether PrivR does the same.

    Proof: step 1 is FM. In step 2 a row adds nonnegative numbers that sum to one (or to zero, if all its scores are zero), so
    replacing it changes the sum by at most 2 in L1; w⁰ is public by then. Step 4 divides changes by b / (q_j q_l) and b / q_j,
    so it is FM on the features q_j x_j: b = Δ(q) / ((1 - ρ)ε), where Δ(q) is the supremum of the change of the rescaled
    objective. It is (sum q_j + 1)² for linear regression in the box and (sum q_j + 2)²/8 for logistic regression, and also
    proven for one-hot groups, the ball, the corner and an intercept (docs/sensitivities.md). With equal relevance (β = 1) step 4
    is ``fm sensitivity=tight`` at (1 - ρ)ε.
    """

    name: ClassVar[str] = "privr"
    handles_persons: ClassVar[bool] = True
    guarantee: ClassVar[str] = "ε-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"polynomial"})
    published_sensitivity: ClassVar[Sensitivity] = "tight"  # the paper's constant is not known

    rho: float = option(0.3, low=0, high=1, open_low=True, open_high=True, help="share of ε for measuring the relevance")
    rule: Literal["proportional", "threshold"] = option("proportional", help="how relevance becomes β")
    floor: float = option(0.1, low=0, high=1, open_low=True, help="smallest β before scaling to a mean of 1 (proportional)")
    ridge: float = option(4.0, low=0, help="multiples of the noise's std")
    repair: Repair = option("trim", help="what happens to eigenvalues that are not positive; see fm")

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        objective = problem.polynomial().with_square()
        columns = np.sqrt(self._shares(self._relevance(curator, problem, budget.share(self.rho))))
        epsilon = (1 - self.rho) * budget.epsilon
        scales = (objective.rescaled_bound(columns) / epsilon)[:, None] / objective.products(columns)
        proof = "the functional mechanism on the features q_j x_j: the supremum of their change (dpbench, docs/sensitivities.md)"
        noise = Noise(Laplace(), scales, epsilon, proof)
        coefficients = curator.release(objective, noise)
        noisy = objective.quadratic(coefficients, problem.n)
        fit = minimise(problem, objective, noisy, noise, self.ridge, self.repair, columns=columns)
        return fit.knowing(released_moments(problem, objective.moments(coefficients, noise, problem.n), noisy))

    def _relevance(self, curator: Curator, problem: Problem, budget: Budget) -> np.ndarray:
        """Return the noisy relevance of each coefficient, clipped at 0: (runs, D)."""
        objective = replace(problem.polynomial(), name="relevance objective")
        noise = laplace(objective.l1_bound("tight"), FIRST_FIT_SHARE * budget.epsilon, objective.proof("tight"))
        noisy = objective.quadratic(curator.release(objective, noise), problem.n)
        fit = minimise(problem, objective, noisy, noise, self.ridge, self.repair)
        bound = 2.0 * curator.geometry.replaced_rows
        noise = laplace(
            bound, (1 - FIRST_FIT_SHARE) * budget.epsilon, "a row adds nonnegative shares that sum to one, or to zero"
        )
        return np.asarray(np.maximum(curator.release(Relevance(fit.weights), noise) / curator.n[:, None], 0.0))

    def _shares(self, relevance: np.ndarray) -> np.ndarray:
        """Return β of each coefficient, with a mean of 1 in each run: (runs, D)."""
        beta = _RULES[self.rule](relevance, self.floor)
        return np.asarray(beta / beta.mean(axis=1, keepdims=True))


def _proportional(relevance: np.ndarray, floor: float) -> np.ndarray:
    total = relevance.sum(axis=1, keepdims=True)
    beta = np.where(total > 0, relevance.shape[1] * relevance / np.where(total > 0, total, 1.0), 1.0)
    return np.maximum(beta, floor)


def _threshold(relevance: np.ndarray, floor: float) -> np.ndarray:
    return np.where(relevance >= 1 / relevance.shape[1], RELEVANT_BETA, 1.0)


_RULES = {"proportional": _proportional, "threshold": _threshold}


class Relevance(RowQuery):
    """The sum over rows of the relevance shares |x_j w_j| / sum_k |x_k w_k|, by the weights of each run."""

    name = "relevance"
    state: np.ndarray

    def __init__(self, weights: np.ndarray) -> None:
        self.state = weights

    @property
    def size(self) -> int:
        return int(self.state.shape[1])

    def contribution(self, rows: Rows, run: int) -> np.ndarray:
        scores = np.abs(rows.x * self.state[run])
        total = scores.sum(axis=1, keepdims=True)
        return np.asarray(scores / np.where(total > 0, total, 1.0))


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [RelevanceAllocation]
