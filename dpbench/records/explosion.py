"""Runs that failed or explode: a predictor that knows only the mean of the target is as good, or several times better."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dpbench.records.names import SHARE_LOST

EXPLOSION_FACTOR = 3
"""A run explodes if its error is more than this many times the mean predictor's error in the same run."""


@dataclass(frozen=True)
class Explosion:
    """How many runs of a cell explode, and how large their errors are."""

    count: int
    runs: int
    largest: float

    @property
    def text(self) -> str:
        return f"{self.count:,} of {self.runs:,} run{'s' * (self.runs != 1)}, up to {self.largest:.3g}"


def explosion_of(runs: Mapping[str, np.ndarray], primary: str) -> Explosion | None:
    """Return the explosion of a cell with these runs; None if no run explodes, or if the errors are not known."""
    names = (f"utility/{primary}", f"reference/mean_predictor/{primary}")
    if not all(name in runs for name in names):
        return None
    error, mean_predictor = (np.asarray(runs[name], dtype=float) for name in names)
    exploding = error > EXPLOSION_FACTOR * mean_predictor
    return Explosion(int(exploding.sum()), len(error), float(error[exploding].max())) if exploding.any() else None


def failed_share(runs: Mapping[str, np.ndarray], primary: str) -> float | None:
    """Return the share of the runs that lost everything; None if no run can lose anything, or if the losses are not known.

    A loss that is clipped at the mean predictor's counts as well: it is then exactly 1. A run without a finite error lost
    everything. A run whose non-private fit is no better than the mean predictor does not count.
    """
    if SHARE_LOST not in runs or f"utility/{primary}" not in runs:
        return None
    lost, error = (np.asarray(runs[name], dtype=float) for name in (SHARE_LOST, f"utility/{primary}"))
    lost = np.where(np.isfinite(error), lost, np.inf)
    known = lost[~np.isnan(lost)]
    return float((known >= 1).mean()) if known.size else None
