"""Downloading one file: a stored checksum decides before any network is used."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.files.download_cache import store_checksum, stored_checksums
from dpbench.plugins.datasets._download import download

NOWHERE = "http://127.0.0.1:9/table.zip"


def accept(path: Path) -> str:
    """Find nothing wrong with a file."""
    return ""


def test_a_file_with_its_stored_checksum_is_not_downloaded_again(tmp_path: Path) -> None:
    path = tmp_path / "table.zip"
    path.write_bytes(b"content")
    store_checksum(tmp_path, path.name, hashlib.sha256(b"content").hexdigest())
    messages: list[str] = []
    download(NOWHERE, path, messages.append, accept)
    assert messages == [f"Already downloaded: {path}"]


def test_without_a_network_the_refusal_names_the_address_and_nothing_is_left_behind(tmp_path: Path) -> None:
    pytest.importorskip("pooch", reason="the extra `download` is not installed")
    folder = tmp_path / "cache"
    with pytest.raises(Refused, match=r"The download of http://127\.0\.0\.1:9/table\.zip failed"):
        download(NOWHERE, folder / "table.zip", lambda message: None, accept)
    assert list(folder.iterdir()) == []
    assert stored_checksums(folder) == {}


def test_a_file_that_changed_on_disk_is_downloaded_again(tmp_path: Path) -> None:
    pytest.importorskip("pooch", reason="the extra `download` is not installed")
    path = tmp_path / "table.zip"
    path.write_bytes(b"changed")
    store_checksum(tmp_path, path.name, hashlib.sha256(b"content").hexdigest())
    with pytest.raises(Refused, match="is there a network"):
        download(NOWHERE, path, lambda message: None, accept)
