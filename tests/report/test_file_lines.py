"""Where a report and its figures are: a line for each file."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.records.preset import Preset
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.file_lines import file_lines

PRESET = Preset(name="author2020/fig1", title="Author 2020, Figure 1")


def test_files_below_the_current_folder_have_short_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = [tmp_path / "store" / "report.html", Path("/elsewhere/boxes.png")]
    assert file_lines(SweepRecord((), "command"), files) == ["Report: store/report.html", "Figure: /elsewhere/boxes.png"]


def test_the_figure_of_a_preset_comes_first_by_its_title() -> None:
    files = [Path("report.html"), Path("figure.png"), Path("boxes.png")]
    assert file_lines(SweepRecord((), "command", (), PRESET), files) == [
        "Author 2020, Figure 1: figure.png",
        "Report: report.html",
        "Figure: boxes.png",
    ]


def test_a_preset_that_drew_no_figure_has_its_report() -> None:
    assert file_lines(SweepRecord((), "command", (), PRESET), [Path("report.html")]) == ["Report: report.html"]
