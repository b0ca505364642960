"""A report is written whole or not at all, and never over files that no report wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from cell_factory import make_cell, make_sweep
from report_helpers import write_report

from dpbench.base.errors import Refused, Unfinished
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.report_files import ReportFolder

pytestmark = pytest.mark.usefixtures("undrawn")
ONE, TWO = make_sweep([make_cell("fm")]), make_sweep([make_cell("fm"), make_cell("dpba", 0.3)])


def test_it_holds_the_page_and_every_table_with_rows(sweep: SweepRecord, tmp_path: Path) -> None:
    assert write_report(sweep, tmp_path) == [], "no figure"
    tables = {"decision", "leaderboard", "comparisons", "ledger", "leaks", "failures"}
    files = {f"{name}.{kind}" for name in tables for kind in ("csv", "tex")}
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "summary.csv", *files}


def test_an_earlier_report_is_replaced_and_other_files_stay(tmp_path: Path) -> None:
    page, *figures = ReportFolder(tmp_path / "out").write(TWO)
    assert page == tmp_path / "out" / "report.html"
    assert figures == [path for path in figures if path.is_file()]
    (tmp_path / "out" / "mine.txt").write_text("mine")
    ReportFolder(tmp_path / "out").write(ONE)
    assert not (tmp_path / "out" / "comparisons.csv").exists()
    assert (tmp_path / "out" / "mine.txt").read_text() == "mine"


def test_files_that_no_report_wrote_are_never_replaced(tmp_path: Path) -> None:
    ReportFolder(tmp_path).write(ONE)
    (tmp_path / "comparisons.csv").write_text("mine")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(Refused, match=r"comparisons\.csv"):
        ReportFolder(tmp_path).write(TWO)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("text", ["", "<html>ten years of work</html>"])
def test_a_folder_with_other_files_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.html").write_text(text)
    with pytest.raises(Refused, match="has files but no report"):
        ReportFolder(tmp_path)
    with pytest.raises(Refused, match="is a file"):
        ReportFolder(tmp_path / "report.html")


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copytree", full)
    with pytest.raises(Unfinished, match="No space left on device"):
        ReportFolder(tmp_path).write(ONE)
