"""The components that the wrong ones spoil."""

from dataclasses import dataclass

import numpy as np

from dpbench import Attack, Column, Dataset, Fit, LeastSquares, Mechanism, MetricInfo, Model, Table
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


class GoodProblem(LeastSquares):
    """Least squares."""


@dataclass(frozen=True)
class GoodModel(Model):
    """Fit by least squares."""

    name = "good_model"
    provides = frozenset({"polynomial", "gradient", "smoothness", "weighted", "likelihood", "reweighted"})
    problem = GoodProblem

    def prepare(self, curator):
        return self.problem(curator.geometry, curator.n)


@dataclass(frozen=True)
class GoodDataset(Dataset):
    """Draw wages that rise with age."""

    name = "good_dataset"
    synthetic = True

    def load(self, generator):
        age = generator.uniform(15, 75, 200)
        wage = np.clip(age + generator.normal(0, 10, 200), 0, 100)
        return self.table(age[:, None], wage)

    def table(self, features, wage):
        return Table((Column("age", 15, 75, "years"),), Column("wage", 0, 100), features, wage, threshold=50)


@dataclass(frozen=True)
class GoodAttack(Attack):
    """Guess that a row with a small error trained the model."""

    name = "good_attack"
    metrics = (MetricInfo("gap", "gap", "Accuracy on training rows minus accuracy on others.", "higher"),)

    def run(self, target):
        return {"gap": np.array([self.gap(target, run) for run in range(len(target.weights))])}

    def gap(self, target, run):
        trained, others = (self.errors(sample, target.weights[run], run) for sample in (target.train, target.test))
        return np.mean(trained <= np.median(trained)) - np.mean(others <= np.median(trained))

    def errors(self, sample, weights, run):
        y, (prediction,) = sample.scores(run, [weights])
        return np.abs(y - prediction)
