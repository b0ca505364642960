"""The contract of an attack: it sees released weights and says what it could infer."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench.contracts.component import Component
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.blocks import Block
from dpbench.data.geometry import Geometry
from dpbench.data.samples import Sample


@dataclass(frozen=True)
class Target:
    """What an attack is run against: a problem, its released weights, and the rows that judge the attack's guesses.

    Beside these it holds what an adversary needs to prepare. All of it is simulated on the benchmark's own rows and stays on the
    worker: an attack returns numbers, never rows.
    """

    problem: Problem
    weights: np.ndarray
    """(runs, D), finite: a run whose fit was not has zeros here, and what its attack finds is left out."""
    train: Sample
    test: Sample
    epsilon: float
    """The accounted ε of the release; infinite when it is not private."""
    block: Block
    """The rows of each repeat, and which of them trained which run."""
    refit: Callable[[Block], np.ndarray]
    """The same mechanism with the same budget on other splits, with noise of its own: (runs, D). For shadow models."""
    stream: Callable[..., np.random.Generator]
    """The generator that belongs to these names on this seed and data; it knows no mechanism, no ε and no attack."""
    remember: Callable[[Hashable, Callable[[], Any]], Any]
    """What does not depend on the weights, by a key that says what it is: computed once for all cells of a work unit."""


@dataclass(frozen=True)
class Attack(Component):
    """The base class of attacks. Subclass it as a frozen dataclass with a ``name``; fields are options.

    Required
        ``name``; ``run(target)``, which returns metrics by their public names without ``attack/``: arrays (runs,). An empty
        mapping means that nothing was attacked.

    Optional
        ``needs``: the capabilities that a model must have; ``refuses(model, geometry)``: why it makes no sense.

    Names that other attacks use too keep their meaning: ``accuracy_train`` and ``accuracy_test`` (guesses about rows that
    trained, and about rows that did not), ``gap`` (their difference), ``balanced_accuracy``, ``auc``, ``advantage`` (over
    guessing without the release), and the same under ``control/<name>/`` for what can be guessed without it. The core adds
    ``cap`` (:func:`advantage_cap`).
    """

    kind: ClassVar[str] = "attack"
    needs: ClassVar[frozenset[Capability]] = frozenset()
    attacks_nothing: ClassVar[bool] = False
    """True for the placeholder that runs no attack: its cells are described without naming an attack."""

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


def advantage_cap(epsilon: float, delta: float = 0.0) -> float:
    """How much likelier any event can be with a row than with another one in its place: (e^ε - 1 + 2δ)/(e^ε + 1).

    It bounds true less false positives of every guess about who trained (a corner of the region of errors of Kairouz, Oh and
    Viswanath 2015), hence also the difference between an attack's accuracy on rows that trained and on rows that did not.
    """
    return min(1.0, math.tanh(epsilon / 2) + delta * (1 - math.tanh(epsilon / 2)))
