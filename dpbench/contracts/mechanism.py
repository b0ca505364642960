"""The contract of a mechanism: it asks the Curator and returns weights."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.accounting.costs import Currency
from dpbench.contracts.component import Component
from dpbench.contracts.fit import OK, Fit, Status
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.geometry import Geometry
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Noise
from dpbench.privacy.query import Query


@dataclass(frozen=True)
class Mechanism(Component):
    """The base class of mechanisms. Subclass it as a frozen dataclass with a ``name``; fields are options.

    Required
        ``name``; ``guarantee``: a few words for listings (``ε-DP``); ``fit(curator, problem, budget)``.

    Optional
        ``needs``: the capabilities that a model must have; ``refuses(model, geometry)``: why a pair is not supported beyond that;
        ``currency``: how the budget's ε is counted (``pure``; ``approx``: accounted at δ; ``zcdp``: ρ = ε; ``gdp``: μ = ε);
        ``counted()``: the same, where an option decides.

    A mechanism has no rows, no random generator, no accounting and no loop over runs: a private answer is one call of
    ``curator.release(query, noise)``, whose arrays carry the runs first. ``curator.geometry`` and ``curator.n`` are public;
    nothing else is free. Who does not want to think in batches subclasses :class:`OneRunMechanism`.

    The docstring is what users read: what it does in two sentences, the guarantee (definition, neighbours, what is assumed
    public), the citation, and what the paper got wrong if it did.
    """

    kind: ClassVar[str] = "mechanism"
    guarantee: ClassVar[str] = ""
    needs: ClassVar[frozenset[Capability]] = frozenset()
    currency: ClassVar[Currency] = "pure"

    @abstractmethod
    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        """One weight vector for each of the curator's runs, within the budget."""

    def counted(self) -> Currency:
        """The currency of this mechanism's budget: its class's, unless an option decides."""
        return self.currency

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        """Why this mechanism cannot fit the model on such a table, as the end of a sentence; None when it can."""
        return None

    def unsupported(self, model: Model, geometry: Geometry) -> str | None:
        """The sentence that a pruned cell carries; None when the pair makes sense."""
        missing = sorted(self.needs - model.provides)
        reason = f"the model provides no {' and no '.join(missing)}" if missing else self.refuses(model, geometry)
        return f"{self.name} does not fit {model.name}: {reason}." if reason else None


@dataclass(frozen=True)
class OneRunMechanism(Mechanism):
    """A mechanism that is written for a single run; the core loops over the runs.

    Implement ``fit_run(curator, problem, budget)``: the same calls, but answers come without the runs' axis (``release``
    gives a vector) and a single weight vector (D,) is returned, or (weights, status).
    """

    @abstractmethod
    def fit_run(self, curator: OneRunCurator, problem: Problem, budget: Budget) -> np.ndarray | tuple[np.ndarray, Status]:
        """The weight vector of one run: (D,)."""

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        weights, status = [], []
        singles = [curator.one(run) for run in range(curator.runs)]
        for run, single in enumerate(singles):
            result = self.fit_run(OneRunCurator(single), problem.one(run), budget)
            vector, state = result if isinstance(result, tuple) else (result, OK)
            weights.append(np.asarray(vector, dtype=float))
            status.append(state)
        curator.adopt(singles)
        return Fit(np.stack(weights), np.array(status))


class OneRunCurator:
    """A curator of one run whose answers have no axis for the runs."""

    def __init__(self, curator: Curator) -> None:
        self._curator = curator
        self.geometry = curator.geometry
        self.n = int(curator.n[0])
        self.unproven = curator.unproven
        self.reveal = curator.reveal

    def release(self, query: Query, noise: Noise) -> np.ndarray:
        """The query's sum with noise: (coefficients,)."""
        return np.asarray(self._curator.release(query, noise)[0])
