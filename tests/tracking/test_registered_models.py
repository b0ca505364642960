"""A model is registered with its files, or its run says that it failed."""

from __future__ import annotations

from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from dpbench.tracking.registered_models import register
from dpbench.tracking.store import open_store


def test_a_version_has_the_files_and_the_facts(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "MLmodel").write_text("flavors: {}\n")
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    with open_store(uri, "releases") as store:
        assert register(store, "wages", tmp_path / "files", {"epsilon": "1.0"}, "A description.", "A note.") == "1"
    assert not list(tmp_path.glob("mlflow.db-*")), "the store is one file again"
    version = MlflowClient(uri).get_model_version("wages", "1")
    run = MlflowClient(uri).get_run(version.run_id)
    assert (run.info.status, run.data.params, run.data.tags["mlflow.note.content"]) == ("FINISHED", {"epsilon": "1.0"}, "A note.")
    assert [file.path for file in MlflowClient(uri).list_artifacts(version.run_id, "model")] == ["model/MLmodel"]
    assert version.tags == {"epsilon": "1.0"}


def test_a_registration_that_fails_ends_its_run(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    with open_store(uri, "releases") as store, pytest.raises(MlflowException):
        register(store, "", tmp_path / "files", {}, "", "")
    client = MlflowClient(uri)
    (run,) = client.search_runs([client.get_experiment_by_name("releases").experiment_id])
    assert run.info.status == "FAILED"
