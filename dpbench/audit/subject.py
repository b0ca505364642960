"""The subject of an audit: what is fitted on made-up tables, with which settings, and the privacy that it claims."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np

from dpbench.accounting.composition import compose
from dpbench.accounting.costs import Cost, Gdp, LedgerEntry
from dpbench.audit.neighbours import common_rows
from dpbench.base.errors import Refused
from dpbench.base.options import check_options, option
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism, fit_closed
from dpbench.contracts.model import Model
from dpbench.data.bins import BinCounts
from dpbench.data.geometry import Geometry, Scaling
from dpbench.data.samples import Sample, WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.calls import Accept, Answer
from dpbench.privacy.curator import Curator
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws, Noise
from dpbench.privacy.queries.histogram import Histogram
from dpbench.privacy.queries.query import Query, exact_answer
from dpbench.privacy.replay import FLOW, Stopped, Violation

BATCH_RUNS = 5_000
"""Runs that one curator holds. Every run has its own random streams, so this bounds the memory and changes no number."""
MAX_REDRAWS = 20_000
"""An audit ends after this many draws in a row that are not accepted."""
SHAPES: tuple[tuple[int, int], ...] = ((1, 0), (2, 3))
"""Numeric columns, and the levels of a one-hot group."""
CORNER_SHAPES: tuple[tuple[int, int], ...] = ((1, 0), (3, 0))
"""The same for the corner, which has no one-hot groups."""

Answers = tuple[Answer, Answer]
"""The answers to one call on two neighbouring tables. Their noisy values are the same."""

Level = Literal["none", "replay", "component", "release", "all"]
"""``replay``: sensitivities and control flow, without statistics; ``component``: that, and every answer repeated;
``release``: the replay, and whole fits."""


@dataclass(frozen=True)
class AuditSettings:
    """How an audit is done."""

    name: ClassVar[str] = "the audit"

    level: Level = option("all", help="none; replay: no statistics; component: every answer; release: the weights; all")
    runs: int = option(5_000, low=200, help="in each of two worlds, for each pair of neighbours")
    pairs: int = option(2, low=1, high=20, help="pairs of neighbours that statistics are made of")
    confidence: float = option(0.9999, low=0.5, high=1, open_high=True, help="that a mechanism which keeps its word passes")
    rows: int = option(8, low=1, high=100_000, help="rows of the small tables that are made up")
    seed: int = option(0, low=0, help="names every random stream")

    def __post_init__(self) -> None:
        check_options(self, self.name)


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
    size_class: int = 0
    """A number of rows at which the fit is replayed as well; 0 for none."""
    streams: tuple[int, str] | None = None
    """The seed and the name of the data whose simulated noise a mechanism might know: those of the cell."""

    def fit(self, curator: Curator) -> Fit:
        return fit_closed(self.mechanism, self.model.prepare(closed(curator)), curator, self.budget)

    def try_fit(self, curator: Curator) -> Fit:
        """Fit; an error is a violation, because the fit on other rows did not end with one."""
        try:
            return self.fit(curator)
        except (Violation, Refused):
            raise
        except Exception as error:
            raise Violation(f"On some tables the fit ends with {type(error).__name__}: {FLOW}") from error

    @property
    def costly(self) -> bool:
        """Whether the minimum of a noisy objective has no closed form, so that every fit is an iterative one."""
        sample = WholeSample(common_rows(self.geometry, self.settings.rows))
        return not self.model.prepare(closed(self.taping_curator(sample))).closed_form

    def draws(self, stream: str, runs: int, start: int = 0) -> Draws:
        """Return the random streams of consecutive runs. ``stream`` says what the runs are for."""
        return Draws(self.settings.seed, f"audit, pair {self.pair}, {stream}", [(run, 0) for run in range(start, start + runs)])

    def taping_curator(self, sample: Sample, max_calls: int | None = None) -> Curator:
        """Return a curator for a replay: it writes its answers on a tape, and stops a fit after ``max_calls``."""
        curator = BoundedRetryCurator(sample, self.draws("replay", sample.runs), self.budget, max_calls=max_calls)
        curator.tape = []
        return curator

    def tape_fit(self) -> Curator:
        """Fit once on one table, and return the curator with its tape."""
        curator = self.taping_curator(WholeSample(common_rows(self.geometry, self.settings.rows)))
        self.fit(curator)
        return curator

    def curators(
        self, table: Rows, runs: int, stream: str, exact: Any = None, of_one_run: bool = False
    ) -> Iterator["BoundedRetryCurator"]:
        """Yield curators that together hold one table in this many runs; with ``exact``, this is every query's exact answer.

        ``of_one_run``: queries have the state of a single run, which is that of all runs.
        """
        for start in range(0, runs, BATCH_RUNS):
            sample = WholeSample(*[table] * min(BATCH_RUNS, runs - start))
            curator = BoundedRetryCurator(sample, self.draws(stream, sample.runs, start), self.budget, exact)
            curator.of_one_run = of_one_run
            yield curator

    def repeat_fits(self, table: Rows, runs: int, stream: str) -> np.ndarray:
        """Return the weights of many fits on the same table: (runs, D)."""
        return np.concatenate([self.try_fit(curator).weights for curator in self.curators(table, runs, stream)])


@dataclass(frozen=True)
class ClaimedPrivacy:
    """What is claimed of a result: (ε, δ), and μ where all noise is normal."""

    epsilon: float
    delta: float
    mu: float | None = None

    @classmethod
    def of(cls, costs: Sequence[Cost], delta: float) -> Self:
        """Return the claim of answers with these costs together."""
        total = compose(costs, delta)
        return cls(total.epsilon, total.delta, _total_mu(costs))

    @classmethod
    def of_fit(cls, curator: Curator) -> Self:
        """Return the claim of a fit from its ledger."""
        total = curator.ledger.total
        return cls(total.epsilon, total.delta, _total_mu([entry.cost for entry in curator.ledger.entries]))


def _total_mu(costs: Sequence[Cost]) -> float | None:
    mus = [cost.mu for cost in costs if isinstance(cost, Gdp)]
    return math.sqrt(math.fsum(mu**2 for mu in mus)) if len(mus) == len(costs) else None


def example_geometries(model: Model) -> list[Geometry]:
    """Return one column alone, and two with a one-hot group, in the box and in the ball; without an intercept also the corner."""
    shapes: dict[Scaling, tuple[tuple[int, int], ...]] = {"box": SHAPES, "ball": SHAPES}
    if not model.intercept:
        shapes["corner"] = CORNER_SHAPES
    return [example_geometry(model, numeric, levels, scaling) for scaling, sizes in shapes.items() for numeric, levels in sizes]


def example_geometry(model: Model, numeric: int, levels: int = 0, scaling: Scaling = "box") -> Geometry:
    """Return the geometry of this many numeric columns and a group of this many levels. The first attribute is sensitive."""
    columns = tuple(f"x{index}" for index in range(numeric)) + tuple(f"level{index}" for index in range(levels))
    groups = (tuple(range(numeric, numeric + levels)),) if levels else ()
    parts = numeric + len(groups) + model.intercept
    constant = parts**-0.5 if scaling == "ball" and model.intercept else 1.0
    attributes = columns[:numeric] + ("group",) * levels
    return Geometry(
        columns, groups, model.intercept, scaling, model.target, constant, attributes=attributes, sensitive=columns[:1]
    )


class BoundedRetryCurator(Curator):
    """A curator that refuses to draw again forever, because no answer on a small table may ever be accepted.

    To repeat a call of a transcript, pass the ``exact`` answer of one run: it is that of all runs then.
    """

    def __init__(self, sample: Sample, draws: Draws, budget: Budget, exact: Any = None, max_calls: int | None = None) -> None:
        super().__init__(sample, draws, budget)
        self._known = exact
        self.of_one_run = False
        self._max_calls = max_calls

    def until(self, query: Query, noise: Noise, accept: Accept, max_tries: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        tries = 0

        def counted(run: int, answer: np.ndarray) -> bool:
            nonlocal tries
            accepted = accept(run, answer)
            tries = 0 if accepted else tries + 1
            if tries > MAX_REDRAWS:
                raise Refused(
                    f"{query.name!r} was drawn {MAX_REDRAWS:,} times and never accepted on tables of {int(self.n[0])} rows. "
                    "Take more with audit.rows, a larger epsilon, or fewer columns."
                )
            return accepted

        return super().until(query, noise, counted, max_tries)

    def _pay(self, entry: LedgerEntry) -> int:
        if self._max_calls is not None and self.tape is not None and len(self.tape) >= self._max_calls:
            raise Stopped
        return super()._pay(entry)

    def _exact(self, query: Query) -> np.ndarray:
        if self.of_one_run:
            return np.broadcast_to(exact_answer(query, self._sample.for_run(0)), (self.runs, query.size))
        return super()._exact(query) if self._known is None else np.broadcast_to(self._known, (self.runs, len(self._known)))

    def _count(self, query: Histogram, run: int) -> BinCounts:
        return super()._count(query, run) if self._known is None else cast(BinCounts, self._known)
