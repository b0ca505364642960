"""Forecast how long a sweep takes: before it starts, and again whenever a piece of its work is finished."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence

from dpbench.audit.result import AuditResult
from dpbench.cells.audit_unit import AuditUnit
from dpbench.cells.cell import Cell
from dpbench.cells.work_unit import BlockResult, Unit
from dpbench.sweeps.costs import Costs, Work
from dpbench.sweeps.plan import SweepPlan
from dpbench.sweeps.recorded_times import WorkKind

SECONDS_PER_RECORD = 0.06
"""To record a cell, in the one process that writes to the store."""
SECONDS_PER_SWEEP = 3.0
"""To open and close a sweep: the store, the report and its figures."""


class Backlog:
    """Work that is still to be done, added up by kind, so that it is cheap to predict again whenever a time is learned."""

    def __init__(self, works: Iterable[Work]) -> None:
        self._priors: dict[WorkKind, float] = defaultdict(float)
        for work in works:
            self._priors[work.kind] += work.prior

    def remove(self, *works: Work) -> None:
        for work in works:
            self._priors[work.kind] = max(0.0, self._priors[work.kind] - work.prior)

    def seconds(self, costs: Costs) -> float:
        """Return the predicted seconds on one core."""
        return costs.seconds(*(Work(kind, prior) for kind, prior in self._priors.items()))

    def guessed(self, costs: Costs) -> list[WorkKind]:
        """Return the kinds that were never measured on this machine."""
        return [kind for kind in self._priors if not costs.measured(kind)]


class Forecast:
    """What is not finished of a sweep, and how long it will take; it learns from each result."""

    def __init__(self, plan: SweepPlan, audits: Sequence[AuditUnit], costs: Costs) -> None:
        self._costs = costs
        self._cells: dict[str, tuple[Cell, bool]] = {
            planned.cell.key: (planned.cell, bool(planned.provenance.digest_key)) for planned in plan.to_run
        }
        units = plan.units()
        self._blocks = {(unit.cells[0].shared, unit.repeats) for unit in units}
        """Blocks of which no cell is finished."""
        items: list[Unit | AuditUnit] = [*audits, *units]
        self._backlog = Backlog(work for item in items for work in costs.works(item))
        self.unrecorded = len(self._cells)

    @property
    def seconds(self) -> float:
        """The predicted seconds of what is not finished, on one core and without recording it."""
        return self._backlog.seconds(self._costs)

    @property
    def recording(self) -> float:
        """The predicted seconds of recording the cells that are not recorded, and of making the report."""
        if not self.unrecorded:
            return 0.0
        return self._costs.slowness() * (SECONDS_PER_SWEEP + SECONDS_PER_RECORD * self.unrecorded)

    def seconds_left(self, workers: int) -> float:
        """Return the predicted seconds until everything is finished and recorded."""
        return elapsed(self.seconds / workers, self.recording, workers)

    @property
    def guessed(self) -> list[WorkKind]:
        """The kinds of work that were never measured on this machine."""
        return self._backlog.guessed(self._costs)

    def finished(self, result: BlockResult) -> None:
        """Learn how long a cell took on a block."""
        cell, private = self._cells[result.key]
        work, shared = self._costs.cell(cell, result.repeats), self._costs.table(Unit((cell,), result.repeats))
        self._backlog.remove(work)
        if (cell.shared, result.repeats) in self._blocks:
            self._blocks.remove((cell.shared, result.repeats))
            self._backlog.remove(shared)
        if result.shared_seconds:
            self._costs.learn(shared, result.shared_seconds, private=private)
        if not result.error:
            self._costs.learn(work, result.seconds + result.check_seconds, private=private)

    def finished_audit(self, unit: AuditUnit, result: AuditResult) -> None:
        """Learn how long an audit took. It made up its tables, so its time tells nothing about private rows."""
        work = self._costs.audit(unit)
        self._backlog.remove(work)
        if result.passed is not None:
            self._costs.learn(work, result.seconds, private=False)


def elapsed(work: float, recording: float, workers: int) -> float:
    """Return the seconds of work and of recording: together in one process, at the same time where workers do the work."""
    return work + recording if workers == 1 else max(work, recording)


def predicted_seconds(plan: SweepPlan, audits: Sequence[AuditUnit]) -> float:
    """Return the predicted seconds of a plan's work on one core, without recording it."""
    return Forecast(plan, audits, Costs.of_this_machine(plan.tables)).seconds


def makespan(items: Iterable[Unit | AuditUnit], costs: Costs, workers: int) -> float:
    """Return the predicted seconds until all workers have ended, if each takes the next item whenever it is free."""
    free_at = [(0.0, worker, "") for worker in range(workers)]
    for item in items:
        time, worker, last = heapq.heappop(free_at)
        works = costs.works(item)
        # a worker that has the rows of this block already does not pass over them again
        seconds = costs.seconds(*(works[1:] if isinstance(item, Unit) and item.name == last else works))
        heapq.heappush(free_at, (time + seconds, worker, item.name))
    return max(time for time, _, _ in free_at)
