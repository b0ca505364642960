"""Runs that explode: their error is several times that of a predictor that knows only the mean of the target."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

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
