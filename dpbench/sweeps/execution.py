"""Run a plan: units to the engine, results to records, records to the store's one writer."""

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpbench.audit.result import AuditResult
from dpbench.base.errors import Refused, Unfinished
from dpbench.base.interruption import interruptions_held
from dpbench.cells.audit_unit import AuditUnit, run_audit
from dpbench.cells.summaries import record_of
from dpbench.cells.unit_runner import run_unit
from dpbench.cells.work_unit import BlockResult, Unit
from dpbench.records.cell_record import CellRecord
from dpbench.records.names import REPORT_FOLDER
from dpbench.report.note import note
from dpbench.report.report_files import write_report
from dpbench.report.summary import SweepSummary
from dpbench.sweeps.auditing import Audits, audit_file
from dpbench.sweeps.description import describe_sweep, sweep_key, sweep_title
from dpbench.sweeps.engines import Engine, WorkerDied, engine_named, run
from dpbench.sweeps.plan import SweepPlan
from dpbench.sweeps.resuming import resume
from dpbench.tracking.leases import close_abandoned
from dpbench.tracking.run_writer import Ending, Writer
from dpbench.tracking.store import Store, open_store
from dpbench.tracking.store_uri import resolved
from dpbench.tracking.sweep_files import write_sweep_files
from dpbench.tracking.ui_view import links, save_view


@dataclass(frozen=True)
class Outcome:
    """The records of all cells of a plan, in the order of the command, and where they are stored."""

    summary: SweepSummary
    store: str = ""
    """The store's address, as it may be printed."""

    @property
    def cells(self) -> tuple[CellRecord, ...]:
        return self.summary.cells

    @property
    def exit_code(self) -> int:
        return int(any(cell.state == "failed" or cell.refuted for cell in self.cells))


def execute(
    plan: SweepPlan, config: Mapping[str, Any], *, sweep: bool, command: Sequence[str], overrides: Sequence[str]
) -> Outcome:
    """Run the cells that are not recorded yet, record them, and return the records of all cells of the plan.

    A sweep has a parent run with a note, a report, the plan and all records; a single cell stands alone. The engine is chosen
    and the store is opened before anything runs, so that a wrong request writes nothing.
    """
    tracking = config["tracking"]
    check_settings(config)
    with open_store(tracking["uri"], tracking["experiment"]) as store, Writer(store) as writer:
        with _uninterrupted(store):
            close_abandoned(store)
        recorded: Mapping[str, CellRecord] = {}
        if not config["rerun"]:
            plan, recorded = resume(plan, writer)
        audits = Audits(plan, recorded, audit_file(store))
        engine = engine_named(config["engine"]["name"], config["engine"]["workers"], plan.seconds + audits.seconds)
        record = describe_sweep(plan, config, command, overrides)
        key_of_sweep = sweep_key(plan, record.preset)
        text = f"`{record.command}`\n\n"
        parent = None
        if sweep and (plan.to_run or audits.change(recorded.values()) or not writer.repeated(key_of_sweep)):
            with _uninterrupted(store):
                parent = writer.open_sweep(key_of_sweep, sweep_title(plan, record.preset), record, f"{text}Still running.")
        records: dict[str, CellRecord] = {}

        def write(cell: CellRecord) -> None:
            with _uninterrupted(store):
                records[cell.key] = replace(cell, run_id=writer.write(cell, parent))

        try:
            run_cells(plan, engine, write, audits)
        except KeyboardInterrupt:
            again = "The same command without rerun=true" if config["rerun"] else "The same command"
            kept = f"{len(records)} of {len(plan.to_run)} cells are finished and stay recorded in {store.shown}."
            print(f"{kept} {again} runs the others only.", file=sys.stderr)
            if parent:
                with _uninterrupted(store):
                    writer.close_sweep(parent, "KILLED", f"{text}Interrupted: {len(records)} cells were recorded.")
            raise
        with _uninterrupted(store):
            recorded = {key: writer.vouch(cell, audits.new_tags(cell)) for key, cell in recorded.items()}
            if parent:
                writer.gather(parent, key_of_sweep, recorded.values())
        summary = SweepSummary(replace(record, cells=tuple(records_of(plan, records, recorded)), run_id=parent or ""))
        with _uninterrupted(store):
            view = save_view(store)
            if parent:
                _close(writer, summary, links(store.experiment_id, parent, view))
        return Outcome(summary, store.shown)


def recorded_cells(plan: SweepPlan, config: Mapping[str, Any]) -> tuple[CellRecord, ...]:
    """Return the records of the plan's cells that the store has, and those of pruned cells, running nothing."""
    with open_store(config["tracking"]["uri"], config["tracking"]["experiment"], create=False) as store, Writer(store) as writer:
        plan, recorded = resume(plan, writer)
        return tuple(records_of(plan, {}, recorded))


def run_unrecorded(plan: SweepPlan, config: Mapping[str, Any]) -> tuple[CellRecord, ...]:
    """Run every cell of the plan and return the records, writing nothing."""
    records: dict[str, CellRecord] = {}
    audits = Audits(plan, {})
    engine = engine_named(config["engine"]["name"], config["engine"]["workers"], plan.seconds + audits.seconds)
    run_cells(plan, engine, lambda record: records.__setitem__(record.key, record), audits)
    return tuple(records_of(plan, records, {}))


def run_cells(plan: SweepPlan, engine: Engine, keep: Callable[[CellRecord], None], audits: Audits) -> None:
    """Run the plan's units and audits; call ``keep`` with the record of each cell when its last block and its audit are in."""
    planned_cells = {planned.cell.key: planned for planned in plan.to_run}
    results: dict[str, list[BlockResult]] = {key: [] for key in planned_cells}
    with _progress(len(planned_cells)) as advance:
        for result in _results(engine, _by_table(plan.units(), audits.units), audits):
            if result is not None:
                results[result.key].append(result)
            # an audit may be the last that several cells waited for
            for key in list(results) if result is None else [result.key]:
                planned = planned_cells[key]
                blocks = sum(len(block.repeats) for block in results[key])
                if blocks == planned.cell.splits.repeats and not audits.waits(planned.cell):
                    facts = planned.params, planned.provenance, planned.primary
                    keep(record_of(planned.cell, results.pop(key), *facts, audits.result(planned.cell)))
                    advance()


def run_item(item: Unit | AuditUnit) -> list[BlockResult] | AuditResult:
    """Run a work unit or an audit, on a worker."""
    return run_audit(item) if isinstance(item, AuditUnit) else run_unit(item)


def _by_table(units: Sequence[Unit], audits: Sequence[AuditUnit]) -> list[Unit | AuditUnit]:
    """Return the audits and units table by table, so that an interrupted sweep has whole tables."""
    first = {shared: position for position, shared in reversed(list(enumerate(unit.cells[0].shared for unit in units)))}
    placed: list[tuple[int, Unit | AuditUnit]] = [
        *((first.get(audit.cell.shared, -1), audit) for audit in audits),
        *((first[unit.cells[0].shared], unit) for unit in units),
    ]
    return [item for _, item in sorted(placed, key=lambda place: place[0])]  # stable: a table's audits come first


def records_of(plan: SweepPlan, finished: Mapping[str, CellRecord], recorded: Mapping[str, CellRecord]) -> list[CellRecord]:
    """Return the records of the plan's cells: those that just finished, those recorded before, and those that are pruned."""
    records = []
    for planned in plan.cells:
        if planned.state == "pruned":
            records.append(CellRecord("pruned", planned.params, reason=planned.reason))
        elif planned.state == "resumed":
            records.append(replace(recorded[planned.cell.key], params=planned.params, primary=planned.primary))
        elif planned.cell.key in finished:
            records.append(finished[planned.cell.key])
    return records


def check_settings(config: Mapping[str, Any]) -> None:
    """Refuse wrong settings of how the sweep runs and where it is recorded."""
    uri, experiment = config["tracking"]["uri"], config["tracking"]["experiment"]
    if uri is not None and not isinstance(uri, str):
        raise Refused(f"The tracking store must be a URI such as sqlite:///mlflow.db, or null. Got {uri!r} instead.")
    if not isinstance(experiment, str) or not experiment.strip():
        raise Refused(f"The key 'tracking.experiment' must be a text that is not empty. Got {experiment!r} instead.")
    if uri is not None:
        resolved(uri)
    engine_named(config["engine"]["name"], config["engine"]["workers"], 0.0)


def _results(engine: Engine, items: Sequence[Unit | AuditUnit], audits: Audits) -> Iterator[BlockResult | None]:
    """Yield the results of all units, and None after each audit, whose result ``audits`` takes.

    Where a unit's worker died, its cells run one by one, so that only the cause is lost.
    """
    again: list[Unit | AuditUnit] = []
    for item, results in run(engine, run_item, items):
        if isinstance(item, AuditUnit):
            if isinstance(results, AuditResult):
                audits.done(item, results)
            else:  # the worker may live next time, so nothing is kept for other sweeps
                audits.done(item, AuditResult(None, 0, reason="Its worker process died."), keep=False)
            yield None
        elif isinstance(results, list):
            yield from results
        elif len(item.cells) > 1:
            again += [Unit((cell,), item.repeats) for cell in item.cells]
        else:
            reason = results.reason if isinstance(results, WorkerDied) else ""
            yield BlockResult(item.cells[0].key, item.repeats, error=reason)
    if again:
        yield from _results(engine, again, audits)


def _close(writer: Writer, summary: SweepSummary, pages: str) -> None:
    """End the parent run with its note, report and files."""
    with tempfile.TemporaryDirectory(prefix="dpbench-") as name:
        folder = Path(name)
        figure = write_report(summary, folder / REPORT_FOLDER)
        write_sweep_files(summary.sweep, folder)
        ended: Ending = "FAILED" if any(cell.state == "failed" for cell in summary.cells) else "FINISHED"
        writer.close_sweep(summary.sweep.run_id, ended, f"{pages}\n\n{note(summary, figure)}", folder, summary.metrics)


@contextmanager
def _uninterrupted(store: Store) -> Iterator[None]:
    """Finish a write before Ctrl-C ends the sweep: cut in the middle, a write would leave the store locked.

    If the store is lost, the sweep ends with a sentence; recorded cells stay, and do not run again.
    """
    from mlflow.exceptions import MlflowException

    with interruptions_held():
        try:
            yield
        except MlflowException as error:
            reason = str(error).partition("\n")[0]
            raise Unfinished(f"The tracking store {store.shown!r} could not be written any more: {reason}") from error


@contextmanager
def _progress(cells: int) -> Iterator[Callable[[], None]]:
    """Show on the terminal how many cells are done; the yielded function counts one more."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("cells"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=sys.stderr), disable=not cells) as progress:
        task = progress.add_task("cells", total=cells)
        yield lambda: progress.advance(task)
