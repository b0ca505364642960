"""Register a model in the store, as a new version under its name."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from dpbench.records.names import NOTE
from dpbench.tracking.store import Store

FOLDER = "model"
"""Where the model lies among the files of its run."""


def register(store: Store, name: str, model: Path, facts: Mapping[str, str], description: str, note: str) -> str:
    """Record a run with the files of a model and the note, and return the number of the model's new version.

    ``facts`` are parameters of the run and tags of the version.
    """
    from mlflow.exceptions import MlflowException

    client = store.client
    run = client.create_run(store.experiment_id, run_name=name, tags={NOTE: note})
    run_id = run.info.run_id
    ending = "FAILED"
    try:
        for key, value in facts.items():
            client.log_param(run_id, key, value)
        client.log_artifacts(run_id, str(model), FOLDER)
        try:
            client.create_registered_model(name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        source = f"{run.info.artifact_uri}/{FOLDER}"
        # a version is ready at once unless a server says otherwise: waiting would print log lines
        version = client.create_model_version(
            name, source, run_id, tags=dict(facts), description=description, await_creation_for=0
        )
        ending = "FINISHED"
        return str(version.version)
    finally:
        with suppress(MlflowException):  # the store may be gone, and must not hide the first error
            client.set_terminated(run_id, ending)
