"""Find the cells of a sweep that failed, also if the sweep itself did not come to its end."""

from dataclasses import dataclass

from dpbench.base.errors import Refused
from dpbench.records import names
from dpbench.tracking.cell_files import StoredDetail
from dpbench.tracking.store import Store
from dpbench.tracking.sweep_files import MIN_RUN_ID_LENGTH, NEWEST, sweeps


@dataclass(frozen=True)
class FailedCell:
    """A cell that has no results, and why."""

    run_id: str
    name: str
    reason: str
    traceback: str
    """The calls that led to the error, without values; empty if its worker died."""


def failed_cells(store: Store, sweep: str | None = None) -> tuple[str, list[FailedCell]]:
    """Return the run id of a sweep and its failed cells, oldest first.

    A sweep is named by its preset, by the first characters of its run id, or as latest or previous; by default it is the newest.
    """
    run_id = _sweep_named(store, sweep)
    query = f"tags.`{names.PARENT}` = '{run_id}' and tags.`{names.STATUS}` = 'failed'"
    cells = []
    for run in store.search(query):
        detail = StoredDetail(store.uri, run.info.artifact_uri)
        cells.append(FailedCell(run.info.run_id, run.info.run_name, run.data.tags.get(names.ERROR, ""), detail.traceback))
    return run_id, cells[::-1]


def _sweep_named(store: Store, name: str | None) -> str:
    place = NEWEST.index(name) if name in NEWEST else 0
    known = [(run.info.run_id, run.data.tags.get(names.PRESET)) for run in sweeps(store)]
    is_prefix = name is not None and len(name) >= MIN_RUN_ID_LENGTH
    named = [
        run_id for run_id, preset in known if name is None or name in (*NEWEST, preset) or (is_prefix and run_id.startswith(name))
    ]
    if len(named) <= place:
        missing = f"no sweep {name!r}" if name else "no sweep"
        listed = f" Known: {', '.join(preset or run_id for run_id, preset in known[:10])}." if known else ""
        raise Refused(f"In the experiment {store.experiment!r} of {store.shown} there is {missing}.{listed}")
    return str(named[place])
