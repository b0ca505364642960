"""Save what MLflow's UI shows first: the cells in one flat table, with the columns and charts that answer the question.

MLflow stores shared views in tags of the experiment, in an undocumented format. So a view is optional: if it cannot be
written, the links fall back to a flat table with MLflow's own columns.
"""

import base64
import json
import logging
import time
import zlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from dpbench.base.yaml_text import parse_yaml
from dpbench.records import names
from dpbench.records.cell_record import CellRecord, distinguishing_params
from dpbench.records.names import EPSILON_ACCOUNTED, EPSILON_LOG10, KIND, PROBLEM_ERROR, REFERENCES
from dpbench.tracking.patience import StoreLost
from dpbench.tracking.store import Store

if TYPE_CHECKING:
    from mlflow.entities import Run

ALL_CELLS = f"tags.`{KIND}` = 'cell'"
"""The query of all cells of an experiment."""
DEFAULT_SCORE = "utility/rmse"
VIEW_KEY = "dpbench"
MAX_VIEW_CELLS = 300
"""A view takes its columns and charts from this many cells, the newest."""

_VIEW_TAG = f"mlflow.sharedViewState.{VIEW_KEY}"
_STATE_FILE = "shared_view.yaml"
_CHART_SECTION = "dpbench-charts"
_COLUMN_WIDTHS = {"attributes.`Run Name`": 260, "runDateAndNestInfo": 140}
"""The columns that MLflow always shows, the name and the date of a run, and their widths in pixels."""


def save_view(store: Store) -> str | None:
    """Write the view of all cells and return its key, or None if the store refuses it.

    A view that somebody has overridden in the UI is not replaced.
    """
    from mlflow.exceptions import MlflowException

    now = time.time_ns() // 1_000_000
    try:
        if not _is_overridden(store.client.get_experiment(store.experiment_id).tags.get(_VIEW_TAG)):
            state = _state(list(store.search(ALL_CELLS, limit=MAX_VIEW_CELLS)))
            packed = base64.b64encode(zlib.compress(json.dumps(state).encode())).decode()
            envelope = {"name": "dpbench: all cells", "createdAt": now, "updatedAt": now, "state": f"deflate;{packed}"}
            store.client.set_experiment_tag(store.experiment_id, _VIEW_TAG, json.dumps(envelope))
    except (MlflowException, StoreLost) as error:
        logging.getLogger(__name__).debug("the shared view was not written: %s", error)
        return None
    return VIEW_KEY


def _is_overridden(tag: str | None) -> bool:
    try:
        envelope = json.loads(tag or "{}")
        return bool(envelope.get("updatedAt", 0) > envelope.get("createdAt", 0))
    except (ValueError, TypeError, AttributeError):
        return False  # not a view: ours replaces it


def link(host_url: str, experiment_id: str, view_key: str | None = None, sweep_run_id: str | None = None) -> str:
    """Return the address of the runs table: a saved view, or the flat table of a sweep's cells or of all cells."""
    # Without workflowType MLflow opens a page for another purpose. A filter makes it ignore the view, so only one is set.
    query = {"workflowType": "machine_learning"}
    if view_key:
        query["viewStateShareKey"] = view_key
    else:
        cells = f"tags.`{names.PARENT}` = '{sweep_run_id}'" if sweep_run_id else ALL_CELLS
        query |= {"searchFilter": cells, "orderByKey": f"metrics.`{DEFAULT_SCORE}_median`", "orderByAsc": "true"}
    return f"{host_url.rstrip('/')}/#/experiments/{experiment_id}/runs?{urlencode(query, quote_via=quote)}"


def sweep_link(host_url: str, experiment_id: str, sweep_run_id: str) -> str:
    """Return the address of a sweep's own page, which opens with its note."""
    return f"{host_url.rstrip('/')}/#/experiments/{experiment_id}/runs/{sweep_run_id}?workflowType=machine_learning"


def links(experiment_id: str, sweep_run_id: str, view_key: str | None) -> str:
    """Return a line of Markdown for the note of a sweep: links to its report and cells, on the server that shows the note."""
    runs = link("", experiment_id, view_key, None if view_key else sweep_run_id).removeprefix("/")
    report = f"/artifacts/{names.REPORT_FOLDER}/{names.REPORT_FILE}?"
    page = sweep_link("", experiment_id, sweep_run_id).removeprefix("/").replace("?", report)
    return f"**[The report]({page})** · [the cells as a table and as charts]({runs})"


def _state(cells: Sequence["Run"]) -> dict[str, Any]:
    """Return the state of MLflow's page, with columns and charts chosen from what the cells contain."""
    records = [CellRecord("resumed", cell.data.params, cell.data.tags, cell.data.metrics) for cell in cells]
    attacked = any(record.attacked for record in records)
    params = ("mechanism", "model", "dataset", *(["attack"] if attacked else []), *distinguishing_params(records), "epsilon")
    params_of: dict[str, list[Mapping[str, str]]] = {}
    # MLflow's chart would leave out ε, its most useful axis, for the sake of cells that do not depend on it
    for record in [record for record in records if record.epsilon is not None] or records:
        score = f"utility/{record.tags.get(names.PRIMARY)}"
        if f"{score}_median" in record.metrics:
            params_of.setdefault(score, []).append(record.params)
    scores = list(params_of) or [DEFAULT_SCORE]  # that of the newest cell first
    tagged = [(cell.data.tags.get(names.PRIMARY, ""), cell.data.metrics) for cell in cells]
    problems = {name: primary for primary, metrics in tagged for name in metrics if name.startswith(PROBLEM_ERROR)}
    charts = [
        *(_panel(*problem) for problem in problems.items()),
        *(_parallel(f"{score}_median", _varied(params, params_of.get(score, []))) for score in scores),
    ]
    columns = _columns(scores, params, attacked)
    return {
        **parse_yaml(files("dpbench.tracking").joinpath(_STATE_FILE).read_text(encoding="utf-8")),
        "searchFilter": ALL_CELLS,
        "orderByKey": f"metrics.`{scores[0]}_median`",
        "selectedColumns": list(columns),
        "columnOrder": [*_COLUMN_WIDTHS, *columns, "duration"],
        "columnWidths": {**_COLUMN_WIDTHS, **columns},
        "compareRunCharts": charts,
    }


def _columns(scores: Sequence[str], params: Sequence[str], attacked: bool) -> dict[str, int]:
    """Return the columns in their order, and how many pixels wide their names and numbers are."""
    metrics = [*(f"{score}_median" for score in scores), EPSILON_ACCOUNTED]
    metrics += ["attack/advantage_mean", names.ATTACK_CAP] if attacked else []
    references = [f"{prefix}{score.removeprefix('utility/')}_median" for score in scores for prefix in REFERENCES]
    tags = (names.GUARANTEE, names.LEAKS, names.STATUS)
    groups = (("metrics", 160, metrics), ("params", 90, params), ("tags", 90, tags), ("metrics", 160, references))
    return {f"{kind}.`{name}`": max(width, 7 * len(name) + 25) for kind, width, group in groups for name in group}


def _varied(params: Sequence[str], cells: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Return the parameters with several values that all cells have: MLflow leaves out a line that lacks an axis."""
    varied = [name for name in params if len({cell.get(name, "") for cell in cells}) > 1 and all(name in cell for cell in cells)]
    return tuple(varied) if len(varied) > 1 else ("mechanism", "epsilon")


def _panel(problem: str, primary: str) -> dict[str, Any]:
    """Return the chart of one problem: its errors against ε, on a logarithmic axis. Only its cells have this metric."""
    x = {"key": "log10 ε", "dataAccessKey": EPSILON_LOG10, "type": "METRIC"}
    y = {"key": f"{problem.removeprefix(PROBLEM_ERROR)} ({primary})", "dataAccessKey": problem, "type": "METRIC"}
    return _chart("SCATTER", problem, xaxis=x, yaxis=y)


def _parallel(score: str, axes: Sequence[str]) -> dict[str, Any]:
    return _chart("PARALLEL", score, selectedParams=list(axes), selectedMetrics=[score], showAllRuns=False)


def _chart(kind: str, name: str, **options: Any) -> dict[str, Any]:
    common = {"metricSectionId": _CHART_SECTION, "deleted": False, "isGenerated": False, "runsCountToCompare": 100}
    return {"uuid": f"{_CHART_SECTION}-{kind}-{name}", "type": kind, **common, **options}
