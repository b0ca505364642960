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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlencode

from dpbench.records.cell_record import CellRecord, distinguishing_params
from dpbench.tracking.store import Store

if TYPE_CHECKING:
    from mlflow.entities import Run

SCORE = "utility/rmse"
SPENT = "privacy/epsilon_accounted"
FLAT = "tags.`dpbench.kind` = 'cell'"
VIEW = "dpbench"

_TAG = "mlflow.sharedViewState."
_NEWEST = 300
"""How many cells a view is made from, the newest."""

_FIXED = {"attributes.`Run Name`": 260, "runDateAndNestInfo": 140}
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
    newest = ["attributes.start_time DESC"]
    try:
        if not _overridden(store.client.get_experiment(store.experiment_id).tags.get(_TAG + VIEW)):
            cells = store.client.search_runs([store.experiment_id], FLAT, max_results=_NEWEST, order_by=newest)
            state = _packed(_state(Seen.of(cells)))
            envelope = {"name": "dpbench: all cells", "createdAt": now, "updatedAt": now, "state": state}
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
        query |= {"searchFilter": _filter(sweep_run_id), "orderByKey": f"metrics.`{SCORE}_median`", "orderByAsc": "true"}
    return f"{host_url.rstrip('/')}/#/experiments/{experiment_id}/runs?{urlencode(query, quote_via=quote)}"


def sweep_link(host_url: str, experiment_id: str, sweep_run_id: str) -> str:
    """The address of a sweep's own page, which opens with its note."""
    return f"{host_url.rstrip('/')}/#/experiments/{experiment_id}/runs/{sweep_run_id}?workflowType=machine_learning"


def links(experiment_id: str, sweep_run_id: str, view_key: str | None, report: str) -> str:
    """A line of Markdown for the note of a sweep, with what to open next; the pages are on whatever server shows the note."""
    runs = link("", experiment_id, view_key, None if view_key else sweep_run_id).removeprefix("/")
    page = sweep_link("", experiment_id, sweep_run_id).removeprefix("/").replace("?", f"/artifacts/{report}?")
    return f"**[The report]({page})** · [the cells as a table and as charts]({runs})"


def colour(mechanism: str) -> str:
    """The colour of a mechanism's runs in every chart: MLflow would give each run one of its own."""
    hue = zlib.crc32(mechanism.encode(), _SPREAD) % 360 / 360
    red, green, blue = (round(255 * part) for part in colorsys.hls_to_rgb(hue, 0.45, 0.65))
    return f"#{red:02x}{green:02x}{blue:02x}"


@dataclass(frozen=True)
class Seen:
    """What the cells of a store have: the columns and the charts of their view."""

    scores: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {SCORE: ("mechanism", "epsilon")})
    """The first metric of every model, that of the newest cell first, and the parameters that tell its cells apart."""
    params: tuple[str, ...] = ("mechanism", "model", "dataset", "epsilon")
    attacked: bool = False

    @classmethod
    def of(cls, cells: Sequence[Run]) -> Self:
        attacked = any(name.startswith("attack/") for cell in cells for name in cell.data.metrics)
        options = distinguishing_params([CellRecord("resumed", cell.data.params) for cell in cells])
        params = ("mechanism", "model", "dataset", *(["attack"] if attacked else []), *options, "epsilon")
        having: dict[str, list[Mapping[str, str]]] = {}
        for cell in cells:
            for name in _first_metrics(cell):
                having.setdefault(name, []).append(cell.data.params)
        scores = {score: tuple(_axes(params, found)) for score, found in having.items()}
        return cls(scores, params, attacked) if scores else cls()

    @property
    def columns(self) -> dict[str, int]:
        """The columns shown, in this order, and how many pixels wide their names and numbers are."""
        metrics = [*(f"{score}_median" for score in self.scores), SPENT]
        metrics += ["attack/advantage_mean", "attack/cap"] if self.attacked else []
        references = [
            f"reference/{other}/{score.removeprefix('utility/')}_median"
            for score in self.scores
            for other in ("no_privacy", "mean_predictor")
        ]
        keys = [f"params.`{name}`" for name in self.params] + [f"metrics.`{name}`" for name in metrics]
        keys += [f"tags.`dpbench.{name}`" for name in ("sound", "private", "leaks", "status")]
        keys += [f"metrics.`{name}`" for name in references]
        return {key: _width(key) for key in keys}


def _width(key: str) -> int:
    kind, _, name = key.replace("`", "").partition(".")
    return max(160 if kind == "metrics" else 90, 7 * len(name) + 25)


def _first_metrics(cell: Run) -> list[str]:
    """The first metric of the cell's model: it is there as a history too, without a suffix."""
    return [name for name in cell.data.metrics if name.startswith("utility/") and f"{name}_median" in cell.data.metrics]


def _axes(params: Sequence[str], cells: Sequence[Mapping[str, str]]) -> list[str]:
    """The parameters with more than one value. All cells have them: MLflow leaves out a line that misses an axis."""
    swept = [name for name in params if len({cell.get(name, "") for cell in cells}) > 1 and all(name in cell for cell in cells)]
    return swept if len(swept) > 1 else ["mechanism", "epsilon"]


def _filter(sweep: str | None) -> str:
    return f"tags.`mlflow.parentRunId` = '{sweep}'" if sweep else FLAT


def _state(seen: Seen) -> dict[str, Any]:
    sections = [_section(_CHARTS, "dpbench", True), *(_section(f"dpbench-{name}", name, False) for name in _FOLDED)]
    columns = seen.columns
    return {
        "searchFilter": FLAT,
        "orderByKey": f"metrics.`{next(iter(seen.scores))}_median`",
        "orderByAsc": True,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": list(columns),
        "columnOrder": [*_FIXED, *columns, "duration"],
        "columnWidths": {**_FIXED, **columns},
        "runsHiddenMode": "SHOW_ALL",
        "compareRunCharts": [chart for score, axes in seen.scores.items() for chart in _charts(f"{score}_median", axes)],
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


def _charts(score: str, axes: Sequence[str]) -> list[dict[str, Any]]:
    scatter = {"type": "SCATTER", "xaxis": {"key": SPENT, "type": "METRIC"}, "yaxis": {"key": score, "type": "METRIC"}}
    parallel = {"type": "PARALLEL", "selectedParams": list(axes), "selectedMetrics": [score], "showAllRuns": False}
    bar = {"type": "BAR", "metricKey": score}
    own = {"metricSectionId": _CHARTS, "deleted": False, "isGenerated": False, "runsCountToCompare": 100}
    return [{"uuid": f"{_CHARTS}-{chart['type']}-{score}", **own, **chart} for chart in (scatter, parallel, bar)]


def _section(uuid: str, name: str, display: bool) -> dict[str, Any]:
    return {"uuid": uuid, "name": name, "display": display, "isReordered": True, "deleted": False, "isGenerated": False}


def _packed(state: dict[str, Any]) -> str:
    """The state as MLflow's UI unpacks it."""
    return "deflate;" + base64.b64encode(zlib.compress(json.dumps(state).encode())).decode()
