"""A line is appended whole, and a file that cannot be written stops nobody."""

from __future__ import annotations

from pathlib import Path

from dpbench.files.appending import append_line


def test_lines_are_appended_to_a_file_that_need_not_exist(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "lines"
    append_line(file, "one")
    append_line(file, "two\n")
    assert file.read_text() == "one\ntwo\n"


def test_a_file_that_cannot_be_written_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here")
    append_line(tmp_path / "file" / "lines", "one")
    assert (tmp_path / "file").read_text() == "here"
