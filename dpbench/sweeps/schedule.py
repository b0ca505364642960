"""Schedule a plan: its audits and cells table by table, in units that let all workers end together.

Units are cut when they are handed out. A cell of a kind that was never measured on this machine comes first and alone, so that
its time is known when the others are cut. A unit is a share of what is left, so that units become smaller towards the end. None
mixes tables, and none is much shorter than the pass over its rows, which another worker would make again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dpbench.cells.audit_unit import AuditUnit
from dpbench.cells.cell import Cell
from dpbench.cells.work_unit import Unit
from dpbench.report.formatting import group_by
from dpbench.sweeps.costs import Costs, Work
from dpbench.sweeps.forecast import Backlog
from dpbench.sweeps.recorded_times import WorkKind

Item = Unit | AuditUnit

UNKNOWN_WORKERS = 8
"""Workers for which units are cut, and times predicted, where their number is not known before they start."""
UNITS_PER_WORKER = 3
"""Units of the present size that each worker would need for what is left."""
MIN_UNIT_SECONDS = 0.5
"""Cutting finer costs more than it balances."""
MAX_UNIT_SECONDS = 20.0
"""Results come back when all of their unit is done, and a killed sweep loses what has not come back."""


def schedule(units: Sequence[Unit], audits: Sequence[AuditUnit], costs: Costs, workers: int = 1) -> Iterator[Item]:
    """Yield every audit, and every cell on every block of repeats, once; ``costs`` may learn between two items."""
    tables = list(group_by(by_table(units, audits), lambda item: _cell_of(item).shared).values())
    if workers > 1:  # the longest first, so that none begins when the others end
        tables.sort(key=lambda items: costs.seconds(*(work for item in items for work in costs.works(item))), reverse=True)
    scissors = _Scissors(costs, workers, [item for items in tables for item in items])
    for items in tables:
        for item in items:
            yield from scissors.parts(item)


def by_table(units: Sequence[Unit], audits: Sequence[AuditUnit]) -> list[Item]:
    """Return the audits and units table by table, so that an interrupted sweep has whole tables."""
    first = {shared: position for position, shared in reversed(list(enumerate(unit.cells[0].shared for unit in units)))}
    placed: list[tuple[int, Item]] = [
        *((first.get(audit.cell.shared, -1), audit) for audit in audits),
        *((first[unit.cells[0].shared], unit) for unit in units),
    ]
    return [item for _, item in sorted(placed, key=lambda place: place[0])]  # stable: a table's audits come first


class _Scissors:
    """Cuts blocks into units, and remembers what is not cut yet."""

    def __init__(self, costs: Costs, workers: int, items: Sequence[Item]) -> None:
        self._costs = costs
        self._workers = workers
        self._left = Backlog(work for item in items for work in costs.works(item))
        self._probes: set[WorkKind] = set()
        """Kinds that were never measured, and of which a worker got the first cell."""

    def parts(self, item: Item) -> Iterator[Item]:
        """Yield an audit, or the units of a block."""
        if isinstance(item, AuditUnit):
            self._left.remove(self._costs.audit(item))
            yield item
            return
        self._left.remove(self._costs.table(item))
        for unit in self._cut(item):
            self._left.remove(*self._costs.works(unit)[1:])
            yield unit

    def _cut(self, block: Unit) -> Iterator[Unit]:
        waiting = []
        for cell in block.cells:
            if self._needs_probe(self._costs.cell(cell, block.repeats)):
                yield replace(block, cells=(cell,))
            else:
                waiting.append(cell)
        unit: list[Cell] = []
        seconds, target = 0.0, self._target(block)
        for cell in self._longest_first(block, waiting):
            more = self._costs.seconds(self._costs.cell(cell, block.repeats))
            if unit and seconds + more > target:
                yield replace(block, cells=tuple(unit))
                unit, seconds, target = [], 0.0, self._target(block)
            unit.append(cell)
            seconds += more
        if unit:
            yield replace(block, cells=tuple(unit))

    def _longest_first(self, block: Unit, cells: Sequence[Cell]) -> list[Cell]:
        """Return the cells, those with one fit next to each other: they differ only by the attack, and the runner caches it."""

        def seconds(same_fit: Sequence[Cell]) -> float:
            return self._costs.seconds(*(self._costs.cell(cell, block.repeats) for cell in same_fit))

        fits = group_by(cells, lambda cell: cell.fit).values()
        return [cell for same_fit in sorted(fits, key=seconds, reverse=True) for cell in same_fit]

    def _target(self, block: Unit) -> float:
        """Return the seconds that the next unit may take."""
        share = self._left.seconds(self._costs) / (self._workers * UNITS_PER_WORKER)
        return max(MIN_UNIT_SECONDS, self._costs.seconds(self._costs.table(block)), min(share, MAX_UNIT_SECONDS))

    def _needs_probe(self, work: Work) -> bool:
        """Return whether a cell is the first of its kind. Of short cells, other options of the same components are no reason."""
        if self._costs.measured(work.kind) or work.kind in self._probes:
            return False
        similar = any(kind.names == work.kind.names for kind in self._probes)
        if similar and self._costs.seconds(work) < MIN_UNIT_SECONDS:
            return False
        self._probes.add(work.kind)
        return True


def _cell_of(item: Item) -> Cell:
    return item.cell if isinstance(item, AuditUnit) else item.cells[0]
