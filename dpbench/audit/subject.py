"""The subject of an audit: what is fitted on made-up tables, and the privacy that it claims."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dpbench.accounting.composition import compose
from dpbench.accounting.costs import Cost, Gdp
from dpbench.audit.neighbours import common_rows
from dpbench.audit.retry_limit import BoundedRetryCurator
from dpbench.audit.settings import AuditSettings
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Model
from dpbench.data.geometry import Geometry
from dpbench.data.samples import Sample, WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.curator import Answer, Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.standard_draws import Draws

BATCH_RUNS = 5_000
"""Runs that one curator holds. Every run has its own random streams, so this bounds the memory and changes no number."""


Answers = tuple[Answer, Answer]
"""The answers to one call on two neighbouring tables. Their noisy values are the same."""


@dataclass(frozen=True)
class AuditSubject:
    """What is audited and how: a mechanism on a model with a budget, on made-up tables of a geometry."""

    mechanism: Mechanism
    model: Model
    budget: Budget
    geometry: Geometry
    settings: AuditSettings
    pair: int = 0
    """The number of the pair of tables: each pair has random streams of its own."""

    def fit(self, curator: Curator) -> Fit:
        return self.mechanism.fit(curator, self.model.prepare(curator), self.budget)

    def draws(self, stream: str, runs: int, start: int = 0) -> Draws:
        """Return the random streams of consecutive runs. ``stream`` says what the runs are for."""
        return Draws(self.settings.seed, f"audit, pair {self.pair}, {stream}", [(run, 0) for run in range(start, start + runs)])

    def taping_curator(self, sample: Sample) -> Curator:
        """Return a curator for a replay: it writes its answers on a tape."""
        curator = BoundedRetryCurator(sample, self.draws("replay", sample.runs), self.budget)
        curator.tape = []
        return curator

    def tape_fit(self) -> Curator:
        """Fit once on one table, and return the curator with its tape."""
        curator = self.taping_curator(WholeSample(common_rows(self.geometry, self.settings.rows)))
        self.fit(curator)
        return curator

    def curators(self, table: Rows, runs: int, stream: str) -> Iterator[Curator]:
        """Yield curators that together hold one table in this many runs."""
        for start in range(0, runs, BATCH_RUNS):
            sample = WholeSample(*[table] * min(BATCH_RUNS, runs - start))
            yield BoundedRetryCurator(sample, self.draws(stream, sample.runs, start), self.budget)

    def repeat_fits(self, table: Rows, runs: int, stream: str) -> np.ndarray:
        """Return the weights of many fits on the same table: (runs, D)."""
        return np.concatenate([self.fit(curator).weights for curator in self.curators(table, runs, stream)])


@dataclass(frozen=True)
class ClaimedPrivacy:
    """What is claimed of a result: (ε, δ), and μ where all noise is normal."""

    epsilon: float
    delta: float
    mu: float | None = None

    @classmethod
    def of(cls, costs: Sequence[Cost], delta: float) -> ClaimedPrivacy:
        """Return the claim of answers with these costs together."""
        total = compose(costs, delta)
        return cls(total.epsilon, total.delta, _total_mu(costs))

    @classmethod
    def of_fit(cls, curator: Curator) -> ClaimedPrivacy:
        """Return the claim of a fit from its ledger and its tape."""
        total, answers = curator.ledger.total, curator.tape or []
        costs = [exact_cost(answer) for answer in answers if answer.noise is not None]
        # an entry without an answer on the tape, or an answer without a proof, has no μ
        mu = _total_mu(costs) if len(costs) == len(curator.ledger.entries) else None
        return cls(total.epsilon, total.delta, mu)


def exact_cost(answer: Answer) -> Cost:
    """Return the cost of an answer. Normal noise that is accounted in zCDP has an exact μ, which is a sharper claim."""
    cost, noise = answer.call.cost, answer.noise
    return Gdp(float(noise.bound)) if noise is not None and noise.law.name == "gaussian" and cost == noise.cost else cost


def _total_mu(costs: Sequence[Cost]) -> float | None:
    mus = [cost.mu for cost in costs if isinstance(cost, Gdp)]
    return math.sqrt(math.fsum(mu**2 for mu in mus)) if len(mus) == len(costs) else None
