"""Open the MLflow store that a sweep writes to, or refuse with one sentence that says why it cannot be opened."""

import atexit
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.base.errors import Refused
from dpbench.base.phases import phase
from dpbench.records.names import KIND
from dpbench.tracking.artifact_folders import ARTIFACT_FOLDER, local_folder
from dpbench.tracking.connection import Missing, connected, database_engine, merge_write_ahead_log, readable, reading
from dpbench.tracking.patience import Patience, patient
from dpbench.tracking.store_uri import DEFAULT_URI, SERVERS, masked, resolved, scheme, sqlite_path

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run
    from sqlalchemy import Engine

PAGE_SIZE = 1_000
"""How many runs are read from the store at once."""


@dataclass(frozen=True)
class Store(AbstractContextManager["Store"]):
    """One experiment of one MLflow store, open for writing by this process alone."""

    uri: str
    experiment: str
    experiment_id: str

    @cached_property
    def client(self) -> "MlflowClient":
        """MLflow's own client. Importing it takes a second, so it is made when it is first needed."""
        with connected(self.uri, create=False) as client:
            return patient(client, self.patience)

    @cached_property
    def patience(self) -> Patience:
        """How long the store is waited for."""
        return Patience(self.uri)

    @cached_property
    def database(self) -> "Engine":
        """The database itself, for questions that MLflow cannot answer quickly. A server has none."""
        return database_engine(readable(self.uri))

    @property
    def shown(self) -> str:
        """The URI without its password, so that it can be printed."""
        return masked(self.uri)

    @property
    def is_server(self) -> bool:
        return scheme(self.uri) in SERVERS

    def search(
        self, query: str, limit: int | None = None, experiments: Sequence[str] = (), newest_by: str = "start_time"
    ) -> Iterator["Run"]:
        """Yield the runs of the experiment, or of others by their ids, that match a query, the newest first, page by page."""
        newest, size, token = [f"attributes.{newest_by} DESC"], limit or PAGE_SIZE, None
        while True:
            ids = list(experiments) or [self.experiment_id]
            page = self.client.search_runs(ids, query, max_results=size, order_by=newest, page_token=token)
            yield from page
            token = page.token
            if limit or not token:
                return

    def close(self) -> None:
        """Close the connections; a SQLite store is then one file again, without its write-ahead log."""
        if "database" in vars(self):
            self.database.dispose()
        _close(vars(self).get("client"), self.uri)
        atexit.unregister(self.close)

    def __exit__(self, *error: object) -> None:
        self.close()


@phase("tracking")
def open_store(uri: str | None = None, experiment: str = "dpbench", *, create: bool = True) -> Store:
    """Open the store at this URI, and check that it can be reached, read and written.

    Without a URI it is the one that MLFLOW_TRACKING_URI names, else ``mlflow.db`` in the current folder. A store or an
    experiment that does not exist is created, or refused if ``create`` is false.
    """
    uri = check_uri(uri)
    _silence_mlflow()
    if not create and scheme(uri) not in SERVERS:
        store = Store(uri, experiment, _known_experiment(uri, experiment))
    else:
        with connected(uri, create) as client, ExitStack() as on_failure:
            on_failure.callback(_close, client, uri)
            store = Store(uri, experiment, _experiment_id(client, uri, experiment, create))
            vars(store)["client"] = patient(client, store.patience)
            on_failure.pop_all()
    atexit.register(store.close)
    return store


def check_uri(uri: str | None) -> str:
    """Return the URI of the store that is meant; refuse one that cannot be a store's, without opening it."""
    return resolved(uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI)


def artifact_path(store_uri: str, artifact_uri: str, name: str) -> Path | None:
    """Return the path of a run's artifact, downloaded if it is not on this machine; None if there is no such file."""
    folder = local_folder(store_uri, artifact_uri)
    if folder is not None:
        return path if (path := folder / name).exists() else None

    from mlflow.exceptions import MlflowException
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    try:
        return Path(get_artifact_repository(artifact_uri, tracking_uri=store_uri).download_artifacts(name))
    except (MlflowException, OSError):  # stores differ in how they say that there is no such file
        return None


def _silence_mlflow() -> None:
    """Turn off telemetry and log lines. This must come before MLflow is imported."""
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
    # The error that follows repeats what these two log.
    for name in ("alembic", "mlflow.store.db.utils"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _known_experiment(uri: str, name: str) -> str:
    """Return the id of an experiment of a database, without MLflow."""
    import sqlalchemy

    question = sqlalchemy.text("SELECT experiment_id, lifecycle_stage FROM experiments WHERE name = :name")
    with reading(uri) as connection:
        row = connection.execute(question, {"name": name}).first()
    if row is None:
        raise Missing(uri, f"is no experiment {name!r}")
    _check_active(uri, name, str(row[0]), row[1])
    return str(row[0])


def _experiment_id(client: "MlflowClient", uri: str, name: str, create: bool) -> str:
    """Return the id of the experiment, created if it is missing. Tagging it shows that the store can be written."""
    from mlflow.exceptions import MlflowException

    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        if not create:
            raise Missing(uri, f"is no experiment {name!r}")
        path = sqlite_path(uri)
        folder = (path.parent if path else Path.cwd()) / ARTIFACT_FOLDER
        location = None if scheme(uri) in SERVERS else folder.as_uri()
        try:
            experiment = client.get_experiment(client.create_experiment(name, location))
        except MlflowException:
            experiment = client.get_experiment_by_name(name)  # another process may have been faster
            if experiment is None:
                raise
    _check_active(uri, name, experiment.experiment_id, experiment.lifecycle_stage)
    if create:
        try:
            client.set_experiment_tag(experiment.experiment_id, KIND, "experiment")
        except MlflowException:  # MLflow inserts a new tag: another process may have done so since it looked
            client.set_experiment_tag(experiment.experiment_id, KIND, "experiment")
    return str(experiment.experiment_id)


def _check_active(uri: str, name: str, experiment_id: str, stage: str) -> None:
    if stage != "active":
        raise Refused(
            f"The experiment {name!r} in the tracking store {masked(uri)!r} was deleted: restore it with "
            f"mlflow experiments restore -x {experiment_id}, or choose another tracking.experiment."
        )


def _close(client: Any, uri: str) -> None:
    """Close the pooled connections of a database store, for which MLflow has no public function, and merge SQLite's log."""
    for part in ("_tracking_client", "_registry_client_lazy"):  # the second one exists once a model was registered
        engine = getattr(getattr(getattr(client, part, None), "store", None), "engine", None)
        if engine is not None:
            engine.dispose()
    merge_write_ahead_log(uri)
