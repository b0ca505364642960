"""Sufficient statistics perturbation: noise on the second moments, once, then the fit that they imply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpbench.accounting.conversion import gdp_of_epsilon
from dpbench.accounting.costs import Currency
from dpbench.base.options import option
from dpbench.contracts.fit import OK, REPAIRED, Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Problem
from dpbench.inference.released_moments import released_moments
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Noise
from dpbench.privacy.queries.quadratic import Quadratic
from dpbench.privacy.queries.second_moments import WEIGHT, SecondMoments


@dataclass(frozen=True)
class SufficientStatistics(Mechanism):
    """Add normal noise to X'X, X'y and y'y in one release, raise the eigenvalues of X'X to the size of the noise, and minimise.

    Formula: on rows x/√S, where S is the largest squared norm of a row (in the box the number of numeric columns, groups and the
    intercept), the standard deviations are 1/(tμ) off the diagonal of X'X, √2/(tμ) on it, 1/(√(t(1 - t)) μ) on X'y and
    1/(√(1 - t) μ) on y'y. Eigenvalues of X'X, with a model's penalty, are raised to 2√D/(tμ), the largest that noise alone makes.
    Logistic regression uses the quadratic form of its loss, w'X'Xw/8 - (y - ½)'Xw. t is ``weight``.

    Guarantee: (ε, δ)-DP for replace-one neighbours: the release is μ-GDP at the largest μ that is (ε, δ)-DP (Dong, Roth and Su
    2022). The three blocks share one bound, in which y'y is free. ``noise=laplace`` is ε-DP, from the L1 bound of all three.

    Public: n and the bounds. The square of the intercept and the products of two levels of one attribute are known, and get no
    noise.

    Cost: one stack of D × D eigenproblems. Lasso and elastic net solve one convex program per run.

    Reference: Wang 2018, "Revisiting differentially private linear regression", UAI, arXiv 1803.02596, compares earlier forms;
    Dwork et al. 2014, "Analyze Gauss", STOC, adds normal noise to X'X. The joint bound, the weight and the floor are dpbench's.

    Errata: public code draws equal noise for all entries of the upper triangle (google-research, DD-SSP), which is √2 times too
    much off the diagonal. Without a floor X'X is indefinite at small ε or n, and the fit arbitrary. For two classes the minimum
    is that of the quadratic form, whatever ε is: that of another loss than the log loss, which it follows at probabilities near
    ½ alone. On rare events it can lose all that the features tell.
    """

    name: ClassVar[str] = "ssp"
    handles_persons: ClassVar[bool] = True
    moments_alone: ClassVar[bool] = True
    guarantee: ClassVar[str] = "(ε, δ)-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"polynomial"})
    currency: ClassVar[Currency] = "approx"

    noise: Literal["gaussian", "laplace"] = option("gaussian", help="laplace: pure ε")
    weight: float = option(
        WEIGHT, low=0.5, high=1, open_high=True, help="t: a larger one takes noise from X'X and gives it to X'y"
    )

    def counted(self) -> Currency:
        return "pure" if self.noise == "laplace" else "approx"

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        query = SecondMoments(curator.geometry)
        noise = self._noise(query, budget)
        answer = curator.release(query, noise)
        assert problem.loss is not None  # the capability "polynomial"
        noisy = query.quadratic(problem.loss, answer, problem.n)
        fit = minimise_floored(problem, noisy, query.floor(noise))
        # y'y is in the answer, from which the variance of the residuals follows
        return fit.knowing(released_moments(problem, query.moments(answer, noise, problem.n), noisy))

    def _noise(self, query: SecondMoments, budget: Budget) -> Noise:
        if self.noise == "laplace":
            return query.laplace(budget.epsilon)
        return query.gaussian(gdp_of_epsilon(budget.epsilon, budget.delta), self.weight)


def minimise_floored(problem: Problem, noisy: Quadratic, floor: float) -> Fit:
    """Return the fit that released moments imply, with the eigenvalues of X'X plus the penalty raised to a floor."""
    assert problem.loss is not None  # the capability "polynomial"
    noisy = problem.regularised(noisy)
    floor *= problem.loss.curvature
    repaired = noisy.spectrum[0][..., 0] < floor
    weights = problem.minimise(noisy.floored(floor))
    return Fit(weights, np.where(repaired, REPAIRED, OK), {"not_positive_definite": ~noisy.positive_definite})


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [SufficientStatistics]
