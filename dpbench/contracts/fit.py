"""A fit: one weight vector a run, and how each run went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

OK, REPAIRED, FAILED_TEST, DIVERGED = "ok", "repaired", "failed_test", "diverged"
Status = Literal["ok", "repaired", "failed_test", "diverged"]
STATUSES: tuple[Status, ...] = ("ok", "repaired", "failed_test", "diverged")


@dataclass(frozen=True)
class Fit:
    """One weight vector a run, and how each run went."""

    weights: np.ndarray
    """(runs, D)"""
    status: np.ndarray
    """(runs,) of ``ok``, ``repaired``, ``failed_test``, ``diverged``."""
    health: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Further events, by name: (runs,) of booleans, recorded as rates. ``not_finite``, a run without weights, is always there."""
    notes: Mapping[str, float] = field(default_factory=dict)
    """Public numbers that the fit settled on, the same for all runs (how many bins, say): recorded beside the events."""

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, dtype=float)
        if weights.ndim != 2:
            raise ValueError(f"A fit's weights must have the shape (runs, D). Got {weights.shape} instead.")
        status = np.asarray(self.status)
        if status.shape != (len(weights),) or not np.isin(status, STATUSES).all():
            raise ValueError(f"A fit's status must be one of {', '.join(STATUSES)} for each of its {len(weights)} runs.")
        broken = ~np.isfinite(weights).all(axis=1) & (status != FAILED_TEST)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "status", np.where(broken, DIVERGED, status))
        object.__setattr__(self, "health", {**self.health, "not_finite": broken})

    @classmethod
    def good(cls, weights: np.ndarray) -> Fit:
        """Weights of runs that all went well."""
        return cls(weights, np.full(len(weights), OK))
