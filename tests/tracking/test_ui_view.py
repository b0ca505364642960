"""The links open the right page, and the shared view is one that MLflow's UI unpacks."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import pytest
from mlflow.exceptions import MlflowException

from dpbench.records.cell_record import CellRecord
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import Store
from dpbench.tracking.ui_view import link, links, save_view, sweep_link


def query(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(address.partition("?")[2]).items()}


def saved(store: Store, key: str) -> dict[str, Any]:
    tag = store.client.get_experiment(store.experiment_id).tags[f"mlflow.sharedViewState.{key}"]
    assert len(tag) < 20_000, "MLflow keeps no longer tag of an experiment"
    envelope = json.loads(tag)
    assert isinstance(envelope["name"], str)
    assert isinstance(envelope["createdAt"], int)
    kind, _, packed = envelope["state"].partition(";")
    assert kind == "deflate"
    state: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed)))
    return state


def test_every_link_opens_the_runs_and_not_the_page_of_another_purpose() -> None:
    host = "http://127.0.0.1:5000/"
    for address in (link(host, "7"), link(host, "7", "key"), link(host, "7", None, "abc"), sweep_link(host, "7", "abc")):
        assert address.startswith("http://127.0.0.1:5000/#/experiments/7/runs")
        assert query(address)["workflowType"] == "machine_learning"


def test_a_link_to_a_view_carries_no_filter_since_mlflow_would_ignore_the_view() -> None:
    assert query(link("http://h", "7", "key")) == {"workflowType": "machine_learning", "viewStateShareKey": "key"}


def test_a_link_without_a_view_shows_the_cells_flat() -> None:
    assert query(link("http://h", "7"))["searchFilter"] == "tags.`dpbench.kind` = 'cell'"
    assert query(link("http://h", "7"))["orderByKey"] == "metrics.`utility/rmse_median`"
    assert query(link("http://h", "7", None, "abc"))["searchFilter"] == "tags.`mlflow.parentRunId` = 'abc'"


def test_the_view_has_the_cells_flat_and_the_columns_and_charts_that_answer_the_question(store: Store) -> None:
    key = save_view(store)
    assert key
    state = saved(store, key)
    assert state["searchFilter"] == "tags.`dpbench.kind` = 'cell'"
    assert {"params.`mechanism`", "metrics.`utility/rmse_median`", "metrics.`privacy/epsilon_accounted`"} <= set(
        state["selectedColumns"]
    )
    assert {"tags.`dpbench.guarantee`", "tags.`dpbench.leaks`", "tags.`dpbench.status`"} <= set(state["selectedColumns"])
    assert state["orderByKey"] == "metrics.`utility/rmse_median`"
    assert [chart["type"] for chart in state["compareRunCharts"]] == ["PARALLEL"], "without a cell there is no problem to draw"
    sections = {section["uuid"]: section for section in state["compareRunSections"]}
    assert all(sections[chart["metricSectionId"]]["display"] for chart in state["compareRunCharts"])


def test_a_model_with_another_first_metric_has_its_own_columns_and_charts(
    store: Store, writer: Writer, make_record: Callable[..., CellRecord]
) -> None:
    writer.write(make_record("a1"), None)
    params = {"mechanism": "dpba", "model": "logistic", "dataset": "wine", "attack": "none", "epsilon": "0.8"}
    for epsilon in ("0.8", "3.2"):
        metrics = {"utility/error_rate_median": 0.2, "utility/auc_median": 0.8}
        record = make_record(epsilon, params={**params, "epsilon": epsilon}, metrics=metrics, primary="error_rate")
        writer.write(record, None)
    state = saved(store, save_view(store) or "")
    shown = state["selectedColumns"]
    for score in ("rmse", "error_rate"):
        assert {f"metrics.`utility/{score}_median`", f"metrics.`reference/no_privacy/{score}_median`"} <= set(shown)
    assert "metrics.`utility/auc_median`" not in shown
    drawn = [chart["selectedMetrics"] for chart in state["compareRunCharts"] if chart["type"] == "PARALLEL"]
    assert sorted(drawn) == [["utility/error_rate_median"], ["utility/rmse_median"]]
    assert len({chart["uuid"] for chart in state["compareRunCharts"]}) == 4
    assert set(state["columnWidths"]) >= set(shown)
    assert shown.index("tags.`dpbench.guarantee`") < shown.index("metrics.`reference/no_privacy/rmse_median`")


def test_each_problem_has_a_chart_of_its_own_against_the_logarithm_of_epsilon(
    store: Store, writer: Writer, make_record: Callable[..., CellRecord]
) -> None:
    """MLflow draws every run that has both metrics of a chart: those of another problem must lack one."""
    plain, runs = make_record().params, []
    for options in ({"dataset": "wine"}, {"dataset": "adult"}, {"dataset": "adult", "dataset.target": "a&b"}):
        metrics = {"utility/rmse_median": 0.25, "privacy/epsilon_accounted": 100.0}
        record = writer.write(make_record(str(options), params={**plain, **options}, metrics=metrics), None)
        runs.append(store.client.get_run(record.run_id).data.metrics)
    charts = [chart for chart in saved(store, save_view(store) or "")["compareRunCharts"] if chart["type"] == "SCATTER"]
    metrics_of = [{chart[axis]["dataAccessKey"] for axis in ("xaxis", "yaxis")} for chart in charts]
    assert sorted([place for place, run in enumerate(runs) if drawn <= set(run)] for drawn in metrics_of) == [[0], [1], [2]]
    assert {run[charts[0]["xaxis"]["dataAccessKey"]] for run in runs} == {2.0}
    assert {chart["yaxis"]["key"] for chart in charts} >= {"linear on wine (rmse)", "linear on adult dataset.target:a_b (rmse)"}


def test_what_the_cells_vary_and_what_attacked_them_is_shown(
    store: Store, writer: Writer, make_record: Callable[..., CellRecord]
) -> None:
    plain = make_record().params
    metrics = {"utility/rmse_median": 0.25, "attack/advantage_mean": 0.1, "attack/cap": 0.4}
    for ridge in ("2", "4"):
        record = make_record(ridge, params={**plain, "mechanism.ridge": ridge, "attack": "membership"}, metrics=metrics)
        writer.write(record, None)
    state = saved(store, save_view(store) or "")
    columns = {"params.`mechanism.ridge`", "params.`attack`", "metrics.`attack/advantage_mean`", "metrics.`attack/cap`"}
    assert columns <= set(state["selectedColumns"])
    writer.write(make_record("plain"), None)
    state = saved(store, save_view(store) or "")
    (parallel,) = [chart for chart in state["compareRunCharts"] if chart["type"] == "PARALLEL"]
    assert "mechanism.ridge" not in parallel["selectedParams"], "MLflow would leave out the cell that has none"


def test_a_failed_cell_alone_leaves_the_usual_view(store: Store, writer: Writer, make_failure: Callable[..., CellRecord]) -> None:
    writer.write(make_failure(), None)
    assert "metrics.`utility/rmse_median`" in saved(store, save_view(store) or "")["selectedColumns"]


def test_the_links_of_a_note_hold_on_whatever_server_shows_it() -> None:
    line = links("7", "abc", "key")
    assert re.findall(r"\((.*?)\)", line) == [
        "#/experiments/7/runs/abc/artifacts/report/report.html?workflowType=machine_learning",
        "#/experiments/7/runs?workflowType=machine_learning&viewStateShareKey=key",
    ]
    assert "mlflow.parentRunId" in links("7", "abc", None), "without a view, the cells of the sweep"


def test_writing_the_view_again_replaces_it(store: Store) -> None:
    assert save_view(store) == save_view(store)
    tags = store.client.get_experiment(store.experiment_id).tags
    assert len([name for name in tags if name.startswith("mlflow.sharedViewState.")]) == 1


def test_a_view_that_somebody_has_overridden_stays(store: Store) -> None:
    key = save_view(store)
    name = f"mlflow.sharedViewState.{key}"
    envelope = json.loads(store.client.get_experiment(store.experiment_id).tags[name])
    theirs = json.dumps({**envelope, "updatedAt": envelope["createdAt"] + 1, "state": "{}"})
    store.client.set_experiment_tag(store.experiment_id, name, theirs)
    assert save_view(store) == key
    assert store.client.get_experiment(store.experiment_id).tags[name] == theirs


def test_a_view_that_cannot_be_written_breaks_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise MlflowException("read only")

    monkeypatch.setattr(store.client, "set_experiment_tag", refuse)
    assert save_view(store) is None
