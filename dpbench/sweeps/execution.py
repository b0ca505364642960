"""Run a plan: units to the engine, parts to records, records to the one writer."""

from __future__ import annotations

import csv
import json
import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpbench.base.errors import Refused, Unfinished
from dpbench.cells.cell import digest
from dpbench.cells.summaries import record_of
from dpbench.cells.work_unit import Part, Unit, run_unit
from dpbench.records.cell_record import CellRecord, State
from dpbench.records.finished_cell import FinishedCell
from dpbench.records.preset import Preset
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.note import note
from dpbench.report.release_price import recorded
from dpbench.report.write_report import write_report
from dpbench.sweeps.engines import Engine, WorkerDied, engine_named, run
from dpbench.sweeps.plan import PlannedCell, SweepPlan
from dpbench.tracking.run_writer import Ending, Recorded, Writer
from dpbench.tracking.store import Store, open_store
from dpbench.tracking.store_uri import masked
from dpbench.tracking.sweep_reader import PRESET, RECORDS
from dpbench.tracking.ui_view import links, save_view

OK, FAILED = 0, 1
STORED = ("dpbench.kind", "dpbench.key", "dpbench.status", "dpbench.error")


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
    """What came of a plan: a row a cell, in the order of the command."""

    rows: tuple[CellRecord, ...]
    store: str = ""
    """The store's address, as it may be printed."""
    records: tuple[FinishedCell, ...] = ()

    @property
    def exit_code(self) -> int:
        return FAILED if any(row.state == "failed" for row in self.rows) else OK


def execute(plan: SweepPlan, config: Mapping[str, Any], *, sweep: bool, command: Sequence[str]) -> Outcome:
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
        found = {} if rerun else writer.finished([planned.cell.key for planned in plan.to_run if planned.cell])
        plan = plan.resumed(found)
        chosen = engine_named(str(engine["name"]), engine["workers"], plan.seconds)
        text = shlex.join(["python", "-m", "dpbench", *map(_without_password, command)])
        key = plan.key if preset is None else digest([plan.key, preset.name])
        tags = {"dpbench.command": text, "dpbench.quick": str(config["quick"]).lower()}
        tags |= {"dpbench.preset": preset.name} if preset is not None else {}
        known = sweep and not plan.to_run and writer.repeated(key)
        with _whole(store):
            running = f"`{text}`\n\nStill running."
            parent = writer.open_sweep(key, _title(plan, preset), tags, running) if sweep and not known else None
        records: dict[str, FinishedCell] = {}
        run_ids: dict[str, str] = {}

        def keep(record: FinishedCell) -> None:
            with _whole(store):
                run_ids[record.key] = writer.write(record, parent)
            records[record.key] = record

        try:
            run_cells(plan, chosen, keep)
        except KeyboardInterrupt:
            print(f"{len(records)} of {len(plan.to_run)} cells are recorded; the same command goes on.", file=sys.stderr)
            if parent:
                writer.close_sweep(parent, "KILLED", f"`{text}`\n\nInterrupted: {len(records)} cells were recorded.")
            raise
        rows = rows_of(plan, records, found, run_ids)
        with _whole(store):
            view = save_view(store)
            if parent:
                pages = links(store.experiment_id, parent, view, "report/report.html")
                _close(writer, SweepRecord(tuple(rows), text, preset, bool(config["quick"]), parent), pages)
        return Outcome(tuple(rows), store.shown, tuple(records.values()))


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


def run_cells(plan: SweepPlan, engine: Engine, keep: Callable[[FinishedCell], None]) -> None:
    """Run the plan's units and hand over each cell's record when its last block is in."""
    planned = {one.cell.key: one for one in plan.to_run if one.cell}
    parts: dict[str, list[Part]] = {key: [] for key in planned}
    with _Progress(len(planned)) as progress:
        for part in _parts(engine, plan.units()):
            parts[part.key].append(part)
            one = planned[part.key]
            assert one.cell is not None
            if sum(len(done.repeats) for done in parts[part.key]) == one.cell.splits.repeats:
                keep(record_of(one.cell, parts.pop(part.key), one.params, one.tags or {}, one.primary))
                progress.advance()


def _parts(engine: Engine, units: Sequence[Unit]) -> Iterator[Part]:
    """The parts of all units; where one died, its cells are tried one by one, so that only the guilty one is given up."""
    again: list[Unit] = []
    for unit, result in run(engine, run_unit, units):
        if not isinstance(result, WorkerDied):
            yield from result
        elif len(unit.cells) > 1:
            again += [Unit((cell,), unit.repeats) for cell in unit.cells]
        else:
            yield Part(unit.cells[0].key, unit.repeats, error=result.reason)
    if again:
        yield from _parts(engine, again)


def rows_of(
    plan: SweepPlan, records: Mapping[str, FinishedCell], found: Mapping[str, Recorded], run_ids: Mapping[str, str]
) -> list[CellRecord]:
    """A row for every cell of the plan."""
    rows = []
    for planned in plan.cells:
        if planned.cell is None:
            rows.append(CellRecord("pruned", planned.params, reason=planned.reason))
        elif planned.state == "resumed":
            old = found[planned.cell.key]
            rows.append(_resumed(planned, old))
        elif planned.cell.key in records:
            rows.append(_row(planned, records[planned.cell.key], run_ids.get(planned.cell.key, "")))
    return rows


def _resumed(planned: PlannedCell, old: Recorded) -> CellRecord:
    """The same names as a fresh cell's: not what the store adds, nor the last value of a history."""
    tags = {name: text for name, text in old.tags.items() if name.startswith("dpbench.") and name not in STORED}
    metrics = {name: value for name, value in old.metrics.items() if name != f"utility/{planned.primary}"}
    return CellRecord("resumed", planned.params, tags, metrics, planned.primary, run_id=old.run_id, detail=old.detail)


def _row(planned: PlannedCell, record: FinishedCell, run_id: str) -> CellRecord:
    state: State = "run" if record.status == "ok" else "failed"
    return CellRecord(state, planned.params, record.tags, record.metrics, planned.primary, record.error, run_id, record)


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


def _close(writer: Writer, sweep: SweepRecord, pages: str) -> None:
    """The parent's note and artifacts: the report, the plan, all records."""
    import pandas

    rows = sweep.rows
    with tempfile.TemporaryDirectory(prefix="dpbench-") as name:
        folder = Path(name)
        figure = write_report(sweep, folder / "report")
        pandas.DataFrame([row.as_record() for row in rows]).to_parquet(folder / RECORDS, index=False)
        if sweep.preset is not None:
            (folder / PRESET).write_text(json.dumps(sweep.preset.as_config(), indent=1, ensure_ascii=False), encoding="utf-8")
        with (folder / "plan.csv").open("w", newline="", encoding="utf-8") as file:
            names = list(dict.fromkeys(key for row in rows for key in row.params))
            out = csv.writer(file)
            out.writerow(["state", "why", *names])
            out.writerows([row.state, row.reason, *(row.params.get(key, "") for key in names)] for row in rows)
        ended: Ending = "FAILED" if any(row.state == "failed" for row in rows) else "FINISHED"
        writer.close_sweep(sweep.run_id, ended, f"{pages}\n\n{note(sweep, figure)}", folder, recorded(rows))


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
