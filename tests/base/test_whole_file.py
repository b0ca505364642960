"""A file is there as a whole, or not at all."""

from __future__ import annotations

from pathlib import Path

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
