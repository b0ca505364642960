"""Sum the streamed tables of a plan before its units run: one pass over each, spread over the engine's workers."""

from dataclasses import replace

from dpbench.base.phases import PhaseSeconds, clock
from dpbench.cells.cell import Cell
from dpbench.cells.streaming import BlockRange, ranges_of, sum_range
from dpbench.cells.work_unit import BlockResult, Unit
from dpbench.data.streamed_sums import StreamedSums
from dpbench.sweeps.engines.loop import Engine, WorkerDied, run
from dpbench.sweeps.plan import SweepPlan
from dpbench.sweeps.schedule import UNKNOWN_WORKERS


def sum_streamed_tables(engine: Engine, plan: SweepPlan) -> tuple[list[Unit], list[BlockResult]]:
    """Return the plan's units, those on streamed tables with their sums, and the results of cells whose table failed.

    The sums are whole numbers, so they are the same however many workers made them.
    """
    units: list[Unit] = []
    failed: list[BlockResult] = []
    made: dict[str, StreamedSums | str] = {}
    for unit in plan.units():
        shared = unit.cells[0].shared
        if not (plan.tables[shared].streamed and engine.shares_passes):  # otherwise each unit makes its own sums
            units.append(unit)
            continue
        if shared not in made:
            made[shared] = _sum_table(engine, unit.cells[0])
        sums = made[shared]
        if isinstance(sums, StreamedSums):
            units.append(replace(unit, sums=sums))
        else:
            failed += [BlockResult(cell.key, unit.repeats, error=sums) for cell in unit.cells]
    return units, failed


def _sum_table(engine: Engine, cell: Cell) -> StreamedSums | str:
    """Return the sums of a cell's table, or why there are none: what failed first in the table's order."""
    total: StreamedSums | None = None
    problems: list[tuple[int, str]] = []
    for part, outcome in run(engine, _sum_apart, ranges_of(cell, engine.workers or UNKNOWN_WORKERS)):
        result, seconds = (outcome.reason, ()) if isinstance(outcome, WorkerDied) else outcome
        clock.add(seconds)
        if isinstance(result, StreamedSums):
            total = result if total is None else total + result
        else:
            problems.append((part.first, result))
    if problems:
        return min(problems)[1]
    assert total is not None
    return total


def _sum_apart(part: BlockRange) -> tuple[StreamedSums | str, PhaseSeconds]:
    """Return the sums of a range, or why there are none, and the seconds that they took, on a worker."""
    return clock.apart(lambda: sum_range(part))
