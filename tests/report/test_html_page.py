"""The page of a report is self-contained and harmless, and its numbers are the records'."""

from __future__ import annotations

import base64
import hashlib
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cell_factory import make_cell, make_sweep
from matplotlib.figure import Figure
from report_helpers import COMMAND, HOSTILE, Page, csv_of, page_of, person_cell, write_report

from dpbench.records.cell_record import CellRecord
from dpbench.records.preset import Preset
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.figures import catalog
from dpbench.report.figures.catalog import CaptionedFigure
from dpbench.report.html_page import page_title


def test_the_page_needs_nothing_but_itself(sweep: SweepRecord, tmp_path: Path) -> None:
    page = page_of(sweep, tmp_path)
    assert page.all("script") == [{}], "one script, which is on the page"
    assert not page.all("link")
    assert not page.all("iframe")
    links = [value for _, attributes in page.elements for name, value in attributes.items() if name in ("src", "href", "srcset")]
    assert all(value and value.startswith(("#", "data:image/png;base64,")) for value in links)
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert "@import" not in (tmp_path / "report.html").read_text()
    assert "url(" not in (tmp_path / "report.html").read_text()
    assert sum(value.startswith("data:") for value in links if value) == len(page.all("img")) > 0


def test_every_link_leads_somewhere_and_every_picture_says_what_it_shows(sweep: SweepRecord, tmp_path: Path) -> None:
    page = page_of(sweep, tmp_path)
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert {str(link["href"]).removeprefix("#") for link in page.all("a")} <= ids
    assert all(len(image["alt"] or "") > 20 for image in page.all("img"))
    assert page.all("html")[0]["lang"] == "en"
    assert all("scope" in attributes for attributes in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table")) > 2


def test_a_hostile_name_is_shown_as_text(tmp_path: Path, undrawn: None) -> None:
    rows = [
        person_cell(HOSTILE, 0.2),
        person_cell("good", 0.3),
        person_cell("open", 0.1, ranked=False, params={"dataset": HOSTILE}),
    ]
    preset = Preset(name=HOSTILE, title=HOSTILE, shows=HOSTILE, chosen=HOSTILE)
    rows.append(CellRecord("failed", rows[0].params, reason=HOSTILE))
    page = page_of(SweepRecord(tuple(rows), f"python {HOSTILE}", preset=preset), tmp_path)
    assert page.all("script") == [{}], "only the page's own"
    assert page.text.count(HOSTILE) > 8


@pytest.mark.parametrize(
    ("caption", "said"),
    [
        (f'"quoted" {HOSTILE}', f'The first. "quoted" {HOSTILE}'),
        ("The first: errors of all runs.", "The first: errors of all runs."),
    ],
)
def test_a_figure_s_caption_is_text_too_and_says_its_title_once(
    caption: str, said: str, sweep: SweepRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def draw(sweep: SweepRecord, folder: Path, *_: object, **__: object) -> tuple[CaptionedFigure, ...]:
        (folder / "one.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(8) + (400).to_bytes(4, "big") + (200).to_bytes(4, "big"))
        return (CaptionedFigure("one", "The first", caption, Figure()),)

    monkeypatch.setattr(catalog, "save_figures", draw)
    assert write_report(sweep, tmp_path) == ["one.png"]
    page = Page((tmp_path / "report.html").read_text())
    (image,) = page.all("img")
    assert image["alt"] == said
    assert said in page.text
    assert (image["width"], image["height"]) == ("320", "160"), "0.8 of its pixels"


def test_the_page_shows_the_same_numbers(sweep: SweepRecord, tmp_path: Path, undrawn: None) -> None:
    page = page_of(sweep, tmp_path)
    cells = {cell for row in page.tables[1][1:] for cell in row}
    for line in csv_of(tmp_path / "leaderboard.csv"):
        assert f"{float(line['median']):#.4g}" in cells
        assert f"{float(line['p20']):#.4g} to {float(line['p80']):#.4g}" in cells


def test_a_large_sweep_is_cut_on_the_page_and_whole_in_the_files(tmp_path: Path, undrawn: None) -> None:
    rows = [person_cell(f"m{number}", 0.2 + number / 1000) for number in range(80)]
    page = page_of(make_sweep(rows, COMMAND), tmp_path)
    assert "20 more places are in leaderboard.csv" in page.text
    assert len(csv_of(tmp_path / "leaderboard.csv")) == 80


@pytest.mark.parametrize("state", ["failed", "pruned"])
def test_a_sweep_without_results_says_so_and_nothing_else(tmp_path: Path, state: Any) -> None:
    rows = (CellRecord(state, person_cell("good", 0.2).params, reason="it makes no sense"),)
    page = page_of(SweepRecord(rows, COMMAND), tmp_path)
    assert "No cell of this sweep has a result." in page.text
    assert f"Nothing ran, so nothing can be said: 1 cell {state}." in page.text
    assert "it makes no sense" in page.text
    assert len(page.tables) == 1
    for word in ("proof", "These errors", "Leaderboard", "What is private", "Ranked by"):
        assert word not in page.text, word


def test_a_changed_preset_is_not_presented_as_its_paper_s(tmp_path: Path, undrawn: None) -> None:
    preset = Preset(name="a/b", title="A paper, Figure 1", shows="errors of everything", chosen="all that was open")
    for command, changed in (("-m experiment=a/b engine=serial", False), ("-m experiment=a/b epsilon=7,8 'dataset=a b'", True)):
        text = page_of(SweepRecord((person_cell("good", 0.2),), command, tuple(shlex.split(command)[1:]), preset), tmp_path).text
        assert (
            "Not the paper's figure. The preset was changed on the command line: epsilon=7,8 and dataset=a b ." in text
        ) == changed
        assert ("A paper, Figure 1, changed" in text) == changed
        assert ("rrors of everything" in text) != changed
        assert ("all that was open" in text) != changed


def test_with_too_few_repeats_the_leaderboard_says_how_many_are_needed(tmp_path: Path, undrawn: None) -> None:
    cells = [person_cell(name, error, repeats=1) for name, error in (("good", 0.2), ("fair", 0.3))]
    text = page_of(make_sweep(cells, COMMAND), tmp_path).text
    assert "no: 1 repeat, at least 6 are needed" in text
    assert "more repeats" not in text.partition("separated")[2]
    (line,) = csv_of(tmp_path / "comparisons.csv")
    assert (line["repeats"], line["fewest repeats"], line["more repeats"]) == ("1", "6", "")


@pytest.mark.parametrize("control", [True, False])
def test_controls_are_explained_where_there_are_some(tmp_path: Path, undrawn: None, control: bool) -> None:
    attack = {"attack/advantage_mean": 0.125, "attack/cap": 0.5}
    attack |= {"attack/control/imputation/advantage_mean": 0.25} if control else {}
    text = page_of(make_sweep([person_cell("good", 0.2, params={"attack": "spy"}, metrics=attack)], COMMAND), tmp_path).text
    assert "the largest expected difference" in text
    assert ("control" in text) == control


@pytest.mark.parametrize(("problems", "hidden"), [(12, False), (13, True)])
def test_twelve_problems_have_a_leaderboard_and_the_others_are_counted(
    tmp_path: Path, undrawn: None, problems: int, hidden: bool
) -> None:
    cells = [make_cell(params={"dataset": f"d{number}"}) for number in range(problems)]
    assert ("1 more problems are in leaderboard.csv" in page_of(make_sweep(cells), tmp_path).text) == hidden


@pytest.mark.parametrize(("mechanisms", "hidden"), [(40, False), (41, True)])
def test_a_table_shows_forty_rows_and_counts_the_others(tmp_path: Path, undrawn: None, mechanisms: int, hidden: bool) -> None:
    cells = [make_cell(f"m{number}", repeats=1) for number in range(mechanisms)]
    assert ("1 more rows are in ledger.csv" in page_of(make_sweep(cells), tmp_path).text) == hidden


@pytest.mark.parametrize(("problems", "hidden"), [(60, False), (61, True)])
def test_sixty_problems_have_a_sentence_each(tmp_path: Path, undrawn: None, problems: int, hidden: bool) -> None:
    cells = [make_cell(error=0.16, params={"dataset": f"d{number}"}, repeats=1) for number in range(problems)]
    text = page_of(make_sweep(cells), tmp_path).text
    assert ("linear on d3 at ε = 0.8: fm is the only" in text) != hidden
    assert ("Each problem at each ε is in leaderboard.csv" in text) == hidden


@pytest.mark.parametrize(("problems", "opened"), [(12, True), (13, False)])
def test_up_to_twelve_sentences_are_unfolded(tmp_path: Path, undrawn: None, problems: int, opened: bool) -> None:
    cells = [make_cell(params={"dataset": f"d{number}"}) for number in range(problems)]
    details, _ = page_of(make_sweep(cells), tmp_path).all("details")
    assert ("open" in details) == opened


@pytest.mark.parametrize(("mechanisms", "title"), [(4, "m0, m1, m2, m3 · linear · wine"), (5, "5 mechanisms · linear · wine")])
def test_up_to_four_mechanisms_are_in_the_title(mechanisms: int, title: str) -> None:
    assert page_title(make_sweep([make_cell(f"m{number}") for number in range(mechanisms)])) == title


def test_each_group_names_its_rule_and_has_a_first_rank_and_exploding_runs_are_counted(tmp_path: Path, undrawn: None) -> None:
    runs = {"reference/mean_predictor/rmse": np.full(24, 0.01)}
    cells = [
        person_cell("a", 0.2, tags={"dpbench.sensitivity": "tight"}),
        person_cell("b", 0.201, tags={"dpbench.sensitivity": "tight"}),
        person_cell("c", 0.3, tags={"dpbench.sensitivity": "paper"}, runs=runs),
    ]
    page = page_of(make_sweep(cells, COMMAND), tmp_path)
    rows = {
        mechanism: row for row in page.tables[1] for mechanism in "abc" if any(text.split()[:1] == [mechanism] for text in row)
    }
    assert "the smallest proven sensitivity (tight)" in rows["a"][0]
    assert "the sensitivity of the rule 'paper'" in rows["c"][0]
    assert (rows["a"][1], rows["b"][1], rows["c"][1]) == ("1", "1", "1")
    assert "practically the same" in rows["b"]
    assert "(explodes in 24 of 24 runs, up to 0.31)" in " ".join(rows["c"])


def test_the_leaderboard_shows_errors_in_the_target_s_unit_too(tmp_path: Path, undrawn: None) -> None:
    tags, metrics = {"dpbench.target_unit": "USD"}, {"utility/rmse_raw_median": 26_850.0}
    with_unit = page_of(SweepRecord((person_cell("fm", 0.2, metrics=metrics, tags=tags),), COMMAND), tmp_path / "a").tables[1]
    assert with_unit[0][4] == "in USD"
    assert with_unit[1][3:5] == ["0.2000", "26,850"]
    without = page_of(SweepRecord((person_cell("fm", 0.2),), COMMAND), tmp_path / "b").tables[1]
    assert len(without[0]) == len(with_unit[0]) - 1


def test_the_notes_on_a_sweep_stand_below_its_command(sweep: SweepRecord, tmp_path: Path, undrawn: None) -> None:
    note = "The recorded command has *** in place of the store's password."
    text = page_of(replace(sweep, notes=(note,)), tmp_path).text
    assert note in text.partition(COMMAND)[2]


def test_a_policy_in_the_page_allows_its_own_script_and_nothing_else(sweep: SweepRecord, tmp_path: Path, undrawn: None) -> None:
    write_report(sweep, tmp_path)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    script = text.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = (meta["content"] for meta in Page(text).all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy == f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def test_a_refuted_claim_and_failed_cells_are_named_before_any_number(tmp_path: Path, undrawn: None) -> None:
    refuted = make_cell("bad", 0.1, tags={"dpbench.guarantee": "refuted", "dpbench.sound": "false"})
    text = page_of(
        make_sweep([make_cell("fm", 0.2), refuted, make_cell("broken", None, state="failed", reason="x")]), tmp_path
    ).text
    order = ["REFUTED. bad. An audit has refuted", "FAILED. 1 cell of broken gave no result", "The answer"]
    assert sorted(order, key=text.index) == order
    quiet = page_of(make_sweep([make_cell("fm", 0.2)]), tmp_path / "quiet").text
    assert "FAILED" not in quiet
    assert "REFUTED" not in quiet


def test_the_figure_comes_first_and_then_the_decision(sweep: SweepRecord, tmp_path: Path) -> None:
    page = page_of(sweep, tmp_path)
    order = [(tag, attributes.get("class") or attributes.get("id")) for tag, attributes in page.elements]
    places = [order.index(("figure", None)), order.index(("table", "decision plain")), order.index(("section", "leaderboard"))]
    assert places == sorted(places)


def test_the_points_of_a_figure_have_their_values(sweep: SweepRecord, tmp_path: Path) -> None:
    page = page_of(sweep, tmp_path)
    assert "good, ε = 0.5: 0.4 (20-80 % of the runs: 0.39 to 0.41)" in page.text
    assert len(page.all("circle")) > 4


def test_many_problems_have_one_row_each_and_every_epsilon_below(tmp_path: Path, undrawn: None) -> None:
    cells = [
        person_cell("fm", error, epsilon, params={"dataset": f"d{number}"})
        for number in range(30)
        for epsilon, error in ((1, 0.13), (2, 0.11))
    ]
    page = page_of(make_sweep(cells, COMMAND), tmp_path)
    first, second = page.tables[:2]
    assert (len(first) - 1, len(second) - 1) == (30, 60)
    assert len(csv_of(tmp_path / "decision.csv")) == 60


def test_a_loss_of_more_than_everything_has_no_bar(tmp_path: Path, undrawn: None) -> None:
    cells = [person_cell("good", 0.11), person_cell("bad", 1.364)]
    write_report(make_sweep(cells, COMMAND), tmp_path)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ">316 %<" in text
    assert text.count("--share: ") == 1


def test_shares_and_other_numbers_of_health_have_tables_of_their_own(tmp_path: Path, undrawn: None) -> None:
    cell = person_cell("good", 0.2, metrics={"health/repaired": 0.25, "health/penalty": 3.5})
    page = page_of(make_sweep([cell], COMMAND), tmp_path)
    shares, numbers = (table for table in page.tables if table[0][-4:-2] == ["smallest", "largest"])
    assert [row[3] for row in shares[1:]] == ["repaired"]
    assert [row[3] for row in numbers[1:]] == ["chosen λ"]


def test_runs_that_lost_everything_are_in_the_decision_table_and_on_the_leaderboard(tmp_path: Path, undrawn: None) -> None:
    page = page_of(make_sweep([person_cell("fm", 0.12, metrics={"utility/failed_share": 0.004})]), tmp_path)
    assert ["ε", "best mechanism", "scaled error", "lost to privacy", "runs that lost all"] in [table[0] for table in page.tables]
    assert "fm (lost everything in 0.4 % of the runs)" in page.text
    assert csv_of(tmp_path / "leaderboard.csv")[0]["failed share"] == "0.004"
