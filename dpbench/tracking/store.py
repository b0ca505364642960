"""Open the MLflow store that a sweep writes to, or say in one sentence why it cannot be."""

from __future__ import annotations

import atexit
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from dpbench.base.errors import Refused
from dpbench.tracking.connection import ARTIFACTS, missing, opening, tidy
from dpbench.tracking.store_uri import DEFAULT_URI, SERVERS, masked, resolved, scheme, sqlite_path

if TYPE_CHECKING:
    from mlflow import MlflowClient


@dataclass(frozen=True)
class Store:
    """One experiment of one MLflow store, open for writing by this process alone."""

    uri: str
    experiment: str
    experiment_id: str
    client: MlflowClient

    @property
    def shown(self) -> str:
        """The URI as it may be printed: without its password."""
        return masked(self.uri)

    @property
    def is_server(self) -> bool:
        return scheme(self.uri) in SERVERS

    def close(self) -> None:
        """Give back the connections; a SQLite store is then one file again, without its write-ahead log."""
        _dispose(self.client)
        tidy(self.uri)
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def open_store(uri: str | None = None, experiment: str = "dpbench", *, create: bool = True) -> Store:
    """The store at this URI, checked by reaching, opening and writing it.

    Without a URI it is the one MLFLOW_TRACKING_URI names, else ``mlflow.db`` in the current folder. A store or an
    experiment that does not exist is made, or refused when ``create`` is false.
    """
    uri = resolved(uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI)
    _quiet()
    with opening(uri, create) as client:
        try:
            store = Store(uri, experiment, _experiment(client, uri, experiment, create), client)
        except BaseException:
            _dispose(client)
            tidy(uri)
            raise
    atexit.register(store.close)
    return store


def _quiet() -> None:
    """No telemetry, no chatter: must come before MLflow is imported."""
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
    # What these two say is said again in the error that follows.
    for name in ("alembic", "mlflow.store.db.utils"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _experiment(client: MlflowClient, uri: str, name: str, create: bool) -> str:
    """The id of the experiment, made when it is missing, and tagged, which shows that the store can be written."""
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None and not create:
        raise missing(uri, f"is no experiment {name!r}")
    if found is None:
        path = sqlite_path(uri)
        folder = (path.parent if path else Path.cwd()) / ARTIFACTS
        try:
            experiment_id = str(client.create_experiment(name, None if scheme(uri) in SERVERS else folder.as_uri()))
        except MlflowException:
            found = client.get_experiment_by_name(name)  # another process was faster
            if found is None:
                raise
    if found is not None:
        if found.lifecycle_stage != "active":
            raise Refused(
                f"The experiment {name!r} in the tracking store {masked(uri)!r} was deleted: restore it with "
                f"mlflow experiments restore -x {found.experiment_id}, or choose another tracking.experiment."
            )
        experiment_id = str(found.experiment_id)
    if create:
        client.set_experiment_tag(experiment_id, "dpbench.kind", "experiment")
    return experiment_id


def _dispose(client: Any) -> None:
    """Close the pooled connections of a database store; MLflow has no public way to."""
    engine = getattr(getattr(getattr(client, "_tracking_client", None), "store", None), "engine", None)
    if engine is not None:
        engine.dispose()
