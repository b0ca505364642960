"""Black-box audits: fit any program many times on two neighbouring tables, and tell the tables apart by its weights.

Nothing is known about the program except its numbers, so only gross failures show. Finding nothing proves nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpbench.audit.epsilon_lower_bound import EpsilonLowerBound, epsilon_lower_bound
from dpbench.audit.scores import black_box_scores
from dpbench.audit.subject import AuditSettings, ClaimedPrivacy
from dpbench.base.errors import Refused

Fits = Callable[[np.ndarray, np.ndarray, int, int], np.ndarray]
"""Fit on features (n, d) and a target (n,) this many times with this seed, and return the weights: (runs, weights)."""


@dataclass(frozen=True)
class NeighbouringTables:
    """Features (n, d) and a target (n,), and what replaces the last row. Make them up: they appear in reports."""

    features: np.ndarray
    target: np.ndarray
    other_features: np.ndarray
    """(d,)"""
    other_target: float

    def __post_init__(self) -> None:
        if self.features.shape != (len(self.target), *self.other_features.shape) or not len(self.target):
            raise Refused("Neighbours need features (n, d), a target (n,), and the features (d,) of the other row.")

    @property
    def second(self) -> tuple[np.ndarray, np.ndarray]:
        """The second table."""
        features, target = self.features.astype(float), self.target.astype(float)
        features[-1], target[-1] = self.other_features, self.other_target
        return features, target


def audit_black_box(
    fits: Fits, tables: NeighbouringTables, claim: ClaimedPrivacy, settings: AuditSettings, names: Sequence[str] = ()
) -> EpsilonLowerBound:
    """Return the lower bound on the ε of the weights (``names``), at the confidence and with the runs of the settings."""
    worlds = [(tables.features.astype(float), tables.target.astype(float)), tables.second]
    weights = [np.asarray(fits(x, y, settings.runs, 2 * settings.seed + world)) for world, (x, y) in enumerate(worlds)]
    first, second = weights
    if first.shape != second.shape or first.ndim != 2 or len(first) != settings.runs:
        raise Refused(f"Fits must return weights of shape ({settings.runs}, weights). Got {first.shape} and {second.shape}.")
    labels = names or [f"weight {number}" for number in range(first.shape[1])]
    scores = black_box_scores(np.stack(weights), labels)
    return epsilon_lower_bound(scores, claim, 1 - settings.confidence, "weights", "given")
