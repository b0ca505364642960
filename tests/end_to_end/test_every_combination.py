"""Every mechanism × model × attack in one sweep: its report, every figure, `compare` and `claims` are made without an error."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import matplotlib
import pytest

import dpbench
from dpbench.__main__ import main
from dpbench.experiments.claims import claims_of, judge, papers_with_claims
from dpbench.experiments.presets import experiments
from dpbench.experiments.scorecard import markdown
from dpbench.records.names import declared
from dpbench.records.preset import Preset
from dpbench.registry.lookup import registry
from dpbench.report.figures.catalog import save_preset_figure

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")]

TABLES = ("dataset=wine,census", "dataset.sample_n=300", "splits.repeats=2", "splits.folds=2")
# shadow fits, evaluated rows and bins of histograms: as few as these components allow or need
SMALL = ("attack.fits=8", "attack.targets=50", "mechanism.cells=5000", "mechanism.size=600")
GRID = ("mechanism=glob(*)", "model=glob(*)", "attack=glob(*)", *TABLES, *SMALL)


class Said(NamedTuple):
    """What a command said."""

    code: int
    out: str
    errors: str


class Swept(NamedTuple):
    """A sweep of everything, and a smaller one of the same cells after it."""

    folder: Path
    first: Said
    again: Said
    result: dpbench.Result


def said(*arguments: str) -> Said:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as errors:
        code = main(list(arguments))
    return Said(code, out.getvalue(), errors.getvalue())


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Swept:
    folder = tmp_path_factory.mktemp("everything")
    uri = f"sqlite:///{folder / 'mlflow.db'}"
    first = said("-m", *GRID, "epsilon=0.1,100", "engine=serial", f"tracking.uri={uri}")
    result = dpbench.load(uri=uri)
    return Swept(folder, first, said("-m", *GRID, "epsilon=100", f"tracking.uri={uri}"), result)


@pytest.fixture
def here(swept: Swept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Swept:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{swept.folder / 'mlflow.db'}")
    return swept


def test_every_component_has_a_cell_with_a_result_and_every_other_cell_a_reason(swept: Swept) -> None:
    cells = swept.result.sweep.cells
    assert {cell.state for cell in cells} == {"run", "pruned"}, [cell.reason for cell in cells if cell.state == "failed"]
    for kind in ("mechanism", "model", "attack"):
        assert {cell.params[kind] for cell in cells} == {*registry().names(kind)}
        assert {cell.params[kind] for cell in cells if cell.done} == {*registry().names(kind)}
    assert all(cell.reason.endswith(".") for cell in cells if not cell.done)


def test_the_sweep_prints_its_answer_and_writes_its_report(swept: Swept) -> None:
    for answer in (swept.first, swept.again):
        assert answer.code == 0, answer.errors
        assert "could not be made" not in answer.errors
        assert "Traceback" not in answer.errors
        assert "best mechanism" in answer.out
    general = {declaration.text for declaration in declared("figures")} - {"figure"}
    assert {Path(line).stem for line in swept.first.out.splitlines() if line.startswith("Figure: ")} == general
    assert " 0 run, " in swept.again.out


@pytest.mark.parametrize("sweep", ["latest", "previous"])
def test_the_report_is_made_of_the_records_in_every_format(here: Swept, sweep: str, tmp_path: Path) -> None:
    answer = said("report", sweep)
    assert (answer.code, answer.errors) == (0, "")
    text = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "INCOMPLETE" not in text
    names = {path.stem for path in (tmp_path / "report").glob("*.png")}
    assert {"error_vs_accounted", "boxes", "health", "ranks"} <= names
    for name in names:
        assert (tmp_path / "report" / f"{name}.pdf").is_file()
        assert (tmp_path / "report" / f"{name}_column.pdf").is_file()
    tables = {declaration.text for declaration in declared("tables")} - {"failures"}
    assert {path.stem for path in (tmp_path / "report").glob("*.tex")} >= tables - {"leaks"}


PRESETS = {str(experiment.preset.figure): experiment.preset for experiment in experiments().values() if experiment.preset}
"""A preset for each kind of figure."""


@pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda preset: preset.name)
def test_a_figure_of_a_preset_takes_every_cell(here: Swept, preset: Preset, tmp_path: Path) -> None:
    """Its cells are not the preset's own: it shows what it can, or nothing."""
    caption = save_preset_figure(replace(here.result.sweep, preset=preset), tmp_path / "figure")
    assert (caption is None) == (not list(tmp_path.iterdir()))


def test_the_result_in_python_is_a_frame_a_plot_and_a_page(here: Swept) -> None:
    with matplotlib.rc_context({"backend": "agg"}):
        axes = here.result.plot()
        assert len(axes.lines) > len(registry().names("mechanism"))
        matplotlib.pyplot.close(axes.figure)
    assert here.result.answer
    assert "<table" in here.result._repr_html_()
    assert len(here.result.full) == len(here.result)


def test_compare_finds_that_nothing_changed(here: Swept) -> None:
    answer = said("compare", "previous", "latest")
    assert (answer.code, answer.errors) == (0, "")
    assert " same" in answer.out
    changes = json.loads(said("compare", "--json", "previous", "latest").out)
    common = [change for change in changes if change["run_before"] and change["run_after"]]
    assert len(common) > 300
    assert {change["verdict"] for change in common} == {"same"}


def test_claims_are_judged_on_cells_that_no_paper_has(here: Swept) -> None:
    answer = said("claims", "--out", "claims.md", "--csv", "claims.csv")
    assert (answer.code, answer.errors) == (0, "")
    sweep = here.result.sweep
    claims = [claim for paper in papers_with_claims().values() for claim in claims_of(paper)]
    assert markdown([judge(claim, dict.fromkeys(claim.presets, sweep)) for claim in claims])
