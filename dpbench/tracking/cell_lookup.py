"""Find one recorded cell by its run id, whatever became of it."""

from typing import TYPE_CHECKING

from dpbench.base.errors import Refused
from dpbench.records import names
from dpbench.records.cell_record import CellRecord
from dpbench.tracking.cell_index import RecordedCell
from dpbench.tracking.store import Store
from dpbench.tracking.stored_cells import read_cells
from dpbench.tracking.sweep_files import MIN_RUN_ID_LENGTH

if TYPE_CHECKING:
    from mlflow.entities import Run

MAX_LISTED_RUNS = 3
"""How many runs with the same prefix a refusal lists."""


def read_cell(store: Store, run_id: str) -> CellRecord:
    """Return the finished cell with this run id; a prefix is enough if no other run begins with it."""
    run = _run_named(store, run_id)
    name = f"The run {run.info.run_id}"
    if run.data.tags.get(names.KIND) != "cell":
        raise Refused(f"{name} is a sweep, not a cell: open it with `python -m dpbench ui` and take the id of one of its cells.")
    if run.info.status != "FINISHED" or run.data.tags.get(names.STATUS) != "ok":
        reason = run.data.tags.get(names.ERROR, f"its status is {run.info.status}").rstrip(".")
        raise Refused(f"{name} has no results, because its cell did not finish: {reason}.")
    cell = RecordedCell(run.data.tags[names.KEY], run.info.run_id, run.info.artifact_uri, run.data.tags)
    ((_, record),) = read_cells([cell], store)
    if record is None:
        raise Refused(f"{name} has lost its files: they are not where they were recorded.")
    return record


def _run_named(store: Store, run_id: str) -> "Run":
    if len(run_id) < MIN_RUN_ID_LENGTH or not set(run_id) <= set("0123456789abcdef"):
        raise Refused(f"A run's name is the first {MIN_RUN_ID_LENGTH} or more characters (0-9, a-f) of its id. Got {run_id!r}.")
    runs = list(store.search(f"attributes.run_id LIKE '{run_id}%'", limit=MAX_LISTED_RUNS))
    if len(runs) > 1:
        listed = ", ".join(run.info.run_id for run in runs)
        raise Refused(f"Several runs begin with {run_id!r}, such as {listed}: write more characters of the id.")
    if not runs:
        raise Refused(f"In the experiment {store.experiment!r} of {store.shown} there is no run {run_id!r}.")
    return runs[0]
