"""What MLflow's UI shows first: the cells in one flat table, with the columns and charts that answer the question.

MLflow keeps shared views in tags of the experiment, in a format it does not document. So a view is a bonus: where it
cannot be written, the links fall back to a flat table with MLflow's own columns.
"""

from __future__ import annotations

import base64
import colorsys
import json
import logging
import time
import zlib
from typing import Any
from urllib.parse import quote, urlencode

from dpbench.tracking.store import Store

SCORE = "utility/rmse_median"
SPENT = "privacy/epsilon_accounted"
FLAT = "tags.`dpbench.kind` = 'cell'"
VIEW = "dpbench"

_TAG = "mlflow.sharedViewState."
_ORDER = f"metrics.`{SCORE}`"

_COLUMNS = {
    "params.`mechanism`": 110,
    "params.`model`": 80,
    "params.`dataset`": 80,
    "params.`epsilon`": 80,
    f"metrics.`{SCORE}`": 160,
    f"metrics.`{SPENT}`": 185,
    **{f"metrics.`reference/{other}/rmse_median`": 150 for other in ("no_privacy", "mean_predictor")},
    **{f"tags.`dpbench.{name}`": 120 for name in ("sound", "leaks", "status")},
}
"""The columns shown, in this order, and how many pixels wide their names and numbers are."""

_FIXED = {"attributes.`Run Name`": 230, "runDateAndNestInfo": 140}
"""The columns MLflow always shows: the name of a run and when it was made."""

_CHARTS = "dpbench-charts"
_FOLDED = (
    *("utility", "reference/no_privacy", "reference/mean_predictor", "privacy", "health", "time", "attack"),
    *("Model metrics", "System metrics"),
)
"""The sections MLflow fills by itself with a chart a metric: kept, but folded below ours."""


_SPREAD = 11_778
"""Where the hash behind the colours starts: here common names fall far from each other on the colour circle."""


def save_view(store: Store) -> str | None:
    """Write the view of all cells and return its key; None where the store would not take it.

    One that somebody has overridden in the UI is theirs, and stays.
    """
    from mlflow.exceptions import MlflowException

    now = time.time_ns() // 1_000_000
    envelope = {"name": "dpbench: all cells", "createdAt": now, "updatedAt": now, "state": _packed(_state())}
    try:
        if not _overridden(store.client.get_experiment(store.experiment_id).tags.get(_TAG + VIEW)):
            store.client.set_experiment_tag(store.experiment_id, _TAG + VIEW, json.dumps(envelope))
    except MlflowException as error:
        logging.getLogger(__name__).debug("the shared view was not written: %s", error)
        return None
    return VIEW


def _overridden(tag: str | None) -> bool:
    try:
        envelope = json.loads(tag or "{}")
        return bool(envelope.get("updatedAt", 0) > envelope.get("createdAt", 0))
    except (ValueError, TypeError, AttributeError):
        return False  # not a view at all: ours replaces it


def link(host_url: str, experiment_id: str, view_key: str | None = None, sweep_run_id: str | None = None) -> str:
    """The address of the runs table: a saved view, or the flat table of a sweep's cells or of all of them.

    Without ``workflowType`` MLflow opens the page of another purpose.
    """
    # A link with a filter of its own makes MLflow ignore the view it names: it is either or.
    query = {"workflowType": "machine_learning"}
    if view_key:
        query["viewStateShareKey"] = view_key
    else:
        query |= {"searchFilter": _filter(sweep_run_id), "orderByKey": _ORDER, "orderByAsc": "true"}
    return f"{host_url.rstrip('/')}/#/experiments/{experiment_id}/runs?{urlencode(query, quote_via=quote)}"


def sweep_link(host_url: str, experiment_id: str, sweep_run_id: str) -> str:
    """The address of a sweep's own page, which opens with its note."""
    return f"{host_url.rstrip('/')}/#/experiments/{experiment_id}/runs/{sweep_run_id}?workflowType=machine_learning"


def colour(mechanism: str) -> str:
    """The colour of a mechanism's runs in every chart: MLflow would give each run one of its own."""
    hue = zlib.crc32(mechanism.encode(), _SPREAD) % 360 / 360
    red, green, blue = (round(255 * part) for part in colorsys.hls_to_rgb(hue, 0.45, 0.65))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _filter(sweep: str | None) -> str:
    return f"tags.`mlflow.parentRunId` = '{sweep}'" if sweep else FLAT


def _state() -> dict[str, Any]:
    sections = [_section(_CHARTS, "dpbench", True), *(_section(f"dpbench-{name}", name, False) for name in _FOLDED)]
    return {
        "searchFilter": FLAT,
        "orderByKey": _ORDER,
        "orderByAsc": True,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": list(_COLUMNS),
        "columnOrder": [*_FIXED, *_COLUMNS, "duration"],
        "columnWidths": {**_FIXED, **_COLUMNS},
        "runsHiddenMode": "SHOW_ALL",
        "compareRunCharts": _charts(),
        "compareRunSections": sections,
        "isAccordionReordered": True,
        "viewMaximized": False,
        "runListHidden": False,
        "groupBy": None,
        "groupsExpanded": {},
        "useGroupedValuesInCharts": True,
        "hideEmptyCharts": True,
        "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
    }


def _charts() -> list[dict[str, Any]]:
    scatter = {
        "type": "SCATTER",
        "xaxis": {"key": SPENT, "type": "METRIC"},
        "yaxis": {"key": SCORE, "type": "METRIC"},
        "runsCountToCompare": 100,
    }
    parallel = {
        "type": "PARALLEL",
        "selectedParams": ["mechanism", "epsilon"],
        "selectedMetrics": [SCORE],
        "showAllRuns": False,
    }
    bar = {"type": "BAR", "metricKey": SCORE}
    own = {"metricSectionId": _CHARTS, "deleted": False, "isGenerated": False, "runsCountToCompare": 100}
    return [{"uuid": f"{_CHARTS}-{chart['type']}", **own, **chart} for chart in (scatter, parallel, bar)]


def _section(uuid: str, name: str, display: bool) -> dict[str, Any]:
    return {"uuid": uuid, "name": name, "display": display, "isReordered": True, "deleted": False, "isGenerated": False}


def _packed(state: dict[str, Any]) -> str:
    """The state as MLflow's UI unpacks it."""
    return "deflate;" + base64.b64encode(zlib.compress(json.dumps(state).encode())).decode()
