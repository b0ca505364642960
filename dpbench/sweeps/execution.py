"""Run a plan: units to the engine, parts to records, records to the one writer."""

from __future__ import annotations

import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpbench.base.errors import Refused, Unfinished
from dpbench.base.options import options_of
from dpbench.cells.cell import digest
from dpbench.cells.summaries import record_of
from dpbench.cells.unit_runner import run_unit
from dpbench.cells.work_unit import BlockResult, Unit
from dpbench.contracts.kinds import KINDS
from dpbench.records.cell_record import CellRecord
from dpbench.records.metric_info import MetricInfo
from dpbench.records.names import REPORT_FOLDER
from dpbench.records.preset import Preset
from dpbench.records.sweep_record import SweepRecord
from dpbench.registry.lookup import registry
from dpbench.report.note import note
from dpbench.report.report_files import write_report
from dpbench.report.summary import SweepSummary
from dpbench.sweeps.engines import Engine, WorkerDied, engine_named, run
from dpbench.sweeps.plan import SweepPlan
from dpbench.tracking.run_writer import Ending, Writer
from dpbench.tracking.store import Store, open_store
from dpbench.tracking.store_uri import masked
from dpbench.tracking.sweep_files import write_sweep_files
from dpbench.tracking.ui_view import links, save_view

OK, FAILED = 0, 1


@dataclass(frozen=True)
class Tracking:
    """Where records go."""

    uri: str | None
    experiment: str

    def __post_init__(self) -> None:
        if self.uri is not None and not isinstance(self.uri, str):
            raise Refused(f"The tracking store must be a URI such as sqlite:///mlflow.db, or null. Got {self.uri!r} instead.")
        if not isinstance(self.experiment, str) or not self.experiment.strip():
            raise Refused(f"The key 'tracking.experiment' must be a text that is not empty. Got {self.experiment!r} instead.")


@dataclass(frozen=True)
class Outcome:
    """What came of a plan: the record of every cell, in the order of the command."""

    summary: SweepSummary
    store: str = ""
    """The store's address, as it may be printed."""

    @property
    def cells(self) -> tuple[CellRecord, ...]:
        return self.summary.cells

    @property
    def exit_code(self) -> int:
        return FAILED if any(cell.state == "failed" for cell in self.cells) else OK


def execute(
    plan: SweepPlan, config: Mapping[str, Any], *, sweep: bool, command: Sequence[str], overrides: Sequence[str]
) -> Outcome:
    """Run what is not recorded yet, record it, and answer with every cell of the plan.

    A sweep has a parent run with a note, a report, the plan and all records; a single cell stands alone. The engine is chosen
    and the store is opened before anything runs, so that a wrong request writes nothing.
    """
    tracking = Tracking(config["tracking"]["uri"], config["tracking"]["experiment"])
    engine, rerun, preset = config["engine"], config["rerun"], Preset.of(config["preset"])
    engine_named(str(engine["name"]), engine["workers"], 0.0)
    if not isinstance(rerun, bool):
        raise Refused(f"The key 'rerun' must be true or false. Got {rerun!r} instead.")
    with open_store(tracking.uri, tracking.experiment) as store, Writer(store) as writer:
        found = {} if rerun else writer.finished([planned.cell.key for planned in plan.to_run])
        plan = plan.resumed(found)
        chosen = engine_named(str(engine["name"]), engine["workers"], plan.seconds)
        text = shlex.join(["python", "-m", "dpbench", *map(_without_password, command)])
        key = plan.key if preset is None else digest([plan.key, preset.name])
        request = tuple(map(_without_password, overrides))
        record = SweepRecord((), text, request, preset, bool(config["quick"]), _option_help(plan), _metric_info(plan))
        known = sweep and not plan.to_run and writer.repeated(key)
        with _whole(store):
            running = f"`{text}`\n\nStill running."
            parent = writer.open_sweep(key, _title(plan, preset), record, running) if sweep and not known else None
        records: dict[str, CellRecord] = {}

        def keep(finished: CellRecord) -> None:
            with _whole(store):
                records[finished.key] = replace(finished, run_id=writer.write(finished, parent))

        try:
            run_cells(plan, chosen, keep)
        except KeyboardInterrupt:
            print(f"{len(records)} of {len(plan.to_run)} cells are recorded; the same command goes on.", file=sys.stderr)
            if parent:
                writer.close_sweep(parent, "KILLED", f"`{text}`\n\nInterrupted: {len(records)} cells were recorded.")
            raise
        summary = SweepSummary(replace(record, cells=tuple(records_of(plan, records, found)), run_id=parent or ""))
        with _whole(store):
            view = save_view(store)
            if parent:
                pages = links(store.experiment_id, parent, view)
                _close(writer, summary, pages)
        return Outcome(summary, store.shown)


@contextmanager
def _whole(store: Store) -> Iterator[None]:
    """A write is made whole before an interruption ends the sweep: cut in the middle it would leave the store locked.

    A store that is lost ends the sweep with a sentence; what was recorded stays, and is not run again.
    """
    from mlflow.exceptions import MlflowException

    pressed: list[object] = []
    in_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(_)) if in_main else None
    try:
        yield
    except MlflowException as error:
        reason = str(error).partition("\n")[0]
        raise Unfinished(f"The tracking store {store.shown!r} could not be written any more: {reason}") from error
    finally:
        if in_main:
            signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def run_cells(plan: SweepPlan, engine: Engine, keep: Callable[[CellRecord], None]) -> None:
    """Run the plan's units and hand over each cell's record when its last block is in."""
    planned = {cell.cell.key: cell for cell in plan.to_run}
    parts: dict[str, list[BlockResult]] = {key: [] for key in planned}
    with _Progress(len(planned)) as progress:
        for part in _parts(engine, plan.units()):
            parts[part.key].append(part)
            one = planned[part.key]
            if sum(len(done.repeats) for done in parts[part.key]) == one.cell.splits.repeats:
                keep(record_of(one.cell, parts.pop(part.key), one.params, one.provenance, one.primary))
                progress.advance()


def run_unrecorded(plan: SweepPlan, config: Mapping[str, Any]) -> tuple[CellRecord, ...]:
    """Run every cell of the plan and return the records, writing nothing."""
    records: dict[str, CellRecord] = {}
    engine = engine_named(config["engine"]["name"], config["engine"]["workers"], plan.seconds)
    run_cells(plan, engine, lambda record: records.__setitem__(record.key, record))
    return tuple(records_of(plan, records, {}))


def _parts(engine: Engine, units: Sequence[Unit]) -> Iterator[BlockResult]:
    """The parts of all units; where one died, its cells are tried one by one, so that only the guilty one is given up."""
    again: list[Unit] = []
    for unit, result in run(engine, run_unit, units):
        if not isinstance(result, WorkerDied):
            yield from result
        elif len(unit.cells) > 1:
            again += [Unit((cell,), unit.repeats) for cell in unit.cells]
        else:
            yield BlockResult(unit.cells[0].key, unit.repeats, error=result.reason)
    if again:
        yield from _parts(engine, again)


def records_of(plan: SweepPlan, finished: Mapping[str, CellRecord], recorded: Mapping[str, CellRecord]) -> list[CellRecord]:
    """Return the record of every cell of the plan that has come to an end, those that were recorded before included."""
    records = []
    for planned in plan.cells:
        if planned.state == "pruned":
            records.append(CellRecord("pruned", planned.params, reason=planned.reason))
        elif planned.state == "resumed":
            records.append(replace(recorded[planned.cell.key], params=planned.params, primary=planned.primary))
        elif planned.cell.key in finished:
            records.append(finished[planned.cell.key])
    return records


def _option_help(plan: SweepPlan) -> dict[str, str]:
    """Return the help of every option that the sweep varied, where the components that have it agree."""
    texts: dict[str, set[str]] = {}
    for planned in plan.cells:
        for key in planned.params:
            kind, dot, name = key.partition(".")
            if dot and kind in KINDS:
                options = options_of(registry().get(kind, planned.params[kind]))
                texts.setdefault(key, set()).update(option.help for option in options if option.name == name)
    return {key: helps.pop() for key, helps in texts.items() if len(helps) == 1}


def _metric_info(plan: SweepPlan) -> dict[str, MetricInfo]:
    """Return what is to be known of every metric of the sweep's models and attacks."""
    models = dict.fromkeys(planned.params["model"] for planned in plan.cells)
    attacks = dict.fromkeys(planned.params["attack"] for planned in plan.cells)
    infos = [metric.info for name in models for metric in registry().metrics_of(registry().get("model", name))]
    infos += [info.in_group("attack") for name in attacks for info in registry().get("attack", name).metrics]
    return {info.name: info for info in infos}


def _without_password(argument: str) -> str:
    """The command is part of the record, a store's password is not."""
    key, equals, uri = argument.partition("=")
    return f"{key}={masked(uri)}" if equals and key == "tracking.uri" else argument


def _title(plan: SweepPlan, preset: Preset | None) -> str:
    cells = plan.cells
    counted = f"{len(cells)} cell{'s' * (len(cells) != 1)}"
    if preset is not None:
        return f"{preset.name}, {counted}"
    axes = [sorted({planned.params[kind] for planned in cells}) for kind in ("mechanism", "model", "dataset")]
    return " x ".join("+".join(names) if len(names) <= 4 else f"{len(names)} of them" for names in axes) + f", {counted}"


def _close(writer: Writer, summary: SweepSummary, pages: str) -> None:
    """The parent's note and artifacts: the report, the plan, all records."""
    cells = summary.cells
    with tempfile.TemporaryDirectory(prefix="dpbench-") as name:
        folder = Path(name)
        figure = write_report(summary, folder / REPORT_FOLDER)
        write_sweep_files(summary.sweep, folder)
        ended: Ending = "FAILED" if any(cell.state == "failed" for cell in cells) else "FINISHED"
        writer.close_sweep(summary.sweep.run_id, ended, f"{pages}\n\n{note(summary, figure)}", folder, summary.metrics)


class _Progress:
    """A line on the terminal that says how many cells are done."""

    def __init__(self, cells: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("cells"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=Console(file=sys.stderr), disable=not cells)
        self._task = self._progress.add_task("cells", total=cells)

    def __enter__(self) -> _Progress:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def advance(self) -> None:
        self._progress.advance(self._task)
