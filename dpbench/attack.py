"""The contract of an attack: it sees released weights and says what it could infer."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.component import Component
from dpbench.data.geometry import Geometry
from dpbench.data.statistics import Sample
from dpbench.model import Capability, Model, Problem


@dataclass(frozen=True)
class Target:
    """What an attack is run against: a problem, its released weights, and the rows that judge the attack's guesses."""

    problem: Problem
    weights: np.ndarray
    """(runs, D)"""
    train: Sample
    test: Sample
    epsilon: float
    """The accounted ε of the release; infinite when it is not private."""


@dataclass(frozen=True)
class Attack(Component):
    """The base class of attacks. Subclass it as a frozen dataclass with a ``name``; fields are options.

    Required
        ``name``; ``run(target)``, which returns metrics by their public names without ``attack/``: arrays (runs,). An empty
        mapping means that nothing was attacked.

    Optional
        ``needs``: the capabilities that a model must have; ``refuses(model, geometry)``: why it makes no sense.
    """

    kind: ClassVar[str] = "attack"
    needs: ClassVar[frozenset[Capability]] = frozenset()

    @abstractmethod
    def run(self, target: Target) -> dict[str, np.ndarray]:
        """The attack's metrics for each run."""

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        """Why this attack makes no sense on the model and the table's public facts; None when it does."""
        return None

    def unsupported(self, model: Model, geometry: Geometry) -> str | None:
        """The sentence that a pruned cell carries; None when the attack makes sense."""
        missing = sorted(self.needs - model.provides)
        reason = f"the model provides no {' and no '.join(missing)}" if missing else self.refuses(model, geometry)
        return f"The attack {self.name} does not run on {model.name}: {reason}." if reason else None
