"""Run a plan: units to the engine, results to records, records to the store's one writer."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dpbench.base.errors import Omissions, Refused
from dpbench.records.cell_record import CellRecord
from dpbench.report.statistics.kept_comparisons import KeptComparisons
from dpbench.report.summary import SweepSummary
from dpbench.sweeps.audit_file import audit_file
from dpbench.sweeps.auditing import Audits
from dpbench.sweeps.description import describe_sweep, sweep_key, sweep_title
from dpbench.sweeps.engines.choice import engine_from
from dpbench.sweeps.engines.loop import Engine
from dpbench.sweeps.finishing import finish_sweep
from dpbench.sweeps.folder_delivery import request_of
from dpbench.sweeps.forecast import predicted_seconds
from dpbench.sweeps.plan import SweepPlan
from dpbench.sweeps.recording import Recording, unhindered
from dpbench.sweeps.release_command import release_command
from dpbench.sweeps.resuming import refutations, resume
from dpbench.sweeps.running import SweepStopped, run_cells
from dpbench.tracking.claims import claims_on
from dpbench.tracking.leases import close_abandoned
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import open_store
from dpbench.tracking.store_uri import resolved
from dpbench.tracking.sweep_files import read_comparisons, report_files
from dpbench.tracking.ui_view import save_view


@dataclass(frozen=True)
class Outcome:
    """The records of all cells of a plan, in the order of the command, and where they are stored."""

    summary: SweepSummary
    store: str = ""
    """The store's address, as it may be printed."""
    problem: str = ""
    """Why the end of the sweep could not be recorded: a sentence."""
    omissions: Omissions = field(default_factory=Omissions)
    """What its report and its printed answer lack. The exit code does not depend on it."""
    files: Sequence[Path] = ()
    """The report's page and its figures; empty if they are not on this machine."""

    @property
    def cells(self) -> tuple[CellRecord, ...]:
        return self.summary.cells

    @property
    def sentences(self) -> list[str]:
        """Return what could not be made, in sentences."""
        return [*([self.problem] if self.problem else []), *self.omissions.sentences]

    @property
    def exit_code(self) -> int:
        return int(bool(self.problem) or any(cell.state == "failed" or cell.refuted for cell in self.cells))


def execute(
    plan: SweepPlan,
    config: Mapping[str, Any],
    *,
    sweep: bool,
    command: Sequence[str],
    overrides: Sequence[str],
    engine: Engine | None = None,
) -> Outcome:
    """Run the cells that are not recorded yet, record them, and return the records of all cells of the plan.

    A sweep has a parent run with a note, a report, the plan and all records; a single cell stands alone. The engine is chosen
    and the store is opened before anything runs, so that a wrong request writes nothing.
    """
    tracking = config["tracking"]
    check_settings(config)
    request = request_of(plan, config, sweep=sweep, command=command, overrides=overrides)
    with open_store(tracking["uri"], tracking["experiment"]) as store, Writer(store) as writer:
        with unhindered(store), closing(claims_on(store, None)) as claims:
            close_abandoned(store)
            Recording(store, writer, claims, None).deliver_kept()
        recorded: Mapping[str, CellRecord] = {}
        refuted: Mapping[str, str] = {}
        if config["rerun"]:
            refuted = refutations(plan, store)
        else:
            plan, recorded = resume(plan, writer)
        audits = Audits(plan, recorded, audit_file(store.uri), refuted)
        if engine is None:
            engine = engine_from(config["engine"], predicted_seconds(plan, audits.units))
            engine.keep_request(*request)
        record = describe_sweep(plan, config, command, overrides)
        key_of_sweep = sweep_key(plan, record.preset)
        text = f"`{record.command}`\n\n"
        changed = bool(plan.to_run or audits.change(recorded.values()))
        earlier = writer.repeated(key_of_sweep, recorded.values()) if sweep and not changed else None
        parent = None
        if sweep and earlier is None:
            with unhindered(store):
                parent = writer.open_sweep(key_of_sweep, sweep_title(plan, record.preset), record, f"{text}Still running.")
        with closing(claims_on(store, parent)) as claims:
            recording = Recording(store, writer, claims, parent)
            try:
                elsewhere = recording.run(plan, engine, audits, again=config["rerun"], fail_fast=config["fail_fast"])
            except (KeyboardInterrupt, SweepStopped) as end:
                again = "The same command without rerun=true" if config["rerun"] else "The same command"
                count = f"{len(recording.finished)} of {len(plan.to_run)} cells"
                why = f"{end} {count} are finished." if isinstance(end, SweepStopped) else f"Interrupted: {count} were finished."
                if parent:
                    with unhindered(store):
                        writer.close_sweep(parent, "KILLED", f"{text}{why}")
                kept = f"{recording.whereabouts} {again} runs the others only."
                if isinstance(end, SweepStopped):
                    raise SweepStopped(f"{why} {kept}") from None
                print(f"{count} are finished. {kept}", file=sys.stderr)
                raise
            recording.close()
        plan, recorded = plan.resumed(elsewhere), {**recorded, **elsewhere}
        with unhindered(store):
            recorded = {key: writer.vouch(cell, audits.new_tags(cell)) for key, cell in recorded.items()}
            if parent:
                writer.remove_strays(parent)
                writer.gather(parent, key_of_sweep, recorded.values())
        cells = tuple(records_of(plan, recording.finished, recorded))
        known = KeptComparisons(read_comparisons(store, earlier)) if earlier is not None else None
        run_id = parent or (earlier.info.run_id if earlier is not None else "")
        summary = SweepSummary(replace(record, cells=cells, run_id=run_id), known, release_command)
        problem, omissions, files = "", Omissions(), list[Path]()
        with unhindered(store):
            try:
                if parent:
                    omissions = finish_sweep(writer, store, summary)
                elif recording.finished:
                    save_view(store)
                files = report_files(store, run_id) if run_id else []
            except OSError as error:  # such as a disk that is full
                problem = f"The report could not be written: {error.strerror}. The same command writes it again."
        return Outcome(summary, store.shown, problem, omissions, files)


def recorded_cells(plan: SweepPlan, config: Mapping[str, Any]) -> tuple[CellRecord, ...]:
    """Return the records of the plan's cells that the store has, and those of pruned cells, running nothing."""
    with open_store(config["tracking"]["uri"], config["tracking"]["experiment"], create=False) as store, Writer(store) as writer:
        plan, recorded = resume(plan, writer)
        return tuple(records_of(plan, {}, recorded))


def run_unrecorded(plan: SweepPlan, config: Mapping[str, Any]) -> tuple[CellRecord, ...]:
    """Run every cell of the plan and return the records, writing nothing."""
    records: dict[str, CellRecord] = {}
    audits = Audits(plan, {})
    engine = engine_from(config["engine"], predicted_seconds(plan, audits.units))
    run_cells(plan, engine, lambda record: records.__setitem__(record.key, record), audits, fail_fast=config["fail_fast"])
    return tuple(records_of(plan, records, {}))


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
    if not isinstance(config["fail_fast"], bool):
        raise Refused(f"The key 'fail_fast' must be true or false. Got {config['fail_fast']!r} instead.")
    engine_from(config["engine"])
