"""The contract of an attack, which is given released weights and measures what it can infer from them."""

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench.contracts.model import ModelUser, Problem
from dpbench.data.blocks import Block
from dpbench.data.geometry import Geometry
from dpbench.data.samples import Sample
from dpbench.records.metric_info import MetricInfo


@dataclass(frozen=True)
class AttackTarget:
    """What an attack is run against: a problem, its released weights, and the rows on which the attack's guesses are judged.

    It also holds what an adversary needs to prepare. All of that is simulated on the benchmark's own rows and stays on the
    worker: an attack returns numbers, never rows.
    """

    problem: Problem
    weights: np.ndarray
    """(runs, D), all finite. A run whose fit was not finite has zeros here, and its metrics are left out of the record."""
    train: Sample
    test: Sample
    epsilon: float
    """The accounted ε of the release; infinite if it is not private."""
    block: Block
    """The rows of each repeat, and which of them trained which run."""
    refit: Callable[[Block], np.ndarray]
    """Fit the same mechanism with the same budget on other splits, with fresh noise: (runs, D). For shadow models."""
    stream: Callable[..., np.random.Generator]
    """Return the generator of these names, for this seed and dataset: the same for all mechanisms, ε and attacks."""
    evaluate: Callable[[np.ndarray, Sample], dict[str, np.ndarray]]
    """Return the model's metrics for weights (runs, D) on a sample, by name, as they are recorded."""
    remember: Callable[[Hashable, Callable[[], Any]], Any]
    """Return ``remember(key, compute)`` from a cache that the attack's cells on a block share: for what no weights enter."""


@dataclass(frozen=True)
class Attack(ModelUser):
    """The base class of attacks. Subclass it as a frozen dataclass with a ``name``; fields are options.

    Required
        ``name``; ``run(target)``, which returns the metrics of all runs, as arrays (runs,), by their public names without
        the prefix ``attack/``.

    Optional
        ``needs``: the capabilities that a model must have; ``refuses(model, geometry)``: any other reason not to attack a
        model; ``remarks(geometry)``: what a reader must know about the attack on such a table.

    Use the names of the other attacks where they fit: ``accuracy_train`` and ``accuracy_test`` for guesses about rows that
    trained and rows that did not, ``gap`` for their difference, ``balanced_accuracy``, ``auc``, ``advantage`` over guessing
    without the release, and ``control/<name>/…`` for guesses that need no release. The core adds ``cap``, the largest
    advantage that the accounted ε allows (:func:`advantage_cap`).
    """

    kind: ClassVar[str] = "attack"
    rows_only: ClassVar[str] = "it guesses about single rows, and here privacy is promised to persons"
    mismatch: ClassVar[str] = "The attack {name} does not run on {model}"
    metrics: ClassVar[tuple[MetricInfo, ...]] = ()
    """What is to be known of the metrics that ``run`` returns, by name. Tables show those with ``headline``."""
    attacks_nothing: ClassVar[bool] = False
    """True for the placeholder that runs no attack: reports do not name it."""

    def remarks(self, geometry: Geometry) -> tuple[str, ...]:
        """Return what a reader of the results must know about the attack on such a table, in sentences: they are recorded."""
        return ()

    @abstractmethod
    def run(self, target: AttackTarget) -> dict[str, np.ndarray]:
        """Return the attack's metrics: arrays (runs,)."""


def advantage_cap(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest advantage of any guess about one row: (e^ε - 1 + 2δ)/(e^ε + 1).

    It bounds the rate of true positives minus the rate of false positives of every guess about who trained (a corner of the
    region of errors of Kairouz, Oh and Viswanath 2015), and so the difference between an attack's accuracies on rows that
    trained and on rows that did not.
    """
    return min(1.0, math.tanh(epsilon / 2) + delta * (1 - math.tanh(epsilon / 2)))
