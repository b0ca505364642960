"""An exact fit that is costly is computed once for each sample: the reference and the baseline both ask for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from dpbench.contracts.fit import Fit
from dpbench.data.samples import Sample

P = TypeVar("P")


def remembered(exact: Callable[[P, Sample], Fit]) -> Callable[[P, Sample], Fit]:
    """``exact``, with the fit of the sample that was asked for last kept on the problem."""

    @wraps(exact)
    def once(problem: P, sample: Sample) -> Fit:
        known: tuple[Sample, Fit] | None = vars(problem).get("_exact")
        if known is None or known[0] is not sample:
            known = vars(problem)["_exact"] = sample, exact(problem, sample)
        return known[1]

    return once
