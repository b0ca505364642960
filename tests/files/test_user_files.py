"""Only whole files are opened: pipes, devices and folders are refused at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.files.user_files import regular_file


def test_a_file_is_returned_and_everything_else_is_refused_without_opening_it(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a\n")
    assert regular_file(str(tmp_path / "people.csv")) == tmp_path / "people.csv"
    with pytest.raises(Refused, match=r"must be a file\. Got a folder instead"):
        regular_file(str(tmp_path))
    with pytest.raises(Refused, match=r"There is no bounds file '.*no\.yaml'\. Draft one\."):
        regular_file(str(tmp_path / "no.yaml"), "bounds file", "Draft one.")
    with pytest.raises(Refused, match="There is no file"):
        regular_file("a\0b")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.csv")
        with pytest.raises(Refused, match="Got a pipe or a device instead"):
            regular_file(str(tmp_path / "pipe.csv"))
