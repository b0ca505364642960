"""The mechanism that the wrong ones spoil."""

from dataclasses import dataclass

from dpbench import Fit, Mechanism
from dpbench.noise import laplace


@dataclass(frozen=True)
class Good(Mechanism):
    """Run the functional mechanism without a ridge.

    Formula: the coefficients of the objective plus Lap(Δ/ε).

    Guarantee: ε-DP for replace-one neighbours; n and the bounds are public.

    Reference: none; it is an example.
    """

    name = "good"
    guarantee = "ε-DP"
    needs = frozenset({"polynomial"})
    share = 1.0

    def fit(self, curator, problem, budget):
        objective = problem.polynomial()
        noise = laplace(self.share * objective.l1_bound("tight"), budget.epsilon, objective.proof("tight"))
        noisy = objective.quadratic(curator.release(objective, noise), problem.n)
        return self.finish(Fit.good(problem.minimise(problem.regularised(noisy).trimmed())))

    def finish(self, fit):
        return fit
