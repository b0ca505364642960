"""Error curves: how the loss of a mechanism falls with n and ε on plausible tables.

A mechanism whose noise does not depend on the rows enters a fit only in relation to the sums over n rows: through n·μ, or
through n·ε where ε is pure. So each table is simulated once, with a fixed number of rows, and fitted at a coarse grid of this
*strength*; the curve then holds for every n and ε with the same product. (It differs a little where there are hardly more rows
than columns: see docs/choose.md.) A curve is as it was measured: a mechanism may lose more where it has more to spend.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpbench.accounting.conversion import delta_of_gdp, epsilon_of_gdp, gdp_of_epsilon
from dpbench.base.errors import Refused
from dpbench.cells.intervals import CellIntervals, Truth, intervals_of
from dpbench.cells.scoring import References, finite_weights, references_of, utility_columns
from dpbench.choosing.plausible_tables import PlausibleTable, plausible_tables
from dpbench.choosing.public_facts import PublicFacts
from dpbench.contracts.mechanism import Mechanism, fit_closed
from dpbench.contracts.metric import Metric
from dpbench.contracts.model import Problem
from dpbench.data.geometry import Geometry
from dpbench.data.samples import Sample, WholeSample
from dpbench.inference.settings import PLAIN_INTERVALS
from dpbench.privacy.curator import Curator
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.records.explosion import failed_share
from dpbench.records.names import SHARE_LOST
from dpbench.registry.lookup import build, registry

ROWS = 2_048
"""Rows that are fitted in every simulated table."""
NOISES = 7
"""Fits of each table with different noise; their median counts."""
MANY_COLUMNS, NOISES_OF_MANY = 50, 3
"""Wider tables take longer, so that their fits are fewer."""
STRENGTHS = 10 ** np.arange(1.0, 6.01, 0.5)
"""n·μ or n·ε at which tables are fitted."""
MAX_DELTA = 0.05
"""Simulated tables have the δ of the question where a matching one would be larger than this: there hardly anything is lost."""
SMALLEST = 1e-4
"""Losses below this are not told apart."""

WIDTH = "inference/width_ratio"
MEASURED = {"real": ("share_lost", "mse"), "binary": ("share_lost", "log_loss")}
"""The metrics that are computed, by the kind of the target."""

Array = np.ndarray


@dataclass(frozen=True)
class Candidate:
    """A mechanism with its options."""

    mechanism: Mechanism
    options: dict[str, Any] = field(default_factory=dict)
    """Those that differ from the defaults."""

    @property
    def pure(self) -> bool:
        """Whether its strength is n·ε; otherwise it is n·μ."""
        return self.mechanism.counted() == "pure"

    @property
    def released(self) -> bool:
        """Whether there is secure noise for it."""
        return self.mechanism.name not in WITHOUT_SECURE_NOISE

    @property
    def name(self) -> str:
        """The mechanism with its options, in a few words."""
        options = ", ".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.mechanism.name} ({options})" if options else self.mechanism.name

    def strength(self, epsilon: float, delta: float) -> float:
        """Return the strength of one row."""
        return epsilon if self.pure else gdp_of_epsilon(epsilon, delta)

    def epsilon(self, strength: float, delta: float) -> float:
        """Return the ε at which one row has this strength."""
        return strength if self.pure else epsilon_of_gdp(strength, delta)

    def simulated(self, strength: float, delta: float) -> tuple[float, float]:
        """Return an ε and a δ at which a simulated table has this strength.

        A mechanism may use ε apart from μ, as objective_perturbation does for its ridge. On a larger table both are small, and
        about proportional to each other. So they have the same proportion here as at ε = 1, which takes a larger δ.
        """
        row = strength / ROWS
        if self.pure:
            return row, delta
        epsilon = row / gdp_of_epsilon(1.0, delta)
        matching = delta_of_gdp(row, epsilon)
        return (epsilon, matching) if 0 < matching < MAX_DELTA else (epsilon_of_gdp(row, delta), delta)


CANDIDATES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("best", {}),
    ("ssp", {}),
    ("ssp", {"noise": "laplace"}),
    ("fm", {"repair": "floor"}),
    ("objective_perturbation", {}),
    ("dp_newton", {}),
)
"""Sound mechanisms whose noise follows from n·μ or n·ε: the leaders of the leaderboard among these, and two with pure ε.

`choose` names the command that releases, so it chooses none without secure noise.
"""
WITHOUT_SECURE_NOISE = ("objective_perturbation",)
"""Candidates that are shown and not chosen: `release` would refuse them. Another mechanism leads for real targets anyway."""


def candidates(names: Sequence[str] = ()) -> list[Candidate]:
    """Return the mechanisms to compare: all of them, or those of these names."""
    known = list(dict.fromkeys(name for name, _ in CANDIDATES))
    if wrong := [name for name in names if name not in known]:
        raise Refused(f"The mechanism must be one of {', '.join(known)}, which choose compares. Got {wrong[0]!r} instead.")
    return [
        Candidate(build("mechanism", {"name": name, **options}), options)
        for name, options in CANDIDATES
        if not names or name in names
    ]


@dataclass(frozen=True)
class Curves:
    """The losses of one candidate on every table: (strengths, tables), as far as they were needed."""

    candidate: Candidate
    share_lost: Array
    width_ratio: Array
    """Widths of intervals over those without privacy; NaN where there are none."""
    failed_share: Array
    """The share of all fits that lost everything at each strength, which the medians hide: (strengths,)."""


class Simulation:
    """The plausible tables, with what all candidates share: sums over rows, the non-private fit, the mean predictor."""

    def __init__(self, facts: PublicFacts) -> None:
        self.facts = facts
        self.tables: list[PlausibleTable] = list(plausible_tables(facts, ROWS))
        self.noises = NOISES if facts.geometry.dimension <= MANY_COLUMNS else NOISES_OF_MANY
        self.train: Sample = WholeSample(*(table.train for table in self.tables for _ in range(self.noises)))
        self.test: Sample = WholeSample(*(table.test for table in self.tables for _ in range(self.noises)))
        self.runs = [(table, noise) for table in range(len(self.tables)) for noise in range(self.noises)]
        self._draws = Draws(0, "choose", self.runs)
        self._computed: dict[tuple[str, float, float], tuple[Array, Array, float]] = {}
        """By candidate, ε and δ: for several questions about the same tables."""
        self.problem: Problem = facts.model.prepare(closed(Curator(self.train, self._draws, Budget())))
        if not self.problem.closed_form:
            raise Refused(
                f"A choice takes thousands of fits, and each of model={facts.model.name} is a program of its own: choose for "
                "model=ridge, which has about the same errors."
            )
        known = registry().metrics_of(facts.model)
        self.metrics: list[Metric] = [metric for metric in known if metric.name in MEASURED[facts.model.target]]

    @property
    def geometry(self) -> Geometry:
        return self.facts.geometry

    @cached_property
    def references(self) -> References:
        return references_of(self.metrics, self.problem, self)  # type: ignore[arg-type]  # it has the samples and the geometry

    def losses_of_references(self) -> tuple[Array, Array]:
        """Return the mean squared error, or the log loss, of the non-private fit and of the mean predictor on each table."""
        name = MEASURED[self.facts.model.target][1]
        references = self.references
        return tuple(self._by_table(scores[name]) for scores in (references.no_privacy, references.mean_predictor))  # type: ignore[return-value]

    def curves(self, candidate: Candidate, delta: float, done: Callable[[float, Array, Array, float], bool]) -> Curves | None:
        """Return a candidate's curves, or None if it is not for this model.

        Strengths are tried from the smallest on, until ``done(strength, share_lost, width_ratio, failed_share)`` is true of the
        last one.
        """
        if candidate.mechanism.unsupported(self.facts.model, self.geometry):
            return None
        lost: list[Array] = []
        widths: list[Array] = []
        failed: list[float] = []
        for strength in STRENGTHS:
            share, width, failing = self._losses(candidate, *candidate.simulated(float(strength), delta))
            lost.append(share)
            widths.append(width)
            failed.append(failing)
            if done(float(strength), lost[-1], widths[-1], failed[-1]):
                break
        return Curves(candidate, np.array(lost), np.array(widths), np.array(failed))

    def _losses(self, candidate: Candidate, epsilon: float, delta: float) -> tuple[Array, Array, float]:
        """Return the median over the noise of the share lost and of the intervals' width for each table, and who failed."""
        key = candidate.name, epsilon, delta
        if key not in self._computed:
            self._computed[key] = self._computed_losses(candidate, epsilon, delta)
        return self._computed[key]

    def _computed_losses(self, candidate: Candidate, epsilon: float, delta: float) -> tuple[Array, Array, float]:
        budget = Budget(epsilon, delta, candidate.mechanism.counted())
        curator = Curator(self.train, self._draws, replace(budget))
        fit = fit_closed(candidate.mechanism, self.problem, curator, budget)
        if not (curator.ledger.sound and curator.ledger.total.private):
            raise ValueError(f"{candidate.name} is compared by choose, although its ledger has no proof.")
        _, weights = finite_weights(fit)
        utility = utility_columns(self.metrics, fit, self, self.references)  # type: ignore[arg-type]
        intervals = self._intervals(replace(fit, weights=weights))
        width = intervals.metrics.get(WIDTH, np.full(len(weights), np.nan))
        failing = failed_share(utility, MEASURED[self.facts.model.target][1]) or 0.0
        return self._by_table(np.nan_to_num(utility[SHARE_LOST], nan=np.inf)), self._by_table(width), failing

    def _intervals(self, fit: Any) -> CellIntervals:
        weights, errors = self.references.weights, self.references.standard_errors
        truth = Truth(self.train.n, weights, errors, np.full_like(weights, np.nan), False, self.geometry.intercept)
        return intervals_of(fit, PLAIN_INTERVALS, truth, lambda run: np.random.default_rng(run))

    def _by_table(self, values: Array) -> Array:
        """Return the median over the fits of each table."""
        return np.asarray(np.median(values.reshape(len(self.tables), self.noises), axis=1))
