"""The result of a mechanism: one weight vector for each run, and how each run went."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self, get_args

import numpy as np

from dpbench.base.read_only import read_only
from dpbench.contracts.uncertainty import UNTOLD, Uncertainty

Status = Literal["ok", "repaired", "failed_test", "diverged"]
STATUSES: tuple[Status, ...] = get_args(Status)
OK, REPAIRED, FAILED_TEST, DIVERGED = STATUSES


@dataclass(frozen=True)
class Fit:
    """One weight vector for each run, and how each run went.

    The status of a run is ``ok``; ``repaired``: the noisy objective had to be changed to have a minimum; ``failed_test``: a
    private test failed, so the run has no weights (they are NaN); ``diverged``: the weights are not those of a minimum. A
    run whose weights are not finite counts as diverged, unless its test failed.
    """

    weights: np.ndarray
    """(runs, D)"""
    status: np.ndarray
    """(runs,), each one of the words above."""
    health: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Other events by name, as booleans (runs,); they are recorded as rates. ``not_finite`` is always among them."""
    notes: Mapping[str, float] = field(default_factory=dict)
    """Public numbers that the fit settled on, the same for all runs, such as the number of bins. They are recorded too."""
    uncertainty: Uncertainty | str = UNTOLD
    """What the fit knows of its own noise, from which intervals follow; or why it knows nothing, as the end of a sentence."""

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=float)
        if weights.ndim != 2:
            raise ValueError(f"A fit's weights must have the shape (runs, D). Got {weights.shape} instead.")
        status = np.asarray(self.status, dtype=np.str_)
        if status.shape != (len(weights),) or not {*status.tolist()} <= {*STATUSES}:
            raise ValueError(f"A fit's status must be one of {', '.join(STATUSES)} for each of its {len(weights)} runs.")
        not_finite = ~np.isfinite(weights).all(axis=1) & (status != FAILED_TEST)
        health = {name: read_only(np.array(events)) for name, events in {**self.health, "not_finite": not_finite}.items()}
        object.__setattr__(self, "weights", read_only(weights))
        object.__setattr__(self, "status", read_only(np.where(not_finite, DIVERGED, status)))
        object.__setattr__(self, "health", health)
        object.__setattr__(self, "notes", dict(self.notes))

    @classmethod
    def good(cls, weights: np.ndarray) -> Self:
        """Return a fit in which all runs went well."""
        return cls(weights, np.full(len(weights), OK))

    def knowing(self, uncertainty: Uncertainty | str) -> Self:
        """Return the same fit with what it knows of its own noise."""
        return replace(self, uncertainty=uncertainty)
