"""A report is written whole or not at all, and never over files that no report wrote."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest
from cell_factory import make_cell, make_sweep
from report_helpers import Page, write_report

from dpbench.base.errors import Omissions, Refused, Unfinished
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.report_files import ReportFolder
from dpbench.report.summary import SweepSummary

pytestmark = pytest.mark.usefixtures("undrawn")
ONE, TWO = make_sweep([make_cell("fm")]), make_sweep([make_cell("fm"), make_cell("dpba", 0.3)])


def test_it_holds_the_page_and_every_table_with_rows(sweep: SweepRecord, tmp_path: Path) -> None:
    assert write_report(sweep, tmp_path) == [], "no figure"
    tables = {"decision", "leaderboard", "comparisons", "ledger", "leaks", "failures"}
    files = {f"{name}.{kind}" for name in tables for kind in ("csv", "tex")}
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "summary.csv", *files}


def test_an_earlier_report_is_replaced_and_other_files_stay(tmp_path: Path) -> None:
    page, *figures = ReportFolder(tmp_path / "out").write(TWO, Omissions())
    assert page == tmp_path / "out" / "report.html"
    assert figures == [path for path in figures if path.is_file()]
    (tmp_path / "out" / "mine.txt").write_text("mine")
    ReportFolder(tmp_path / "out").write(ONE, Omissions())
    assert not (tmp_path / "out" / "comparisons.csv").exists()
    assert (tmp_path / "out" / "mine.txt").read_text() == "mine"


def test_files_that_no_report_wrote_are_never_replaced(tmp_path: Path) -> None:
    ReportFolder(tmp_path).write(ONE, Omissions())
    (tmp_path / "comparisons.csv").write_text("mine")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(Refused, match=r"comparisons\.csv"):
        ReportFolder(tmp_path).write(TWO, Omissions())
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
        ReportFolder(tmp_path).write(ONE, Omissions())


def broken(*_: object, **__: object) -> NoReturn:
    raise KeyError(None)


def write_broken(folder: Path) -> tuple[Page, list[str]]:
    """Write the report of the larger sweep, and return its page and what it lacks."""
    omissions = Omissions()
    page, *figures = ReportFolder(folder).write(TWO, omissions)
    assert all(path.is_file() for path in figures)
    return Page(page.read_text(encoding="utf-8")), omissions.sentences


def files_of(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize(
    ("place", "part", "missing"),
    [
        ("dpbench.report.tables.ledger", "the table ledger", {"ledger.csv", "ledger.tex"}),
        ("dpbench.report.tables.all_cells", "the table summary", {"summary.csv"}),
        ("dpbench.report.latex_table._layout", "the table decision in LaTeX, the table leaderboard in LaTeX, ", set()),
    ],
)
def test_an_error_in_a_table_costs_that_table_alone(
    place: str, part: str, missing: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ReportFolder(tmp_path / "whole").write(TWO, Omissions())
    monkeypatch.setattr(place.replace("tables.all_cells", "report_files.all_cells"), broken)
    page, (sentence,) = write_broken(tmp_path / "broken")
    assert sentence.startswith(part[:1].upper() + part[1:])
    assert f"INCOMPLETE. {sentence}" in page.text
    missing = missing or {name for name in files_of(tmp_path / "whole") if name.endswith(".tex")}
    assert files_of(tmp_path / "whole") - files_of(tmp_path / "broken") == missing


@pytest.mark.usefixtures("planted")
def test_in_place_of_a_page_that_fails_there_is_the_answer_with_the_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("dpbench.report.html_page.standings", broken)
        page, (sentence,) = write_broken(tmp_path)
    assert sentence.startswith("The page could not be made: KeyError: None")
    assert f"INCOMPLETE. {sentence}" in page.text
    assert SweepSummary(TWO).headlines[0] in page.text
    assert {link["href"] for link in page.all("a")} == files_of(tmp_path) - {"report.html"}
    whole, sentences = write_broken(tmp_path)
    assert sentences == []
    assert "INCOMPLETE" not in whole.text
