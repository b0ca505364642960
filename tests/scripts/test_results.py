"""The page that lists the papers' figures is written from what was run."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from dpbench.experiments.presets import experiments

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "results.py"


@pytest.fixture(scope="module")
def results() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("results", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["results"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["results"]


def test_figures_are_run_by_paper_and_number_and_each_once(results: ModuleType) -> None:
    known = experiments()
    asked = [known["zhang2012/fig9"], known["fang2019/fig3"], known["zhang2012/fig4"], known["zhang2012/fig9"]]
    assert [one.name for one in results.in_order(asked)] == ["fang2019/fig3", "zhang2012/fig4", "zhang2012/fig9"]


def test_the_page_has_each_figure_with_its_command_its_seconds_and_its_cells(results: ModuleType) -> None:
    one = experiments()["zhang2012/fig6"]
    ran = results.Ran(one, one.command, 61.4, "108 run, 12 pruned", False)
    page = results.index([ran], {one.name: "What it shows."}, True)
    assert "![Zhang et al. 2012, Figure 6](zhang2012/fig6.png)" in page
    assert "What it shows. ([PDF](zhang2012/fig6.pdf))" in page
    assert "`python -m dpbench -m experiment=zhang2012/fig6`: 61 s; cells: 108 run, 12 pruned." in page
    assert "no evidence" in page
    assert "no evidence" not in results.index([ran], {}, False)
    assert "There is no figure." in results.index([ran], {}, False)


def test_the_readme_shows_the_verdicts_of_the_scorecard_and_the_page_every_preset(results: ModuleType) -> None:
    scored = (ROOT / "docs" / "results" / "scorecard.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.count(results.START) == readme.count(results.END) == 1
    assert results.in_short(scored) in readme, "written by scripts/results.py"
    claims = ["| a \\| b | 1 | **holds** | x | y |", "| (Not in the paper.) c | 1 | **holds** | x | |"]
    shown = results.in_short("\n".join(["# Claims", "## A 2012: title", *claims]))
    assert shown.splitlines()[2:] == ["| A 2012 | a \\| b | holds |"]
    page = (ROOT / "docs" / "results" / "index.md").read_text(encoding="utf-8")
    for name in experiments():
        assert f"({name}.png)" in page
        assert (ROOT / "docs" / "results" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (ROOT / "docs" / "results" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
