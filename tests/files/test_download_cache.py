"""The cache folder remembers a checksum for each file, and a changed file is refused."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.files.download_cache import (
    cache_folder,
    sha256,
    store_checksum,
    stored_checksums,
    user_file_checksum,
    verify_checksum,
)


def test_the_cache_is_where_the_variable_says_or_the_user_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path))
    assert cache_folder("acs", "2019") == tmp_path / "1" / "acs" / "2019"
    monkeypatch.delenv("DPBENCH_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder("acs") == tmp_path / "xdg" / "dp-regression-bench" / "1" / "acs"


def test_checksums_are_stored_in_the_format_of_sha256sum(tmp_path: Path) -> None:
    assert stored_checksums(tmp_path) == {}
    store_checksum(tmp_path, "b.zip", "22")
    store_checksum(tmp_path, "a.zip", "11")
    assert stored_checksums(tmp_path) == {"a.zip": "11", "b.zip": "22"}
    assert (tmp_path / "sha256.txt").read_text() == "11  a.zip\n22  b.zip\n"
    assert [path.name for path in tmp_path.iterdir()] == ["sha256.txt"], "no half file stays behind"


def test_a_downloaded_file_is_verified_against_its_first_checksum(tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    file.write_bytes(b"first")
    with pytest.raises(Refused, match=r"has no checksum of a\.zip\. `fetch` downloads it again"):
        verify_checksum(file, "`fetch`")
    store_checksum(tmp_path, "a.zip", sha256(file))
    assert verify_checksum(file, "`fetch`") == hashlib.sha256(b"first").hexdigest()
    file.write_bytes(b"other")
    with pytest.raises(Refused, match=r"its sha256 has changed\. Delete it, and `fetch` downloads it again"):
        verify_checksum(file, "`fetch`")


def test_a_user_s_file_is_read_again_only_when_its_date_or_size_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(b"first")
    os.utime(file, ns=(1, 1))
    first = user_file_checksum(str(file))
    file.write_bytes(b"other")
    os.utime(file, ns=(1, 1))
    assert user_file_checksum(str(file)) == first, "same date and size: not read again"
    os.utime(file, ns=(2, 2))
    assert user_file_checksum(str(file)) == hashlib.sha256(b"other").hexdigest()
    with pytest.raises(Refused, match="There is no file"):
        user_file_checksum(str(tmp_path / "no.csv"))
