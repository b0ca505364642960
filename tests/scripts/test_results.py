"""The page that lists the papers' figures is written from what was run."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from script_loader import load_script

from dpbench.experiments.presets import experiments

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def results() -> ModuleType:
    return load_script("results")


def test_figures_are_run_by_paper_and_number_and_each_once(results: ModuleType) -> None:
    known = experiments()
    sorted_names = ["fang2019/fig3", "zhang2012/fig4", "zhang2012/fig4_box", "zhang2012/fig9", "zhang2012/bins"]
    asked = [known[name] for name in (*reversed(sorted_names), "zhang2012/fig9")]
    assert [one.name for one in results.in_order(asked)] == sorted_names


def test_figures_that_show_seconds_are_told_from_others(results: ModuleType) -> None:
    timed = [name for name, one in experiments().items() if results.shows_seconds(one)]
    assert sorted(timed) == ["zhang2012/fig7", "zhang2012/fig8", "zhang2012/fig9"]


def test_the_page_has_each_figure_with_its_command_its_seconds_and_its_cells(results: ModuleType) -> None:
    one = experiments()["zhang2012/fig6"]
    ran = results.PresetRun(one, one.facts()["command"], 61.4, "108 run, 12 pruned", False)
    page = results.index([ran], {one.name: "What it shows."}, True)
    assert "![Zhang et al. 2012, Figure 6](zhang2012/fig6.png)" in page
    assert "What it shows. ([PDF](zhang2012/fig6.pdf), [for a column](zhang2012/fig6_column.pdf))" in page
    assert "`python -m dpbench -m experiment=zhang2012/fig6`: 61 s; cells: 108 run, 12 pruned." in page
    assert "no evidence" in page
    assert "no evidence" not in results.index([ran], {}, False)
    assert "There is no figure." in results.index([ran], {}, False)


SCORECARD = """
# Claims

## A 2012: title

| claim | where | on real tables | on synthetic tables | data | evidence |
| --- | --- | --- | --- | --- | --- |
| a \\| b | 1 | **holds (2 of 2)** | **not testable here (3 of 3)** | x | y |
| (Not in the paper.) c | 1 | **holds (1 of 1)** | no such table | x | |
| d | 2 | **holds in 1 of 2** | no such table | x | |

## B 2013: title

| claim | where | on real tables | on synthetic tables | data | evidence |
| --- | --- | --- | --- | --- | --- |
| e | 1 | no such table | **does not hold (1 of 1 against)** | x | |
| f | 2 | no such table | **not decided (0 of 1 point that way)** | x | |
| g | 2 | no such table | **not run** | | |
"""


def test_the_claims_of_the_papers_are_listed_and_counted_by_their_verdicts_and_tables(results: ModuleType) -> None:
    scored = results.verdicts_in(SCORECARD)
    assert list(scored) == ["A 2012", "B 2013"]
    real, synthetic = "on real tables", "on synthetic tables"
    assert [(claim.text, claim.verdicts[real], claim.verdicts[synthetic]) for claim in scored["A 2012"]] == [
        ("a \\| b", "holds (2 of 2)", "not testable here (3 of 3)"),
        ("d", "holds in 1 of 2", "no such table"),
    ]
    table = [line.strip("| ").split(" | ") for line in results.summary(scored).splitlines()]
    assert table[0] == ["paper", "tables", "claims", "hold", "hold in part", "do not hold", "not testable", "open"]
    assert table[2:] == [
        ["A 2012", "real", "2", "1", "1", "0", "0", "0"],
        ["A 2012", "synthetic", "1", "0", "0", "0", "1", "0"],
        ["B 2013", "synthetic", "3", "0", "0", "1", "0", "2"],
    ]
    page = results.claims_page(scored)
    assert f"| paper | what it asserts | {real} | {synthetic} |\n" in page
    assert "|  | d | holds in 1 of 2 | no such table |\n" in page


def test_the_readme_and_the_page_of_claims_are_those_of_the_scorecard(results: ModuleType) -> None:
    scored = results.verdicts_in((ROOT / "docs" / "results" / "scorecard.md").read_text(encoding="utf-8"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    stale = "python scripts/results.py --summary writes it"
    assert f"{results.START}\n\n{results.summary(scored)}\n{results.END}\n" in readme, stale
    assert (ROOT / "docs" / "results" / "claims.md").read_text(encoding="utf-8") == results.claims_page(scored), stale


def test_the_page_of_results_has_every_preset(results: ModuleType) -> None:
    page = (ROOT / "docs" / "results" / "index.md").read_text(encoding="utf-8")
    for name in results.with_figures(experiments()):
        assert f"({name}.png)" in page
        assert (ROOT / "docs" / "results" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (ROOT / "docs" / "results" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
