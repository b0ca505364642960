"""Check the URI of a tracking store, make it absolute, and hide its password when it is printed."""

import re
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from dpbench.base.errors import Refused
from dpbench.base.user_path import user_path

DEFAULT_URI = "sqlite:///mlflow.db"
DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
SERVERS = ("http", "https")


def resolved(uri: str) -> str:
    """Return the URI with a known scheme and, for SQLite, an absolute path; refuse any other."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    if scheme(uri) in SERVERS:
        with suppress(ValueError):  # of brackets that are not closed
            if urlsplit(uri).hostname:
                return uri.rstrip("/")
        raise Refused(f"A tracking server must have a host, as in http://127.0.0.1:5000. Got {masked(uri)!r} instead.")
    try:
        url = make_url(uri) if scheme(uri) in DATABASES else None
    except (ArgumentError, ValueError):
        url = None
    if url is None:
        known = ", ".join((*DATABASES, *SERVERS))
        raise Refused(f"The tracking store must be a URI of one of {known}, as in {DEFAULT_URI}. Got {masked(uri)!r} instead.")
    if scheme(uri) == "sqlite":
        if not url.database or url.database.startswith((":memory:", "file:")):
            raise Refused(f"A SQLite tracking store must be a file, as in {DEFAULT_URI}. Got {masked(uri)!r} instead.")
        url = url.set(database=str(user_path(url.database).absolute()))
    return url.render_as_string(hide_password=False)


def masked(uri: str) -> str:
    """Return the URI with stars in place of every password."""
    password = password_of(uri)
    uri = uri.replace(f":{password}@", ":***@") if password else uri
    return re.sub(r"([?&]\w*passw\w*=)[^&]*", r"\1***", uri, flags=re.IGNORECASE)


def without_login(uri: str) -> str:
    """Return the address of a server without user and password."""
    start, _, rest = uri.partition("://")
    return f"{start}://{rest.rpartition('@')[2]}"


def sqlite_path(uri: str) -> Path | None:
    """Return the file of a SQLite store, or None for any other store."""
    return user_path(uri.partition("://")[2].partition("/")[2].partition("?")[0]) if scheme(uri) == "sqlite" else None


def scheme(uri: str) -> str:
    """Return the kind of store without the driver: ``postgresql`` for ``postgresql+psycopg2://…``."""
    return uri.partition(":")[0].partition("+")[0].lower()


def password_of(uri: str) -> str:
    """Return the password as it is spelled in the URI."""
    authority = uri.partition("://")[2].partition("/")[0]
    return authority.rpartition("@")[0].partition(":")[2]
