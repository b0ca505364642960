"""Digests of private content, keyed so that nobody who reads a record can confirm a guess about a row.

The digest key is a random file of the user, outside every store: ``DPBENCH_KEY_FILE``, or a file in the user's configuration
folder, which is created when it is first needed. The parent process computes the digests and sends them to the workers;
a worker that has the same key compares its data with them.
"""

import hmac
import os
import re
import secrets
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from dpbench.base.errors import Refused
from dpbench.base.user_path import user_path

VARIABLE = "DPBENCH_KEY_FILE"
"""The environment variable that names a key file, so that several machines can share one."""
KEY_BYTES = 32
"""A new key has this many random bytes, and no key may have fewer."""
MAX_KEY_BYTES = 1_024
WAIT_SECONDS = 1.0
"""How long a created key may take to be written."""


def keyed_digest(purpose: str, content: bytes) -> str:
    """Return the HMAC-SHA256 of private content, shortened to 32 hexadecimal digits; digests for two purposes never agree."""
    code = hmac.new(_key(), f"{purpose}\0".encode(), "sha256")
    code.update(content)
    return code.hexdigest()[:32]


def key_id() -> str:
    """Return a short name of the key, which may be recorded: it tells whether two records have the same key."""
    return keyed_digest("key", b"")[:8]


def known_key_id() -> str:
    """Return the short name of the key; empty if this machine has none that can be read. No key is created."""
    path = user_path(named) if (named := os.environ.get(VARIABLE)) else _default_path()
    with suppress(Refused):
        return key_id() if path.exists() else ""
    return ""


def _key() -> bytes:
    if named := os.environ.get(VARIABLE):
        path = user_path(named)
        if not path.exists():
            raise Refused(f"There is no key file {named!r}, which {VARIABLE} names: copy one that dpbench has created.")
        return _read(path)
    path = _default_path()
    if not path.exists():
        _create(path)
    _wait_until_written(path)
    return _read(path)


def _wait_until_written(path: Path) -> None:
    """Give the process that is writing this key a moment: only where files cannot be linked can a key be seen half-written."""
    deadline = time.monotonic() + WAIT_SECONDS
    while path.stat().st_size <= 2 * KEY_BYTES and time.monotonic() < deadline:
        time.sleep(0.01)


def _default_path() -> Path:
    return user_folder() / "digest_key"


def user_folder() -> Path:
    """Return the folder of what this program keeps for the user: the key, and the budget book."""
    return _user_config() / "dp-regression-bench"


def _user_config() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(4 * MAX_KEY_BYTES).strip()
    except OSError as error:
        raise Refused(f"The key file {str(path)!r} cannot be read: {error.strerror}.") from None
    if not re.fullmatch(rb"(?:[0-9a-fA-F]{2}){%d,%d}" % (KEY_BYTES, MAX_KEY_BYTES), content):
        raise Refused(f"The key file {str(path)!r} must hold at least {2 * KEY_BYTES} hexadecimal digits, and nothing else.")
    return bytes.fromhex(content.decode())


def _create(path: Path) -> None:
    """Write a new key elsewhere and link it into place: the first process wins, and no process sees half a key."""
    text = f"{secrets.token_hex(KEY_BYTES)}\n".encode()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(prefix=".key-", dir=path.parent) as file:  # readable by its owner only
            file.write(text)
            file.flush()
            with suppress(FileExistsError):  # another process was faster: its key counts
                _link(file.name, path, text)
    except OSError as error:
        raise Refused(f"The key file {str(path)!r} cannot be created: {error.strerror}. {VARIABLE} names another.") from None


def _link(name: str, path: Path, text: bytes) -> None:
    try:
        os.link(name, path)
    except FileExistsError:
        raise
    except OSError:  # the file system has no links
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
