"""`report` makes a sweep's report again from the store alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

import pytest

import dpbench
from dpbench.__main__ import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store that holds two sweeps; some cells of the second are known from the first."""
    folder = tmp_path_factory.mktemp("report")
    options = {"tracking.uri": f"sqlite:///{folder / 'm.db'}", "dataset.n": 300, "dataset.d": 3, "splits.repeats": 7}
    for mechanisms in (["fm"], ["fm", "dpba", "no_privacy"]):
        dpbench.sweep({**options, "splits.folds": 2}, mechanism=mechanisms, dataset="gaussian", epsilon=[0.5, 4.0])
    return folder


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{home / 'm.db'}")


def reports(home: Path) -> list[Path]:
    """The reports that the sweeps wrote, the larger sweep's last."""
    return sorted((home / "mlartifacts").glob("*/artifacts/report"), key=lambda path: len((path / "summary.csv").read_text()))


@pytest.mark.long
def test_from_the_records_alone_it_is_the_report_that_the_sweep_wrote(home: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["report"]) == 0
    swept, said = reports(home)[-1], capsys.readouterr().out.splitlines()
    assert f"Report: {Path('report', 'report.html')}" in said
    assert {f"Figure: {Path('report', path.name)}" for path in swept.glob("*.png")} == {
        line for line in said if "Figure: " in line
    }
    written = {path.name: path.read_bytes() for path in (tmp_path / "report").iterdir()}
    pdfs = {name for name in written if name.endswith(".pdf")}
    figures = [name.removesuffix(".png") for name in written if name.endswith(".png")]
    assert pdfs == {f"{name}{end}" for name in figures for end in (".pdf", "_column.pdf")}
    assert {path.name for path in swept.iterdir()} == set(written) - pdfs, "PDFs are drawn when somebody asks for them"
    file_lists = re.compile(rb'<meta name="files".*|.*In the same folder as this page:.*')
    for path in swept.iterdir():
        own, stored = (file_lists.sub(b"", content) for content in (written[path.name], path.read_bytes()))
        assert own == stored, path.name


def test_a_sweep_is_named_by_the_beginning_of_its_run_id(home: Path, tmp_path: Path, capsys: Capture) -> None:
    older = reports(home)[0].parents[1].name
    assert main(["report", older[:6], "--out", "deep/down"]) == 0
    assert older in capsys.readouterr().out
    assert "privr" not in (tmp_path / "deep" / "down" / "report.html").read_text()


def test_an_earlier_report_is_replaced_and_other_files_stay(home: Path, tmp_path: Path) -> None:
    assert main(["report"]) == 0
    out = tmp_path / "report"
    (out / "mine.txt").write_text("kept")
    first = (out / "comparisons.csv").read_text()
    assert first.count("\n") == 3
    assert main(["report", reports(home)[0].parents[1].name]) == 0
    assert not (out / "comparisons.csv").exists(), "one mechanism alone has nothing to be compared with"
    assert (out / "mine.txt").read_text() == "kept"


def test_somebody_else_s_folder_is_not_written_to(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "report.html").write_text("<html>ten years of work</html>")
    assert main(["report", "--out", "thesis"]) == 2
    assert "has files but no report" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["report.html"]
    (tmp_path / "file").write_text("")
    assert main(["report", "--out", "file"]) == 2
    assert "is a file" in capsys.readouterr().err


def test_a_wrong_name_lists_the_known_ones_and_writes_nothing(home: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["report", "zhang2012/fig66"]) == 2
    error = capsys.readouterr().err
    assert "zhang2012/fig66" in error
    assert all(path.parents[1].name in error for path in reports(home))
    assert not list(tmp_path.iterdir())


def test_a_person_s_file_with_the_name_of_a_new_one_is_not_replaced(home: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["report", reports(home)[0].parents[1].name]) == 0
    out = tmp_path / "report"
    (out / "comparisons.csv").write_text("mine")
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert main(["report"]) == 2
    assert (
        "has files of the same names as this report's, which no report wrote: comparisons.csv. Move them"
        in capsys.readouterr().err
    )
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_too_short_a_run_id_is_told_how_long_it_must_be(home: Path, capsys: Capture) -> None:
    assert main(["report", reports(home)[0].parents[1].name[:5]]) == 2
    assert "A run id needs at least its first 6 characters. Known: " in capsys.readouterr().err
    assert main(["report", "zhang2012/fig66"]) == 2
    assert "at least" not in capsys.readouterr().err


def test_a_cut_list_of_sweeps_says_that_it_is_cut(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr("dpbench.tracking.sweep_files.MAX_LISTED_SWEEPS", 1)
    assert main(["report", "zhang2012/fig66"]) == 2
    assert " and 1 more." in capsys.readouterr().err


def test_where_there_is_no_store_a_sentence_says_how_to_make_one(tmp_path: Path, capsys: Capture) -> None:
    assert main(["report", "--uri", "sqlite:///none.db"]) == 2
    assert "A first sweep creates them" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("planted")
def test_what_an_error_prevents_is_a_sentence_and_all_else_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def broken(*_: object, **__: object) -> NoReturn:
        raise KeyError(None)

    monkeypatch.setattr("dpbench.report.tables.ledger", broken)
    monkeypatch.setattr("dpbench.report.figures.catalog.save_figures", broken)
    assert main(["report"]) == 0
    said = capsys.readouterr()
    assert f"Report: {Path('report', 'report.html')}" in said.out
    assert said.err.startswith("The figures, the table ledger could not be made: KeyError: None (test_report.py:")
    assert {"report.html", "decision.csv", "decision.tex"} <= {path.name for path in (tmp_path / "report").iterdir()}
    dpbench.load().report(tmp_path / "again")
    assert capsys.readouterr().err == said.err


def test_a_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpbench.report.report_files.write_report", full)
    assert main(["report"]) == 1
    assert capsys.readouterr().err == "The report could not be written to 'report': No space left on device.\n"


def test_an_interruption_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpbench.report.report_files.write_report", interrupted)
    assert main(["report"]) == 130
    assert "Interrupted" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_page_is_opened_where_there_is_a_browser(
    home: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses: list[str] = []
    for there_is_one in (True, False):
        monkeypatch.setattr("webbrowser.open", lambda address, found=there_is_one: addresses.append(address) or found)
        assert main(["report", "--browser"]) == 0
        assert ("There is no browser here" in capsys.readouterr().out) != there_is_one
    assert addresses == [(tmp_path / "report" / "report.html").as_uri()] * 2
