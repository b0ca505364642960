"""The links open the right page, and the shared view is one that MLflow's UI unpacks."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any
from urllib.parse import parse_qs

import pytest
from mlflow.exceptions import MlflowException

from dpbench.tracking.store import Store
from dpbench.tracking.view import colour, link, save_view, sweep_link


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
    assert {"tags.`dpbench.sound`", "tags.`dpbench.leaks`", "tags.`dpbench.status`"} <= set(state["selectedColumns"])
    assert [chart["type"] for chart in state["compareRunCharts"]] == ["SCATTER", "PARALLEL", "BAR"]
    sections = {section["uuid"]: section for section in state["compareRunSections"]}
    assert all(sections[chart["metricSectionId"]]["display"] for chart in state["compareRunCharts"])


def test_a_mechanism_keeps_its_colour_and_has_its_own() -> None:
    names = ["no_privacy", "truncated", "fm", "dpba", "dpc", "privr", "cdp_irls", "dpme", "fp", "ssp", "adassp"]
    assert all(re.fullmatch("#[0-9a-f]{6}", colour(name)) for name in names)
    assert len({colour(name) for name in names}) == len(names)
    assert colour("fm") == colour("fm")


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
