"""Run the units and audits of a plan on an engine, and hand over the record of each cell when all of it is done."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain

from dpbench.audit.result import AuditResult
from dpbench.base.errors import Unfinished
from dpbench.base.garbage import end_start_up
from dpbench.base.phases import clock, phase
from dpbench.base.strangers_code import stdout_is_stderr
from dpbench.cells.audit_unit import AuditUnit, run_audit
from dpbench.cells.code_versions import audit_difference, cell_difference
from dpbench.cells.summaries import record_of
from dpbench.cells.time_limit import TimeIsOver, within
from dpbench.cells.unit_runner import run_unit
from dpbench.cells.work_unit import BlockResult, Unit
from dpbench.files.digest_key import known_key_id
from dpbench.records.cell_record import CellRecord
from dpbench.report.formatting import plural
from dpbench.sweeps.auditing import Audits
from dpbench.sweeps.costs import Costs
from dpbench.sweeps.engines.loop import Engine, WorkerDied, run
from dpbench.sweeps.forecast import Forecast
from dpbench.sweeps.plan import SweepPlan
from dpbench.sweeps.schedule import UNKNOWN_WORKERS, schedule
from dpbench.sweeps.streamed_passes import sum_streamed_tables

Item = Unit | AuditUnit


class SweepStopped(Unfinished):
    """A sweep ended before all of its cells had a result; those that have one stay recorded."""


def run_cells(
    plan: SweepPlan,
    engine: Engine,
    keep: Callable[[CellRecord], None],
    audits: Audits,
    *,
    claimed: Callable[[Iterable[Item]], Iterable[Item]] = lambda items: items,
    fail_fast: bool = False,
) -> None:
    """Run the plan's units and audits; call ``keep`` with the record of each cell when its last block and its audit are in.

    ``claimed`` says of the units, at the moment when each would begin, which of their cells are to run here. With
    ``fail_fast`` the first failed cell ends the sweep, and what runs is cancelled.
    """
    from dpbench.sweeps.progress import progress_bar

    end_start_up()
    planned_cells = {planned.cell.key: planned for planned in plan.to_run}
    results: dict[str, list[BlockResult]] = {key: [] for key in planned_cells}
    costs = Costs.of_this_machine(plan.tables)
    forecast = Forecast(plan, audits.units, costs)
    workers = engine.workers or UNKNOWN_WORKERS
    with progress_bar(len(planned_cells), lambda: forecast.seconds_left(workers)) as update:
        units, failed = sum_streamed_tables(engine, plan)
        if engine.cells_apart:
            units = [part for unit in units for part in unit.one_cell_each]
        items = claimed(schedule(units, audits.units, costs, workers))
        for result in chain(failed, _results(engine, items, audits, forecast)):
            if result is not None:
                forecast.finished(result)
                results[result.key].append(result)
            # an audit may be the last that several cells waited for
            for key in list(results) if result is None else [result.key]:
                planned = planned_cells[key]
                blocks = sum(len(block.repeats) for block in results[key])
                if blocks == planned.cell.splits.repeats and not audits.waits(planned.cell):
                    facts = planned.params, planned.provenance, planned.primary
                    record = record_of(planned.cell, results.pop(key), *facts, audits.result(planned.cell))
                    keep(record)
                    if fail_fast and record.state == "failed":
                        engine.withdraw()
                        raise SweepStopped(f"A cell failed, and fail_fast=true ends the sweep: {record.reason}")
            forecast.unrecorded = len(results)
            update(len(planned_cells) - len(results))
    if engine.partial and results:
        raise SweepStopped(f"{plural(len(results), 'cell')} of {len(planned_cells)} have no result yet.")


def run_item(item: Item, timeout: float | None = None, key: str = "") -> list[BlockResult] | AuditResult | WorkerDied:
    """Run a work unit or an audit, on a worker, unless it has other code or data than the process that planned the sweep.

    ``timeout`` are the seconds that each cell, or the audit, may take; ``key`` names the digest key of that process.
    """
    with stdout_is_stderr():
        if not isinstance(item, AuditUnit):
            differences = {cell.key: cell_difference(cell, key) for cell in item.cells}
            refused = [BlockResult(name, item.repeats, error=sentence) for name, sentence in differences.items() if sentence]
            unit = replace(item, cells=tuple(cell for cell in item.cells if not differences[cell.key]))
            if not unit.cells:
                return refused
            (first, *others), seconds = clock.apart(lambda: run_unit(unit, timeout))
            return [replace(first, phases=seconds), *others, *refused]
        if sentence := audit_difference(item):
            return WorkerDied(sentence)
        try:
            return clock.apart(lambda: within(timeout, lambda: phase("audit")(run_audit)(item)))[0]  # its result has its seconds
        except TimeIsOver:
            return WorkerDied(f"It took longer than the {timeout:g} seconds that engine.timeout allows.")


def _results(engine: Engine, items: Iterable[Item], audits: Audits, forecast: Forecast) -> Iterator[BlockResult | None]:
    """Yield the results of all units, and None after each audit, whose result ``audits`` takes.

    Where a unit's worker died, its cells run one by one, so that only the cause is lost.
    """
    again: list[Item] = []
    task = partial(run_item, timeout=engine.timeout, key=known_key_id())
    for item, results in run(engine, task, items):
        if isinstance(item, AuditUnit):
            if isinstance(results, AuditResult):
                clock.add([("audit", results.seconds)])
                audits.done(item, results)
                forecast.finished_audit(item, results)
            else:  # it may end otherwise next time, so nothing is kept for other sweeps
                reason = results.reason if isinstance(results, WorkerDied) else ""
                audits.done(item, AuditResult(None, 0, reason=reason), keep=False)
            yield None
        elif isinstance(results, list):
            clock.add(results[0].phases)
            yield from results
        elif len(item.cells) > 1:
            again += item.one_cell_each
        else:
            reason = results.reason if isinstance(results, WorkerDied) else ""
            if engine.timeout is not None:
                reason += "; with engine.timeout, a worker ends itself when a cell cannot be stopped"
            yield BlockResult(item.cells[0].key, item.repeats, error=reason)
    if again:
        yield from _results(engine, again, audits, forecast)
