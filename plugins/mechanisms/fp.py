"""Filter-priority: a sparse noisy histogram of a domain too large to enumerate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from dpbench.base.errors import Refused
from dpbench.base.options import option
from dpbench.contracts.fit import Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.bins import Binning
from dpbench.data.geometry import Geometry
from dpbench.fitting.noisy_histogram import fit_cells
from dpbench.privacy.curator import Curator
from dpbench.privacy.histogram import L1_SENSITIVITY, PROOF, Histogram
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import geometric
from dpbench.privacy.sparse_histogram import MAX_EXPECTED_SURVIVORS, expected_survivors, smallest_threshold

LARGEST = 200_000
"""The size when nothing is said, for tables of more rows."""


@dataclass(frozen=True)
class FilterPriority(Mechanism):
    """A regression on a short summary of a noisy histogram: cells that reach a threshold, sampled by priority.

    Formula: every cell's count gets two-sided geometric noise, P[X = x] = (1 - α)/(1 + α) α^|x| with α = exp(-ε/2); those of at
    least θ are kept, and of these the ``size`` with the largest priorities v/u, u uniform on (0, 1], weigh max(v, τ), where τ is
    the next priority. The model is fitted to the centres with these weights.

    Guarantee: ε-DP for replace-one neighbours: a replaced row moves two counts by one, and the summary is made of the noisy
    counts alone. Which cells were empty, and how many, is not said.

    Public: n, the bounds, the levels of attributes that have few, the cells, θ and ``size``.

    Cost: a sort of the rows and of the summary for each run; 250 runs take 0.3 s on 4,898 rows of 11 features and 25 s on
    370,000 of 13 for linear models, one run at a time in 0.2 GB. Other models cost what their fit of ``size`` rows costs.

    Reference: Cormode et al. 2012, "Differentially private summaries for sparse data", ICDT.

    Errata: there, with exp(-ε), a row is added or removed; here one is replaced. Their size follows the number of cells in use,
    which is private: here it is n, at most 200,000.

    The law is drawn exactly without visiting the m cells: of those that are empty a binomial number survives, each with p =
    α^θ/(1 + α), anywhere among them, with θ and a one-sided geometric draw for a count. Where p < 10⁻⁸ the number of survivors is
    Poisson, p away from binomial in total variation.

    ``threshold`` is, when nothing is said, the smallest θ that at most ``size`` empty cells are expected to reach, m p <= size: a
    public number, recorded (``health/threshold``, ``health/size``, ``health/cells``). Attributes of at most ``bins`` public
    levels have a cell for each, one-hot groups one for each level and one for none, others ``bins`` equal bins.
    """

    name: ClassVar[str] = "fp"
    guarantee: ClassVar[str] = "ε-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"weighted"})

    bins: int = option(8, low=2, high=10_000, help="equal bins of each continuous attribute")
    threshold: int | None = option(None, low=1, help="θ; null: the least that at most `size` empty cells are expected to reach")
    size: int | None = option(None, low=1, high=MAX_EXPECTED_SURVIVORS, help="cells of the summary; null: n, at most 200,000")

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        return None if geometry.scaling == "box" else "its cells divide the declared ranges, so dataset.scaling must be box"

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        grid = Binning(curator.geometry, self.bins)
        noise = geometric(L1_SENSITIVITY, budget.epsilon, PROOF)
        scale = float(noise.scale[0, 0])
        size = self.size or min(int(curator.n.min()), LARGEST)  # folds may differ by a row
        threshold = self.threshold or smallest_threshold(grid.size, scale, size)
        expected = expected_survivors(grid.size, threshold, scale)
        if expected > MAX_EXPECTED_SURVIVORS:
            raise Refused(
                f"mechanism.threshold={threshold} of fp lets {expected:.3g} empty cells through. "
                f"At most {MAX_EXPECTED_SURVIVORS:,} can be held."
            )
        summaries = curator.sparse(Histogram(grid), noise, threshold, size)
        fit = fit_cells(problem, ((grid.centres(summary.index), summary.counts) for summary in summaries))
        return replace(fit, notes={"threshold": threshold, "size": size, "cells": float(min(grid.size, 10**300))})


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [FilterPriority]
