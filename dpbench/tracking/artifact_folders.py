"""Find the files of a SQLite store next to it, where they are also after a project's folder was moved or copied.

MLflow keeps absolute addresses. Reading looks next to the store first; opening a store for writing corrects the addresses, so
that MLflow's own pages find the files as well, and new files do not land in a folder that the store has left.
"""

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from dpbench.tracking.store_uri import sqlite_path

if TYPE_CHECKING:
    from sqlalchemy import Connection

ARTIFACT_FOLDER = "mlartifacts"
"""The folder next to a SQLite store that holds the files of its runs."""


def local_folder(store_uri: str, artifact_uri: str) -> Path | None:
    """Return the folder of a run's files, or None if they are on another machine."""
    address = urlsplit(artifact_uri)
    if address.scheme != "file":
        return None
    folder, store = Path(url2pathname(address.path)), sqlite_path(store_uri)
    if store is not None and ARTIFACT_FOLDER in folder.parts and not folder.is_relative_to(store.parent):
        last = len(folder.parts) - 1 - folder.parts[::-1].index(ARTIFACT_FOLDER)
        next_to_it = store.parent.joinpath(*folder.parts[last:])
        return next_to_it if next_to_it.exists() else folder
    return folder


def follow_store(connection: "Connection", store: Path) -> None:
    """Correct the addresses of a SQLite store that was moved or copied together with its files."""
    from sqlalchemy import text

    home = store.parent / ARTIFACT_FOLDER
    if not home.is_dir():
        return
    locations = connection.execute(text("SELECT DISTINCT artifact_location FROM experiments")).scalars()
    for location in [location for location in locations if location and f"/{ARTIFACT_FOLDER}" in location]:
        before = location[: location.rindex(f"/{ARTIFACT_FOLDER}") + len(ARTIFACT_FOLDER) + 1]
        if before != home.as_uri() and before.startswith("file:"):
            for table, column in (("experiments", "artifact_location"), ("runs", "artifact_uri")):
                moved = f"substr({column}, 1, :length) = :before"
                statement = f"UPDATE {table} SET {column} = :after || substr({column}, :length + 1) WHERE {moved}"
                connection.execute(text(statement), {"after": home.as_uri(), "length": len(before), "before": before})
