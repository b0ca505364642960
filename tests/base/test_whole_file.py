"""A file is there as a whole, or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dpbench.base.whole_file import write_whole


def test_a_file_is_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_whole(tmp_path / "card.md", "ε\n".encode())
    assert [path.name for path in tmp_path.iterdir()] == ["card.md"]
    assert (tmp_path / "card.md").read_text(encoding="utf-8") == "ε\n"
    assert (tmp_path / "card.md").stat().st_mode & 0o777 == 0o644


def test_a_file_that_exists_is_replaced_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "card.md"
    path.write_text("precious")
    with pytest.raises(FileExistsError):
        write_whole(path, b"new")
    assert path.read_text() == "precious"
    write_whole(path, b"new", overwrite=True)
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("steps", [("fsync",), ("link", "replace")], ids=["write", "name"])
def test_a_full_disk_leaves_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, steps: tuple[str, ...], overwrite: bool
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for step in steps:
        monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "card.md", b"new", overwrite)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    write_whole(tmp_path / "card.md", b"new")


KILLED = """
import os, pathlib, signal, sys
from dpbench.base.whole_file import write_whole

for step in sys.argv[3:]:
    setattr(os, step, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
write_whole(pathlib.Path(sys.argv[1]), b"new", sys.argv[2] == "overwrite")
"""


@pytest.mark.parametrize("overwrite", ["keep", "overwrite"])
@pytest.mark.parametrize("steps", [("fsync",), ("link", "replace")], ids=["write", "name"])
def test_a_kill_leaves_no_file_of_this_name(tmp_path: Path, steps: tuple[str, ...], overwrite: str) -> None:
    path = tmp_path / "card.md"
    child = subprocess.run([sys.executable, "-c", KILLED, str(path), overwrite, *steps], check=False)
    assert child.returncode == -9
    assert not path.exists()
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_file_system_without_links_keeps_files_that_exist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unsupported(*_: Any) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", unsupported)
    write_whole(tmp_path / "card.md", b"first")
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "card.md", b"second")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"first"]
