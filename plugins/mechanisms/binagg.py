"""BinAgg: sums in private bins, and weighted least squares on them, corrected for their noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpbench.accounting.conversion import gdp_of_epsilon
from dpbench.accounting.costs import Currency, Gdp
from dpbench.base.options import option
from dpbench.contracts.fit import OK, REPAIRED, Fit, Status
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.geometry import Geometry
from dpbench.data.halving import Halving
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.procedures.adaptive_tree import AdaptiveTree

from ._bins import Bins, Correction

NO_INTERVALS = (
    "the noise of a bin's sums is divided by its noisy count, and the intervals of Lin et al. 2026 for that are not implemented"
)
"""Why there are no intervals."""
TREE_SHARE = 1 / 28
"""The tree's share of μ², in 1 : 3 : 3 : 3 of μ for the tree, the counts, the sums of features and the sums of targets."""
ROWS_PER_LEAF = 8
"""A tree has at most one leaf for this many rows."""
MAX_LEAVES = 16_384


@dataclass(frozen=True)
class BinAgg(Mechanism):
    """Divide the features' domain into bins by PrivTree, add noise to the sums in each, and fit the bins' means by least squares.

    Formula: a tree halves the widest column of a bin while max(count - tδ, -δ) + Lap(λ) > 0 (t is the bin's level, δ = λ ln 2).
    For each bin k the count c, the sum s of the rows and the sum of their targets get normal noise. Bins with a rounded count
    below ``min_count`` are left out, w_k = 1/c_k, and the weights are (S'WS - D)⁻¹S'Wt. The noise's variances τ_k² add Σ w_k
    diag(τ_k²) to S'WS; D is that (``correction=sum``), or that divided by the number of bins, as released (``mean``).
    Eigenvalues of S'WS - D are raised to the standard deviation of its noise. The intercept's column sums to the count. A
    model's penalty is added before that.

    Guarantee: (ε, δ)-DP for replace-one neighbours: everything is μ-GDP at the largest μ that is (ε, δ)-DP. The tree gets
    μ²/28, all sums the rest in one joint release, with noise in the published proportions. A row that is replaced moves two
    bins, or one by up to twice its size (docs/sensitivities.md).
    ``calibration=published`` has the noise of the public code on the sums, which promises μ and costs more: no proof.

    Public: n and the bounds, which the tree halves: numeric columns need box or corner scaling.

    Cost: a sort of the rows' codes and one pass over the rows for each run: 0.15 s for 250,000 rows of 20 columns.

    Reference: Lin, Slavković and Bhoomireddy 2026, "Differentially private linear regression and synthetic data generation with
    statistical guarantees", AISTATS, arXiv 2510.16974. Zhang, Xiao and Xie 2016, "PrivTree", SIGMOD.

    Errata: what follows was read in the public code (Shuronglin/BinAgg), not in the paper; its authors have not confirmed it.
    It charges each coordinate of s alone, so a row costs about √d times μ: with μ = 1 in the proportions 1 : 3 : 3 : 3, adding
    or removing one costs 1.61 for d = 6 and 3.06 for d = 27. Its D is divided by the number of bins, but S'WS is not: that
    corrects next to nothing. The whole D removes the bias, and makes 34 of 44 fits worse (11 tables, ε from .3 to 10). There is
    no floor. The tree splits in the columns' own units, so a change of units changes the bins. With a seed, the tree and the
    sums get the same random numbers. Counts are rescaled to the exact n, which is public for replace-one neighbours only. A row
    that is replaced within a bin moves a sum by up to twice its bound, more than the √2 times of two bins.
    """

    name: ClassVar[str] = "binagg"
    handles_persons: ClassVar[bool] = True
    guarantee: ClassVar[str] = "(ε, δ)-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"polynomial"})
    expected_failures: ClassVar[Mapping[str, str]] = {
        "limit": "rows stand at the centres of bins at any ε",
    }
    currency: ClassVar[Currency] = "approx"

    calibration: Literal["joint", "published"] = option("joint", help="published: each column of the sums charged alone")
    correction: Correction = option("mean", help="what is subtracted for the noise of S; mean: as in the public code")
    min_count: int = option(2, low=1, help="bins with a smaller noisy count are left out")

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        if model.target == "binary":
            return "it fits a squared loss"
        if geometry.scaling == "ball":
            return "it halves the declared ranges of columns, which dataset.scaling=ball does not keep"
        return None

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        partition, mu = Halving(curator.geometry), gdp_of_epsilon(budget.epsilon, budget.delta)
        runs = [self._fit_run(curator.for_run(run), problem.for_run(run), partition, mu) for run in range(curator.runs)]
        weights, status = zip(*runs, strict=True)
        return Fit(np.stack(weights), np.array(status)).knowing(NO_INTERVALS)

    def _fit_run(self, curator: Curator, problem: Problem, partition: Halving, mu: float) -> tuple[np.ndarray, Status]:
        """Return the weights of one run: every run has a tree of its own, so runs share no array."""
        leaves = min(max(int(curator.n[0]) // ROWS_PER_LEAF, 4 * curator.geometry.dimension), MAX_LEAVES)
        (tree,) = curator.ask(AdaptiveTree(partition, Gdp(mu * math.sqrt(TREE_SHARE)), leaves))
        bins, rest = Bins(partition, tree), mu * math.sqrt(1 - TREE_SHARE)
        noise = bins.gaussian(rest) if self.calibration == "joint" else bins.alone(rest)
        std = noise.scale[0]
        if self.calibration == "joint":
            sums = curator.release(bins.query, noise)[0]
        else:
            reason = f"each column is charged alone; all together cost μ = {noise.bound:.4g} for replace-one neighbours"
            sums = curator.unproven(bins.query, _Normal(std), Gdp(rest), reason)[0]
        objective, size = bins.least_squares(sums, std, self.min_count, self.correction)
        objective = problem.regularised(objective)
        status = REPAIRED if objective.spectrum[0][0, 0] < size else OK
        return problem.minimise(objective.floored(size))[0], status


@dataclass(frozen=True, eq=False)
class _Normal:
    """Adds normal noise of these standard deviations."""

    std: np.ndarray

    def __call__(self, exact: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        return np.asarray(exact + self.std * generator.standard_normal(len(exact)))


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [BinAgg]
