"""Costs: how long the pieces of a sweep take on one core. The best source that has an answer is used.

1. What this sweep, or an earlier one on this machine, measured of the same kind of work.
2. What they measured of the same components with other options or on other tables.
3. The shipped priors, times how much slower this machine is than theirs.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from dpbench.cells.audit_unit import AuditUnit
from dpbench.cells.cell import Cell, digest
from dpbench.cells.work_unit import Unit
from dpbench.registry.lookup import registry
from dpbench.sweeps.cost_priors import SHORTEST_SECONDS, Priors, TableSize, shipped_priors
from dpbench.sweeps.plan import TableFacts
from dpbench.sweeps.recorded_times import RecordedTimes, WorkKind, times_file

SECONDS_PER_VALUE = 2e-8
"""To load and scale one value of a table."""
SECONDS_PER_VALUE_AND_REPEAT = 4e-9
"""To split a table, and to sum over its rows."""
CELL, TABLE, AUDIT = "cell", "table", "audit"
"""The first of the names of a kind of work."""
MIN_KINDS = 5
"""Kinds that must have been measured before their ratios say how fast this machine is."""


@dataclass(frozen=True)
class Work:
    """A piece of work: its kind, and how long the priors expect it to take."""

    kind: WorkKind
    prior: float


class Costs:
    """Predicts the seconds of pieces of work on a plan's tables, and learns from those that were done."""

    def __init__(
        self, tables: Mapping[str, TableFacts], recorded: RecordedTimes | None = None, priors: Priors | None = None
    ) -> None:
        self._tables = tables
        self._recorded = recorded or RecordedTimes()
        self._priors = priors or shipped_priors()
        self._works: dict[tuple[str, int], Work] = {}
        self._measured: dict[WorkKind, list[float]] = defaultdict(list)
        """The ratios of measured seconds to their priors, in this sweep."""
        self._ratios: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
        """The best known ratio of each kind, by its names and its detail."""
        for kind, ratio in self._recorded.ratios.items():
            self._ratios[kind.names][kind.detail] = ratio
        self._slowness: float | None = None

    @classmethod
    def of_this_machine(cls, tables: Mapping[str, TableFacts]) -> Self:
        """Return costs that know the recorded times, and record those that are measured."""
        return cls(tables, RecordedTimes(times_file()))

    def works(self, item: Unit | AuditUnit) -> list[Work]:
        """Return the pieces of a unit, its table's first, or of an audit."""
        if isinstance(item, AuditUnit):
            return [self.audit(item)]
        return [self.table(item), *(self.cell(cell, item.repeats) for cell in item.cells)]

    def cell(self, cell: Cell, repeats: Sequence[int]) -> Work:
        """Return the work on a cell: fit and score its runs on these repeats, and attack them."""
        runs = cell.splits.tests * len(repeats)
        if (work := self._works.get((cell.key, runs))) is None:
            work = self._works[cell.key, runs] = self._cell(cell, runs)
        return work

    def _cell(self, cell: Cell, runs: int) -> Work:
        size = self._tables[cell.shared].size_of_fits
        mechanism, model, attack = cell.mechanism.name, cell.model.name, cell.attack.name
        prior = self._priors.seconds("cell", mechanism, model, size, runs)
        if not registry().get("attack", attack).attacks_nothing:
            prior += self._priors.seconds("attack", attack, model, size, runs)
        components = [component.as_config() for component in (cell.mechanism, cell.model, cell.attack)]
        options = [*components, asdict(cell.inference), sorted(cell.settings.flags), cell.versions.get("mechanism", "")]
        return Work(_kind((CELL, mechanism, model, attack), options, size), prior)

    def table(self, unit: Unit) -> Work:
        """Return the work that the cells of a unit share: load the table, pass over its rows, fit and score the references."""
        cell, repeats = unit.cells[0], len(unit.repeats)
        table = self._tables[cell.shared]
        size = table.size
        values = size.rows * (size.columns + 1)
        loads = repeats if cell.build("dataset").redrawn() else 1
        passes = 1 if table.streamed else repeats
        prior = values * (SECONDS_PER_VALUE * loads + SECONDS_PER_VALUE_AND_REPEAT * passes)
        prior += self._priors.seconds("references", "", cell.model.name, table.size_of_fits, cell.splits.tests * repeats)
        options = [cell.dataset.as_config(), cell.model.as_config(), cell.splits.scheme]
        return Work(_kind((TABLE, cell.dataset.name, cell.model.name), options, size), prior)

    def audit(self, unit: AuditUnit) -> Work:
        """Return the work on an audit."""
        mechanism, model, size = unit.cell.mechanism, unit.cell.model, TableSize(unit.n, unit.geometry.dimension)
        options = [mechanism.as_config(), model.as_config(), asdict(unit.cell.audit), unit.code]
        names = (AUDIT, mechanism.name, model.name, unit.cell.audit.level)
        return Work(_kind(names, options, size), self._priors.seconds("audit", mechanism.name, model.name, size, 1))

    def seconds(self, *works: Work) -> float:
        """Return the best prediction for pieces of work on one core."""
        return math.fsum(work.prior * self._ratio(work.kind) for work in works)

    def measured(self, kind: WorkKind) -> bool:
        """Return whether work of this very kind was measured, in this sweep or an earlier one on this machine."""
        return kind.detail in self._ratios.get(kind.names, {})

    def learn(self, work: Work, seconds: float, *, private: bool) -> None:
        """Take the measured seconds of a piece of work. Times of private tables are forgotten with the sweep."""
        ratios = self._measured[work.kind]
        ratios.append(max(seconds, SHORTEST_SECONDS) / work.prior)
        # the first piece of a kind may have had to wait for imports: the smaller one of two counts
        ratio = self._ratios[work.kind.names][work.kind.detail] = statistics.median_low(ratios)
        self._slowness = None
        if not private:
            self._recorded.keep(work.kind, ratio)

    def _ratio(self, kind: WorkKind) -> float:
        """Return how much longer work of a kind takes than its prior says."""
        same_names = self._ratios.get(kind.names, {})
        if kind.detail in same_names:
            return same_names[kind.detail]
        return statistics.median(same_names.values()) if same_names else self.slowness()

    def slowness(self) -> float:
        """Return how much slower this machine is than the one of the priors, judged by all kinds that are known."""
        if self._slowness is None:
            ratios = [ratio for same_names in self._ratios.values() for ratio in same_names.values()]
            self._slowness = statistics.median(ratios) if len(ratios) >= MIN_KINDS else 1.0
        return self._slowness


def _kind(names: tuple[str, ...], options: Any, size: TableSize) -> WorkKind:
    """Return the kind of work on tables of this size, to a power of ten in its rows."""
    return WorkKind(names, digest([options, len(str(size.rows)), size.columns]))
