"""Filter-priority: a sparse noisy histogram over a domain that is too large to enumerate."""

from __future__ import annotations

from collections.abc import Mapping
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
from dpbench.fitting.noisy_histogram import fit_bins
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import geometric
from dpbench.privacy.queries.histogram import PROOF, Histogram
from dpbench.privacy.queries.sparse_histogram import MAX_EXPECTED_SURVIVORS, expected_survivors, smallest_threshold

MAX_DEFAULT_SIZE = 200_000
"""The default size of a summary is n, and at most this."""


@dataclass(frozen=True)
class FilterPriority(Mechanism):
    """Fit the model to a short summary of a noisy histogram: bins that reach a threshold, sampled by priority.

    Formula: the count of every bin gets two-sided geometric noise, P[X = x] = (1 - α)/(1 + α) α^|x| with α = exp(-ε/2). Noisy
    counts v of at least θ survive. Their priorities are v/u with u uniform on (0, 1]. The ``size`` bins with the largest
    priorities form the summary, with weights max(v, τ), where τ is the next priority. The model is fitted to the centres of these
    bins with these weights.

    Guarantee: ε-DP for replace-one neighbours: a replaced row changes two counts by one, and the summary depends on the noisy
    counts alone. It reveals neither which bins were empty nor how many.

    Public: n, the bounds, the levels of attributes with few levels, the bins, θ and ``size``.

    Cost: for each run a draw for each filled bin and for each empty one that reaches θ, in order, and a selection among them. For
    linear models, 250 runs take 2 s with 2·10⁵ such bins, one run at a time in 0.2 GB. Logistic regression is fitted to the grid
    of bins without a row for each and takes another 2 s. Other models add the cost of their fit to ``size`` rows.

    Reference: Cormode et al. 2012, "Differentially private summaries for sparse data", ICDT.

    Errata: the paper uses exp(-ε) for neighbours that add or remove a row; here neighbours replace one. The paper's size follows
    the number of occupied bins, which is private; here it is n, and at most 200,000.

    The law is drawn exactly, without visiting all m bins. Each empty bin survives with probability p = α^θ/(1 + α), so the
    distances between survivors are geometric, and their counts are θ plus a one-sided geometric draw. For p < 10⁻⁸ the number of
    survivors is Poisson, which differs from binomial by at most p in total variation, and their positions are uniform.

    By default ``threshold`` is the smallest θ that at most ``size`` empty bins are expected to reach, m p <= size. It is a
    public number and recorded (``health/threshold``, ``health/size``, ``health/cells``, the number of bins). Attributes with at
    most ``bins`` public levels have a bin for each level, one-hot groups one for each level and one for "no level", and other
    attributes ``bins`` equal bins.
    """

    name: ClassVar[str] = "fp"
    handles_persons: ClassVar[bool] = True
    counts_alone: ClassVar[bool] = True
    guarantee: ClassVar[str] = "ε-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"weighted"})
    expected_failures: ClassVar[Mapping[str, str]] = {
        "limit": "rows stand at the centres of bins at any ε",
    }

    bins: int = option(8, low=2, high=10_000, help="equal bins of each continuous attribute")
    threshold: int | None = option(None, low=1, help="θ; null: the smallest that at most `size` empty bins are expected to reach")
    size: int | None = option(None, low=1, high=MAX_EXPECTED_SURVIVORS, help="bins of the summary; null: n, at most 200,000")

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        if geometry.scaling == "ball":
            return "its bins divide the declared ranges, so dataset.scaling must be box or corner"
        return None

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        binning = Binning(curator.geometry, self.bins)
        histogram = Histogram(binning)
        noise = geometric(histogram.l1_bound, budget.epsilon, PROOF)
        scale = float(noise.scale[0, 0])
        size = self.size or min(int(curator.n.min()), MAX_DEFAULT_SIZE)  # folds may differ by a row
        threshold = self.threshold or smallest_threshold(binning.size, scale, size)
        expected = expected_survivors(binning.size, threshold, scale)
        if expected > MAX_EXPECTED_SURVIVORS:
            raise Refused(
                f"mechanism.threshold={threshold} of fp lets {expected:.3g} empty bins through. "
                f"At most {MAX_EXPECTED_SURVIVORS:,} can be held."
            )
        summaries = curator.sparse(histogram, noise, threshold, size)
        fit = fit_bins(problem, binning, summaries)
        return replace(fit, notes={"threshold": threshold, "size": size, "cells": float(min(binning.size, 10**300))})


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [FilterPriority]
