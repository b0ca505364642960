"""The digest key: created once, for its owner only, the same for all processes; a wrong one is refused in one sentence."""

from __future__ import annotations

import hashlib
import hmac
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.files import digest_key
from dpbench.files.digest_key import VARIABLE, key_id, keyed_digest, known_key_id

KEY = "0f" * 32


@pytest.fixture
def created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the key is created if no file is named."""
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr(digest_key, "_user_config", lambda: tmp_path / "configuration")
    return tmp_path / "configuration" / "dp-regression-bench" / "digest_key"


def test_the_digest_is_an_hmac_of_the_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    monkeypatch.setenv(VARIABLE, str(file))
    assert keyed_digest("data", b"rows") == hmac.new(bytes.fromhex(KEY), b"data\0rows", hashlib.sha256).hexdigest()[:32]
    assert keyed_digest("data", b"rows") != keyed_digest("frame", b"rows")
    first = keyed_digest("data", b"rows"), key_id()
    file.write_text("1f" * 32)
    assert first[0] != keyed_digest("data", b"rows")
    assert first[1] != key_id()
    assert len(key_id()) == 8


def test_a_key_is_created_once_and_for_its_owner_only(created: Path) -> None:
    first = keyed_digest("data", b"rows")
    text = created.read_text()
    assert keyed_digest("data", b"rows") == first
    assert created.read_text() == text
    assert created.stat().st_mode & 0o777 == 0o600
    assert created.parent.stat().st_mode & 0o077 == 0
    assert list(created.parent.iterdir()) == [created], "nothing temporary is left"
    created.unlink()
    assert keyed_digest("data", b"rows") != first, "another key is random too"


@pytest.mark.parametrize("links", [True, False])
def test_racing_threads_end_with_the_same_key(created: Path, links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not links:
        monkeypatch.setattr(digest_key.os, "link", no_link)
    with ThreadPoolExecutor(16) as pool:
        digests = list(pool.map(lambda _: keyed_digest("data", b"rows"), range(64)))
    assert len(set(digests)) == 1
    assert list(created.parent.iterdir()) == [created]
    assert created.stat().st_mode & 0o777 == 0o600


def test_a_key_that_another_process_is_still_writing_is_awaited(created: Path) -> None:
    created.parent.mkdir(parents=True)
    created.touch()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(key_id)
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.1)
        created.write_text(f"{KEY}\n")
        assert waiting.result(timeout=10) == key_id()


def no_link(*_: object) -> None:
    raise PermissionError(1, "Operation not permitted")


def test_asking_for_the_known_key_creates_none_and_refuses_none(created: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert known_key_id() == ""
    assert not created.exists()
    assert key_id() == known_key_id() != ""
    created.write_text("no key")
    assert known_key_id() == ""
    monkeypatch.setenv(VARIABLE, "no such file")
    assert known_key_id() == ""


def test_racing_processes_end_with_the_same_key(tmp_path: Path) -> None:
    code = "from dpbench.files.digest_key import key_id; print(key_id())"
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environment |= {name: str(tmp_path) for name in ("XDG_CONFIG_HOME", "APPDATA", "HOME")}
    runs = [subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert len({run.communicate(timeout=60)[0] for run in runs}) == 1
    assert not any(run.returncode for run in runs)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


@pytest.mark.parametrize("content", ["", "0f" * 31, "0f" * 31 + "zz", "age,income\n31,41927\n", KEY + "0", "0f" * 5_000 + "x"])
def test_a_file_that_is_no_key_is_refused_without_its_content(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text(content)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "key"))
    with pytest.raises(Refused, match="must hold at least 64 hexadecimal digits, and nothing else") as refusal:
        keyed_digest("data", b"rows")
    assert not content or content[:20] not in str(refusal.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(Refused, match=r"cannot be read: Is a directory\.$"):
        key_id()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "no"))
    with pytest.raises(Refused, match=r"There is no key file .*, which DPBENCH_KEY_FILE names"):
        key_id()
    assert list(tmp_path.iterdir()) == [], "a named key is never created: a typo would hide all cells"


def test_a_folder_that_cannot_be_written_is_refused(created: Path) -> None:
    created.parents[1].write_text("a file where the folder should be")
    with pytest.raises(Refused, match=r"cannot be created: .*DPBENCH_KEY_FILE names another"):
        key_id()
