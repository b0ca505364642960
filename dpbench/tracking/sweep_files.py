"""Write the files of a sweep, find sweeps in the store, and read them back from the store alone."""

import json
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.base.cell_texts import csv_text
from dpbench.base.errors import Refused
from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.records.cell_tags import guarantee_of
from dpbench.records.names import (
    COMPARISONS_FILE,
    KIND,
    PLAN_FILE,
    PRESET,
    RECORDS_FILE,
    REPEATED,
    REPORT_FILE,
    REPORT_FOLDER,
    REQUEST_FILE,
    declared,
)
from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking.artifact_folders import local_folder
from dpbench.tracking.cell_files import StoredDetail, read_json
from dpbench.tracking.cell_index import cell_index
from dpbench.tracking.store import Store, artifact_path

if TYPE_CHECKING:
    from mlflow.entities import Run

MIN_RUN_ID_LENGTH = 6
"""Minimum length of a run-id prefix that names a sweep."""
NEWEST = ("latest", "previous")
"""Names of the newest sweep and of the one before."""
MAX_LISTED_SWEEPS = 10
"""How many sweeps a refusal lists."""


def write_sweep_files(sweep: SweepRecord, folder: Path) -> None:
    """Write ``plan.csv``, ``records.parquet`` and ``sweep.json``."""
    import pandas

    plan = [{"state": cell.state, "why": cell.reason, **cell.params} for cell in sweep.cells]
    keys = list(dict.fromkeys(key for row in plan for key in row))
    (folder / PLAN_FILE).write_text(csv_text([keys, *([row.get(key) for key in keys] for row in plan)]), encoding="utf-8")
    pandas.DataFrame([cell.as_columns() for cell in sweep.cells]).to_parquet(folder / RECORDS_FILE, index=False)
    (folder / REQUEST_FILE).write_text(json.dumps(sweep.request(), indent=1, ensure_ascii=False), encoding="utf-8")


def report_files(store: Store, run_id: str) -> list[Path]:
    """Return where a sweep's report lies on this machine, and its figures in their order; nothing if it lies elsewhere."""
    home = local_folder(store.uri, store.client.get_run(run_id).info.artifact_uri)
    folder = home / REPORT_FOLDER if home else None
    if folder is None or not (folder / REPORT_FILE).is_file():
        return []
    order = [declaration.text for declaration in declared("figures")]
    known = {path.stem: path for path in sorted(folder.glob("*.png"))}
    first = [known.pop(name) for name in order if name in known]
    return [folder / REPORT_FILE, *first, *known.values()]


def read_comparisons(store: Store, run: "Run") -> dict[str, Any]:
    """Return the comparisons that a sweep kept, or nothing if it has none."""
    path = artifact_path(store.uri, run.info.artifact_uri, COMPARISONS_FILE)
    return read_json(path) if path else {}


def read_sweep(store: Store, name: str | None = None) -> SweepRecord:
    """Return a finished sweep: the newest one with this preset or this run id (a prefix is enough), or the newest of all.

    ``latest`` is the newest as well, and ``previous`` the one before it.
    """
    if name in NEWEST:
        readable = (sweep for run in _finished(store) if (sweep := _read(store, run)) is not None)
        found = list(islice(readable, NEWEST.index(name) + 1))
        if len(found) > NEWEST.index(name):
            return found[-1]
        only = f"only one finished sweep, {found[0].run_id}" if found else "no finished sweep"
        raise Refused(f"In the experiment {store.experiment!r} of {store.shown} there is {only}. A sweep is run with -m.")
    names = []
    for run in _finished(store):
        preset = run.data.tags.get(PRESET)
        names.append(preset or run.info.run_id)
        is_prefix = name is not None and len(name) >= MIN_RUN_ID_LENGTH and run.info.run_id.startswith(name)
        if (name in (None, preset) or is_prefix) and (sweep := _read(store, run)) is not None:
            return sweep
    known = list(dict.fromkeys(names))
    missing = f"no finished sweep {name!r}" if name else "no finished sweep"
    too_short = name is not None and len(name) < MIN_RUN_ID_LENGTH
    hint = f" A run id needs at least its first {MIN_RUN_ID_LENGTH} characters." if too_short else ""
    more = f" and {len(known) - MAX_LISTED_SWEEPS} more" if len(known) > MAX_LISTED_SWEEPS else ""
    listed = f" Known: {', '.join(known[:MAX_LISTED_SWEEPS])}{more}." if known else ""
    raise Refused(f"In the experiment {store.experiment!r} of {store.shown} there is {missing}.{hint}{listed}")


def preset_sweeps(store: Store) -> dict[str, SweepRecord]:
    """Return the best finished sweep of every preset: unchanged before changed, whole before quick, then the newest."""
    best: dict[str, SweepRecord] = {}
    for run in _finished(store):
        name = run.data.tags.get(PRESET)
        sweep = _read(store, run) if name and (name not in best or _distance(best[name])) else None
        if name and sweep is not None and (name not in best or _distance(sweep) < _distance(best[name])):
            best[name] = sweep
    return best


def _distance(sweep: SweepRecord) -> int:
    """Return how far a sweep is from its preset: 0 if it is the same, more if it is quick, and most if its grid was changed."""
    return 2 * bool(sweep.changed) + sweep.quick


def sweeps(store: Store) -> list["Run"]:
    """Return the runs of all sweeps, whatever their status, the last requested first."""
    runs = store.search(f"tags.`{KIND}` = 'sweep'")
    return sorted(runs, key=lambda run: -int(run.data.tags.get(REPEATED, run.info.start_time)))


def _finished(store: Store) -> Iterator["Run"]:
    """Return the runs of sweeps that came to their end, with or without failed cells."""
    return (run for run in sweeps(store) if run.info.status in ("FINISHED", "FAILED"))


def _read(store: Store, run: "Run") -> SweepRecord | None:
    """Return the sweep of a parent run, or None if its files are missing."""
    run_id, home = run.info.run_id, run.info.artifact_uri
    request = artifact_path(store.uri, home, REQUEST_FILE)
    cells = _cells(store, run)
    if cells is None or request is None:
        return None
    audited = cell_index(store).audit_tags([cell.run_id for cell in cells if cell.run_id])
    cells = [cell.with_audit_tags(audited[cell.run_id]) if cell.run_id in audited else cell for cell in cells]
    return SweepRecord.from_request(json.loads(request.read_text(encoding="utf-8")), tuple(cells), run_id)


def says_the_same(store: Store, run: "Run", recorded: Collection[CellRecord]) -> bool:
    """Return whether a sweep's report, which is as old as the sweep, has these records with these guarantees."""
    reported = {cell.run_id: guarantee_of(cell.tags) for cell in _cells(store, run) or () if cell.run_id}
    return reported == {cell.run_id: guarantee_of(cell.tags) for cell in recorded}


def _cells(store: Store, run: "Run") -> list[CellRecord] | None:
    """Return the cells of a sweep as they were when it ended, or None if their file is missing."""
    import pyarrow.parquet

    home = run.info.artifact_uri
    records = artifact_path(store.uri, home, RECORDS_FILE)
    if not records:
        return None
    cells = []
    for row in pyarrow.parquet.read_table(records).to_pylist():
        cell_id = row.get("run_id")  # a pruned cell has none
        # all runs of an experiment have their artifacts below one address, each below its own id
        detail = StoredDetail(store.uri, home.replace(run.info.run_id, cell_id)) if cell_id else DetailInMemory()
        cells.append(CellRecord.from_columns(row, detail))
    return cells
