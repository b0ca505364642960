"""What is written is read back from MLflow by its public names."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pandas as pd
import pytest
import yaml
from mlflow.entities import Run
from mlflow.exceptions import MlflowException

from dpbench.records.cell_record import CellRecord
from dpbench.records.mechanism_style import mechanism_style
from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking import cell_index, run_writer
from dpbench.tracking.browsed_metrics import browsed_metrics
from dpbench.tracking.chart_metrics import chart_metrics
from dpbench.tracking.run_writer import Writer, run_name, shortened
from dpbench.tracking.store import Store, open_store

MakeRecord = Callable[..., CellRecord]


def artifacts(run: Run) -> Path:
    return Path(unquote(urlsplit(run.info.artifact_uri).path))


def test_a_cell_is_one_finished_run_with_every_public_name(store: Store, writer: Writer, make_record: MakeRecord) -> None:
    record = make_record()
    parent = writer.open_sweep("s1", "a sweep", SweepRecord((), "command"), "")
    run = store.client.get_run(writer.write(record, parent).run_id)
    assert run.info.status == "FINISHED"
    assert run.info.run_name == "fm linear wine ε=0.8"
    assert run.info.end_time - run.info.start_time == 2_000, "it lasted as long as the cell did"
    assert run.data.params == record.params
    assert run.data.metrics == browsed_metrics(record) | chart_metrics(record)
    assert run.data.tags["dpbench.primary"] == "rmse"
    assert run.data.tags.items() >= record.tags.items()
    assert run.data.tags["dpbench.kind"] == "cell"
    assert run.data.tags["dpbench.key"] == "a1"
    assert run.data.tags["dpbench.status"] == "ok"
    assert run.data.tags["mlflow.parentRunId"] == parent
    assert run.data.tags["mlflow.source.name"] == "dpbench"
    assert run.data.tags["mlflow.runColor"] == mechanism_style("fm").colour


def test_a_cell_keeps_its_configuration_its_ledger_and_its_runs(store: Store, writer: Writer, make_record: MakeRecord) -> None:
    record = make_record()
    folder = artifacts(store.client.get_run(writer.write(record, None).run_id))
    assert sorted(path.name for path in folder.iterdir()) == ["cell.json", "config.yaml", "ledger.json", "runs.parquet"]
    assert yaml.safe_load((folder / "config.yaml").read_text()) == record.detail.config
    assert json.loads((folder / "ledger.json").read_text()) == record.detail.ledger
    runs = pd.read_parquet(folder / "runs.parquet")
    assert list(runs) == ["repeat", "utility/rmse", "weights"]
    np.testing.assert_array_equal(runs["utility/rmse"], record.detail.runs["utility/rmse"])
    np.testing.assert_array_equal(np.stack(list(runs["weights"])), record.detail.runs["weights"])


def test_a_failed_cell_carries_its_error_and_no_metric(store: Store, writer: Writer, make_failure: MakeRecord) -> None:
    run = store.client.get_run(writer.write(make_failure(error="LinAlgError: singular"), None).run_id)
    assert run.info.status == "FAILED"
    assert run.data.tags["dpbench.status"] == "failed"
    assert run.data.tags["dpbench.error"] == "LinAlgError: singular"
    assert run.data.metrics == {}
    assert run.data.params["mechanism"] == "fm"
    assert sorted(path.name for path in artifacts(run).iterdir()) == ["cell.json", "config.yaml"]


def test_texts_too_long_for_mlflow_end_with_an_ellipsis(store: Store, writer: Writer, make_failure: MakeRecord) -> None:
    failure = make_failure(error="e" * 9_000)
    long = replace(failure, params={**failure.params, "dataset.columns": "c" * 7_000})
    run = store.client.get_run(writer.write(long, None).run_id)
    assert run.data.params["dataset.columns"] == "c" * 5_999 + "…"
    assert run.data.tags["dpbench.error"] == "e" * 7_999 + "…"


def test_more_names_than_mlflow_takes_at_once_are_all_written(store: Store, writer: Writer, make_record: MakeRecord) -> None:
    metrics = {f"attack/control/c{i}": float(i) for i in range(1_200)}
    params = {f"mechanism.option{i}": str(i) for i in range(150)}
    run_id = writer.write(make_record(metrics=metrics, params=params), None).run_id
    assert store.client.get_run(run_id).data.params == params
    (recorded,) = writer.finished(["a1"]).values()
    assert (recorded.metrics, recorded.params) == (metrics, params)


def test_a_cell_whose_files_are_lost_runs_again_and_replaces_the_lost_one(
    store: Store, writer: Writer, make_record: MakeRecord
) -> None:
    lost = writer.write(make_record("lost"), None).run_id
    (artifacts(store.client.get_run(lost)) / "runs.parquet").unlink()
    assert writer.finished(["lost"]) == {}
    again = writer.write(make_record("lost"), None).run_id
    assert store.client.get_run(lost).info.lifecycle_stage == "deleted"
    assert [record.run_id for record in writer.finished(["lost"]).values()] == [again]


@pytest.mark.parametrize("few", [500, 0], ids=["by their keys", "among all"])
def test_only_cells_with_a_good_record_are_finished(
    store: Store,
    writer: Writer,
    make_record: MakeRecord,
    make_failure: MakeRecord,
    monkeypatch: pytest.MonkeyPatch,
    few: int,
    ids: Callable[..., dict[str, str]],
) -> None:
    monkeypatch.setattr(cell_index, "MAX_KEYS_PER_QUERY", few)
    good = {key: writer.write(make_record(key), None).run_id for key in ("a1", "b2", "c3", "d4", "e5")}
    writer.write(make_failure("f6"), None)
    begun = store.client.create_run(
        store.experiment_id, tags={"dpbench.kind": "cell", "dpbench.key": "g7", "dpbench.status": "ok"}
    )
    assert begun.info.status == "RUNNING", "as one looks whose writer was killed in the middle"
    assert ids(writer.finished([*good, "f6", "g7", "h8"])) == good
    assert ids(writer.finished(["b2"])) == {"b2": good["b2"]}
    assert writer.finished([]) == {}


def test_of_a_cell_that_two_sweeps_recorded_the_later_record_is_marked(
    store: Store, writer: Writer, make_record: MakeRecord
) -> None:
    theirs = writer.write(make_record("a", metrics={"time/cell_seconds": 500.0}), None)
    mine = [writer.write(make_record(key), None) for key in "ab"]
    writer.mark_duplicates(mine)
    tags = [store.client.get_run(record.run_id).data.tags.get("dpbench.duplicate_of") for record in (theirs, *mine)]
    assert tags == [None, theirs.run_id, None]
    assert next(iter(writer.finished(["a"]).values())).run_id == mine[0].run_id, "counted once"


@pytest.mark.parametrize(
    ("there", "here", "kept"),
    [
        ("claimed", "sound", "here"),
        ("refuted", "sound", "there"),
        ("sound", "claimed", "there"),
        ("sound", "refuted", "here"),
    ],
)
def test_only_a_refutation_replaces_what_another_process_decided_meanwhile(
    there: str, here: str, kept: str, store: Store, writer: Writer, make_record: MakeRecord
) -> None:
    def tags(word: str, where: str) -> dict[str, str]:
        return {"dpbench.guarantee": word, "dpbench.guarantee_why": f"It says {where}.", "dpbench.sound": "false"}

    record = writer.write(make_record("a").with_audit_tags(tags("claimed", "nowhere")), None)
    for name, text in tags(there, "there").items():
        store.client.set_tag(record.run_id, name, text)
    returned = writer.vouch(record, tags(here, "here"))
    expected = tags({"there": there, "here": here}[kept], kept)
    for found in (returned, writer.finished([record.key])[record.key]):
        assert {name: found.tags[name] for name in expected} == expected


def test_another_experiment_does_not_count(store: Store, writer: Writer, make_record: MakeRecord) -> None:
    writer.write(make_record("a1"), None)
    with open_store(store.uri, f"{store.experiment} too") as other, Writer(other) as elsewhere:
        assert elsewhere.finished(["a1"]) == {}


def test_a_sweep_ends_with_its_note_and_its_files(store: Store, writer: Writer, tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "page.html").write_text("<p>page</p>")
    (tmp_path / "plan.csv").write_text("cell,state\n")
    parent = writer.open_sweep("s1", "fm on wine", SweepRecord((), "command"), "under way")
    assert store.client.get_run(parent).data.tags["mlflow.note.content"] == "under way"
    writer.close_sweep(parent, "FAILED", "## One cell failed", tmp_path)
    run = store.client.get_run(parent)
    assert (run.info.status, run.info.run_name) == ("FAILED", "fm on wine")
    assert run.data.tags["dpbench.kind"] == "sweep"
    assert run.data.tags["dpbench.sweep_key"] == "s1"
    assert run.data.tags["dpbench.command"] == "command"
    assert json.loads((artifacts(run) / "sweep.json").read_text())["command"] == "command"
    assert run.data.tags["mlflow.note.content"] == "## One cell failed"
    assert (artifacts(run) / "report" / "page.html").read_text() == "<p>page</p>"
    assert (artifacts(run) / "plan.csv").exists()


def test_a_command_of_any_length_is_kept_from_the_beginning(store: Store, writer: Writer) -> None:
    command = "python -m dpbench -m epsilon=" + ",".join(map(str, range(1, 5_000)))
    run = store.client.get_run(writer.open_sweep("s1", "a sweep", SweepRecord((), command), ""))
    assert run.data.tags["dpbench.command"].endswith("…")
    assert json.loads((artifacts(run) / "sweep.json").read_text())["command"] == command


def test_a_note_too_long_for_mlflow_says_where_the_whole_of_it_is(store: Store, writer: Writer) -> None:
    note = "".join(f"| line {number} | 0.25 |\n" for number in range(1_000))
    parent = writer.open_sweep("s1", "a sweep", SweepRecord((), "command"), note)
    writer.close_sweep(parent, "FINISHED", note)
    run = store.client.get_run(parent)
    kept = run.data.tags["mlflow.note.content"]
    head, _, sentence = kept.rpartition("\n\n")
    assert len(kept) <= 8_000
    assert note.startswith(head + "\n"), "cut at the end of a line"
    assert "note.md" in sentence
    assert (artifacts(run) / "note.md").read_text() == note


def test_a_note_that_fits_is_not_touched() -> None:
    assert shortened("n" * 8_000) == "n" * 8_000
    assert len(shortened("n" * 8_001)) == 8_000


def test_no_run_looks_as_if_it_were_going_on_after_an_interruption(
    store: Store, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_writer, "write_cell_files", interrupt)
    with pytest.raises(KeyboardInterrupt), Writer(store) as writer:
        writer.write(make_record(), writer.open_sweep("s1", "a sweep", SweepRecord((), "command"), ""))
    runs = store.client.search_runs([store.experiment_id])
    assert [(run.info.status, run.data.tags["dpbench.kind"]) for run in runs] == [("KILLED", "sweep")], "half a cell is deleted"
    with Writer(store) as again:
        assert again.finished(["a1"]) == {}


def test_a_store_that_is_lost_does_not_hide_why(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(*_: object, **__: object) -> None:
        raise MlflowException("gone")

    writer = Writer(store)
    writer.open_sweep("s1", "a sweep", SweepRecord((), "command"), "")
    monkeypatch.setattr(store.client, "set_terminated", lose)
    writer.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
    with pytest.raises(MlflowException, match="gone"):
        writer.__exit__(None, None, None)


def test_the_name_of_a_run_tells_the_cell() -> None:
    params = {"mechanism": "fm", "model": "linear", "dataset": "wine", "attack": "membership", "epsilon": "0.8"}
    assert run_name(CellRecord("run", params, metrics={"attack/auc_mean": 0.5})) == "fm linear wine membership ε=0.8"
    assert run_name(CellRecord("run", params)) == "fm linear wine ε=0.8", "an attack that measured nothing is not named"
    varied = {**params, "mechanism.ridge": "4", "splits": "50 x 5-fold"}
    assert run_name(CellRecord("run", varied)) == "fm linear wine ε=0.8 ridge=4", "an option distinguishes two cells"
