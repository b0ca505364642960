"""The page of a report: self-contained, harmless, and its numbers are the records'."""

from __future__ import annotations

import csv
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.records.preset import Preset
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.answer import short_answer
from dpbench.report.figures import catalog
from dpbench.report.figures.catalog import CaptionedFigure
from dpbench.report.leaderboards import boards
from dpbench.report.report_files import write_report as write_report_of
from dpbench.report.summary import SweepSummary
from dpbench.report.text_table import TextTable, escaped

HOSTILE = '<script>alert("a&b")</script>'
COMMAND = "python -m dpbench -m mechanism=good,<b>bad</b>"
REPEATS = 12
VOID = {"meta", "img", "br", "link"}

Make = Callable[..., CellRecord]


class Page(HTMLParser):
    """What a browser would see: the elements with their attributes, all closed in order, and the text of each table cell."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[list[str]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.texts.append(data)
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def make() -> Make:
    """A cell's row with its runs and its ledger."""

    def row(mechanism: str, error: float, epsilon: float = 0.8, *, ranked: bool = True, **more: Any) -> CellRecord:
        repeat, fold = np.repeat(np.arange(REPEATS), 2), np.tile([0, 1], REPEATS)
        values = error + 0.01 * np.sin(np.arange(2 * REPEATS) + 10 * error)
        params = {"mechanism": mechanism, "model": "linear", "dataset": "people", "attack": "none", "epsilon": f"{epsilon:g}"}
        params |= {"delta": "1e-06", "splits": "12 x 2-fold", **more.pop("params", {})}
        tags = {"dpbench.sound": "true", "dpbench.private": "true", "dpbench.leaks": ""}
        tags |= {"dpbench.synthetic": "false", "dpbench.version": "9.9", "dpbench.numpy": "2.0", **more.pop("tags", {})}
        metrics = {"privacy/epsilon_accounted": epsilon, "reference/no_privacy/rmse_median": 0.1}
        metrics |= {"reference/mean_predictor/rmse_median": 0.5, "utility/rmse_median": float(np.median(values))}
        metrics |= {"utility/rmse_p20": float(np.quantile(values, 0.2)), "utility/rmse_p80": float(np.quantile(values, 0.8))}
        metrics |= more.pop("metrics", {})
        cost = {"kind": "pure", "epsilon": epsilon} if ranked else {"kind": "none"}
        if not ranked:
            metrics.pop("privacy/epsilon_accounted")
            tags |= {"dpbench.sound": "false", "dpbench.private": "false"}
        entry = {"query": "sums", "noise": "laplace", "scale": 2 / epsilon, "cost": cost, "sound": ranked, "proof": "Lemma 1"}
        leaks = [{"what": what, "why": why} for what, why in more.pop("leaks", {}).items()]
        runs = {"repeat": repeat, "fold": fold, "n_train": repeat * 0 + 50, "n_test": repeat * 0 + 50, "utility/rmse": values}
        detail = DetailInMemory({"seed": 7}, {"neighbours": "replace_one", "entries": [entry], "leaks": leaks}, runs)
        return CellRecord("run", params, tags, metrics, "rmse", run_id="1", detail=detail)

    return row


@pytest.fixture
def sweep(make: Make) -> SweepRecord:
    """Two ranked cells at each of two ε; better ones that may not be ranked; a failed and a pruned one."""
    rows = [
        make(name, error + 0.1 / epsilon, epsilon) for epsilon in (0.5, 2.0) for name, error in (("good", 0.2), ("fair", 0.3))
    ]
    rows += [make("open", 0.11, epsilon, ranked=False) for epsilon in (0.5, 2.0)]
    rows.append(make("leaky", 0.12, 2.0, tags={"dpbench.leaks": "bounds"}, leaks={"bounds": "read; from the rows"}))
    rows.append(make("claimed", 0.13, 2.0, tags={"dpbench.sound": "false"}))
    params = {**rows[0].params, "mechanism": HOSTILE}
    rows += [CellRecord("failed", params, reason=f"it said {HOSTILE}"), CellRecord("pruned", params, reason="it makes no sense")]
    return SweepRecord(tuple(rows), COMMAND, run_id="abcdef")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures have tests of their own."""
    monkeypatch.setattr(catalog, "save_figures", lambda sweep, folder: ())


def write_report(sweep: SweepRecord, folder: Path) -> str | None:
    return write_report_of(SweepSummary(sweep), folder)


def page_of(sweep: SweepRecord, folder: Path) -> Page:
    write_report(sweep, folder)
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def csv_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_page_needs_nothing_but_itself(sweep: SweepRecord, tmp_path: Path) -> None:
    page = page_of(sweep, tmp_path)
    assert not page.all("script")
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


def test_a_hostile_name_is_shown_as_text(make: Make, tmp_path: Path, undrawn: None) -> None:
    rows = [make(HOSTILE, 0.2), make("good", 0.3), make("open", 0.1, ranked=False, params={"dataset": HOSTILE})]
    preset = Preset(name=HOSTILE, title=HOSTILE, shows=HOSTILE, chosen=HOSTILE)
    rows.append(CellRecord("failed", rows[0].params, reason=HOSTILE))
    page = page_of(SweepRecord(tuple(rows), f"python {HOSTILE}", preset=preset), tmp_path)
    assert not page.all("script")
    assert page.text.count(HOSTILE) > 8


def test_a_figure_s_caption_is_text_too(sweep: SweepRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(sweep: SweepRecord, folder: Path) -> tuple[CaptionedFigure, ...]:
        (folder / "one.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(8) + (400).to_bytes(4, "big") + (200).to_bytes(4, "big"))
        return (CaptionedFigure("one", "The first", f'"quoted" {HOSTILE}', Figure()),)

    monkeypatch.setattr(catalog, "save_figures", draw)
    assert write_report(sweep, tmp_path) == "one.png"
    page = Page((tmp_path / "report.html").read_text())
    (image,) = page.all("img")
    assert image["alt"] == f'The first. "quoted" {HOSTILE}'
    assert int(image["width"] or 0) == 2 * int(image["height"] or 0)


def test_every_number_of_the_leaderboard_is_the_record_s(sweep: SweepRecord, tmp_path: Path, undrawn: None) -> None:
    page_of(sweep, tmp_path)
    lines = csv_of(tmp_path / "leaderboard.csv")
    assert len(lines) == 7, "the fit without privacy is the same at both ε"
    for line in lines:
        asked = line["epsilon"].partition(" ")[0]
        (row,) = [row for row in sweep.done if (row.params["mechanism"], row.params["epsilon"]) == (line["mechanism"], asked)]
        for column, metric in (("median", "median"), ("p20", "p20"), ("p80", "p80")):
            assert float(line[column]) == row.metric("utility/rmse", metric)
        assert float(line["no privacy"]) == 0.1
        assert float(line["mean only"]) == 0.5
        accounted = row.metrics.get("privacy/epsilon_accounted")
        assert line["epsilon accounted"] == ("" if accounted is None else str(accounted))
        assert line["guarantee"] == row.guarantee
    best = [line for line in lines if line["rank"] == "1"]
    assert [(line["mechanism"], line["epsilon accounted"]) for line in best] == [("good", "0.5"), ("good", "2.0")]


def test_the_page_shows_the_same_numbers(sweep: SweepRecord, tmp_path: Path, undrawn: None) -> None:
    page = page_of(sweep, tmp_path)
    cells = {cell for row in page.tables[0][1:] for cell in row}
    for line in csv_of(tmp_path / "leaderboard.csv"):
        assert f"{float(line['median']):#.4g}" in cells
        assert f"{float(line['p20']):#.4g} to {float(line['p80']):#.4g}" in cells


def test_only_what_is_private_proven_and_tight_is_ranked(sweep: SweepRecord, tmp_path: Path, undrawn: None) -> None:
    page = page_of(sweep, tmp_path)
    ranks = {(line["mechanism"], line["rank"]) for line in csv_of(tmp_path / "leaderboard.csv")}
    assert ranks == {("good", "1"), ("fair", "2"), ("open", ""), ("leaky", ""), ("claimed", "")}
    for row in page.tables[0][1:]:
        assert ("○" in row) == any(cell.startswith(("open", "leaky", "claimed")) for cell in row), row
    compared = csv_of(tmp_path / "comparisons.csv")
    assert [(line["best"], line["other"]) for line in compared] == [("good", "fair")] * 2
    assert all(float(line["low"]) <= float(line["shift"]) <= float(line["high"]) for line in compared)
    assert all(line["separated"] == "yes" and line["more repeats"] == "" for line in compared)


def test_it_says_what_is_not_private_and_why(sweep: SweepRecord, tmp_path: Path, undrawn: None) -> None:
    text = page_of(sweep, tmp_path).text
    assert "NOT PRIVATE: open" in text
    assert "No ε covers these results" in text
    assert "LEAKS: leaky" in text
    assert "UNPROVEN: claimed" in text
    assert "sound: good and fair" in text
    assert "publishing them is a release of its own" in text
    assert csv_of(tmp_path / "leaks.csv") == [
        {"mechanism": "leaky", "leak": "bounds", "why": "read; from the rows", "cells": "1"}
    ]


def test_the_ledger_has_the_price_at_both_ends_and_its_proof(sweep: SweepRecord, tmp_path: Path, undrawn: None) -> None:
    page_of(sweep, tmp_path)
    lines = {line["mechanism"]: line for line in csv_of(tmp_path / "ledger.csv")}
    good = lines["good"]
    assert (good["query"], good["noise"], good["scale"], good["cost"]) == ("sums", "laplace", "1 to 4", "pure, ε = 0.5 to 2")
    assert (good["neighbours"], good["proven"], good["proof or reason"]) == ("one row replaced", "yes", "Lemma 1")
    assert (lines["open"]["cost"], lines["open"]["proven"]) == ("no guarantee", "NO")


def test_failures_stand_together_by_their_reason(sweep: SweepRecord, tmp_path: Path, undrawn: None) -> None:
    page = page_of(sweep, tmp_path)
    lines = csv_of(tmp_path / "failures.csv")
    assert [(line["state"], line["cells"], line["reason"]) for line in lines] == [
        ("failed", "1", f"it said {HOSTILE}"),
        ("pruned", "1", "it makes no sense"),
    ]
    assert "it makes no sense" in page.text


@pytest.mark.parametrize(
    ("synthetic", "noise", "quick"), [("true", "secure", False), ("false", "simulation", False), ("false", "secure", True)]
)
def test_a_banner_says_what_must_be_known_first(
    make: Make, tmp_path: Path, undrawn: None, synthetic: str, noise: str, quick: bool
) -> None:
    row = make("good", 0.2, tags={"dpbench.synthetic": synthetic, "dpbench.noise": noise})
    text = page_of(SweepRecord((row,), COMMAND, quick=quick), tmp_path).text
    assert ("SYNTHETIC" in text) == (synthetic == "true")
    assert ("drawn from a seed" in text) == (noise == "simulation")
    assert ("A first look" in text) == quick


def test_question_and_answer_are_in_words(sweep: SweepRecord, tmp_path: Path, undrawn: None) -> None:
    text = page_of(sweep, tmp_path).text
    assert (
        "Which of good, fair, leaky and claimed has the lowest error at which ε (0.5 or 2), fitting linear on people (100 rows)?"
        in text
    )
    assert "8 cells of 10 have a result, each over 24 runs (12 x 2-fold)." in text
    assert "linear on people at ε = 0.5: good has the lowest median rmse" in text
    assert "4 of 8 cells are ranked" in text
    assert COMMAND in text
    assert "9.9" in text


def test_many_problems_are_summed_up_in_three_sentences(make: Make) -> None:
    def at(dataset: str) -> list[CellRecord]:
        return [make(name, error, params={"dataset": dataset}) for name, error in (("good", 0.2), ("fair", 0.3))]

    rows = [row for number in range(5) for row in at(f"d{number}")]
    sentences = short_answer(rows, boards(rows), ["one"] * 5)
    assert len(sentences) == 3
    assert "good in all 5 comparisons (always separated from all others by a test)" in sentences[0]
    assert "25 % at ε = 0.8" in sentences[1]
    assert "All 10 cells are private" in sentences[2]


def test_an_attack_has_its_table_and_no_leaderboard_of_its_own(make: Make, tmp_path: Path, undrawn: None) -> None:
    attack = {"attack/advantage_mean": 0.125, "attack/control/guess/advantage_mean": 0.25, "attack/cap": 0.5}
    rows = [make(name, error) for name, error in (("good", 0.2), ("fair", 0.3))]
    rows += [make(name, error, params={"attack": "spy"}, metrics=attack) for name, error in (("good", 0.2), ("fair", 0.3))]
    page = page_of(SweepRecord(tuple(rows), COMMAND), tmp_path)
    assert len(csv_of(tmp_path / "leaderboard.csv")) == 2
    lines = csv_of(tmp_path / "attacks.csv")
    assert [(line["mechanism"], line["advantage"], line["guess"], line["cap"]) for line in lines] == [
        ("good", "0.125", "0.25", "0.5"),
        ("fair", "0.125", "0.25", "0.5"),
    ]
    assert page.text.count("good has the lowest median rmse") == 1


def test_a_large_sweep_is_cut_on_the_page_and_whole_in_the_files(make: Make, tmp_path: Path, undrawn: None) -> None:
    rows = [make(f"m{number}", 0.2 + number / 1000) for number in range(80)]
    page = page_of(SweepRecord(tuple(rows), COMMAND), tmp_path)
    assert "20 more places are in leaderboard.csv" in page.text
    assert len(csv_of(tmp_path / "leaderboard.csv")) == 80


@pytest.mark.parametrize("state", ["failed", "pruned"])
def test_a_sweep_without_results_says_so_and_nothing_else(make: Make, tmp_path: Path, state: Any) -> None:
    rows = (CellRecord(state, make("good", 0.2).params, reason="it makes no sense"),)
    page = page_of(SweepRecord(rows, COMMAND), tmp_path)
    assert "No cell of this sweep has a result." in page.text
    assert f"Nothing ran, so nothing can be said: 1 cell {state}." in page.text
    assert "it makes no sense" in page.text
    assert len(page.tables) == 1
    for word in ("proof", "These errors", "Leaderboard", "What is private", "Ranked by"):
        assert word not in page.text, word


def test_a_guarantee_at_a_delta_is_not_called_pure(make: Make, tmp_path: Path, undrawn: None) -> None:
    pure, at_delta = make("good", 0.2), make("fair", 0.3, metrics={"privacy/delta": 1e-6})
    factor, besides = "no release becomes more likely by more than a factor of e^ε", "at most e^ε times what it was, plus δ"
    for rows, promised in (((pure,), (True, False)), ((at_delta,), (False, True)), ((pure, at_delta), (True, True))):
        text = page_of(SweepRecord(rows, COMMAND), tmp_path).text
        assert (factor in text, besides in text) == promised
        assert ("0.8 at δ = 1e-06" in text) == (rows == (at_delta,))
    assert "0.8 at δ = 0 or 1e-06" in text
    assert "good (δ = 0)" in text
    assert "fair (δ = 1e-06)" in text
    assert [line["delta"] for line in csv_of(tmp_path / "leaderboard.csv")] == ["0.0", "1e-06"]


def test_a_changed_preset_is_not_presented_as_its_paper_s(make: Make, tmp_path: Path, undrawn: None) -> None:
    preset = Preset(name="a/b", title="A paper, Figure 1", shows="errors of everything", chosen="all that was open")
    for command, changed in (("-m experiment=a/b engine=serial", False), ("-m experiment=a/b epsilon=7,8 'dataset=a b'", True)):
        text = page_of(SweepRecord((make("good", 0.2),), command, tuple(shlex.split(command)[1:]), preset), tmp_path).text
        assert (
            "Not the paper's figure. The preset was changed on the command line: epsilon=7,8 and dataset=a b ." in text
        ) == changed
        assert ("A paper, Figure 1, changed" in text) == changed
        assert ("rrors of everything" in text) != changed
        assert ("all that was open" in text) != changed


def test_a_mechanism_with_ranked_and_other_cells_is_named_with_what_tells_them_apart(
    make: Make, tmp_path: Path, undrawn: None
) -> None:
    leaking = {"dpbench.leaks": "cv"}
    rows = [make("fm", 0.2), make("fm", 0.3, params={"model": "ridge"}, tags=leaking)]
    text = page_of(SweepRecord(tuple(rows), COMMAND), tmp_path).text
    assert "nothing leaked; fm with ridge LEAKS cv, and must not be released" in text
    assert "LEAKS: fm with ridge" in text
    assert "sound: fm with linear" in text
    rows = [make("fm", 0.2), make("fm", 0.3, params={"dataset": "other"}, tags=leaking)]
    assert "fm on other LEAKS cv" in page_of(SweepRecord(tuple(rows), COMMAND), tmp_path).text


def test_only_problems_with_a_ranked_place_are_counted(make: Make) -> None:
    rows = [make(name, 0.2, params={"dataset": data}) for data in ("a", "b", "c") for name in ("good", "fair")]
    rows += [make("open", 0.1, ranked=False, params={"dataset": "d"})]
    assert "25 % at ε = 0.8 (median over 3 problems)" in short_answer(rows, boards(rows), ["one"] * 4)[1]


def test_with_too_few_repeats_the_leaderboard_says_how_many_are_needed(
    make: Make, tmp_path: Path, undrawn: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "REPEATS", 1)
    text = page_of(SweepRecord((make("good", 0.2), make("fair", 0.3)), COMMAND), tmp_path).text
    assert "no: 1 repeat, at least 6 are needed" in text
    assert "more repeats" not in text.partition("separated")[2]
    (line,) = csv_of(tmp_path / "comparisons.csv")
    assert (line["repeats"], line["fewest repeats"], line["more repeats"]) == ("1", "6", "")


def test_a_single_run_is_not_several(make: Make, tmp_path: Path, undrawn: None) -> None:
    row = make("good", 0.2)
    one = DetailInMemory(row.detail.config, row.detail.ledger, {name: values[:1] for name, values in row.detail.runs.items()})
    assert "each over 1 run (" in page_of(SweepRecord((replace(row, detail=one),), COMMAND), tmp_path).text


@pytest.mark.parametrize("control", [True, False])
def test_controls_are_explained_where_there_are_some(make: Make, tmp_path: Path, undrawn: None, control: bool) -> None:
    attack = {"attack/advantage_mean": 0.125, "attack/cap": 0.5}
    attack |= {"attack/control/guess/advantage_mean": 0.25} if control else {}
    text = page_of(SweepRecord((make("good", 0.2, params={"attack": "spy"}, metrics=attack),), COMMAND), tmp_path).text
    assert "the largest expected difference" in text
    assert ("control" in text) == control


def test_noise_without_a_proof_is_no_leak_and_the_ledger_says_that_it_is_its_own(
    make: Make, tmp_path: Path, undrawn: None
) -> None:
    tags = {"dpbench.sound": "false", "dpbench.leaks": "unproven_noise,cv"}
    row = make("odd", 0.2, tags=tags, leaks={"unproven_noise": "no proof", "cv": "chosen"})
    (entry,) = row.detail.ledger["entries"]
    rows = [row, make("open", 0.1, ranked=False)]
    for one, kind in zip(rows, ("approx", "none"), strict=True):
        ledger = {"entries": [{**entry, "noise": None, "cost": {"kind": kind}, "sound": False}]}
        rows[rows.index(one)] = replace(one, detail=DetailInMemory(one.detail.config, ledger, one.detail.runs))
    page_of(SweepRecord(tuple(rows), COMMAND), tmp_path)
    assert [line["leak"] for line in csv_of(tmp_path / "leaks.csv")] == ["cv"]
    assert [line["noise"] for line in csv_of(tmp_path / "ledger.csv")] == ["its own", "none"]


def test_drawn_rows_are_named_over_the_answer_and_in_every_table(make: Make, tmp_path: Path, undrawn: None) -> None:
    sick = {"health/repaired": 0.5, "attack/advantage_mean": 0.125, "attack/cap": 0.5}

    def cells(dataset: str, synthetic: str) -> list[CellRecord]:
        more = {"tags": {"dpbench.synthetic": synthetic}, "metrics": sick}
        params = {"dataset": dataset, "attack": "spy"}
        return [make("good", 0.2, params=params, **more), make("fair", 0.3, params=params, **more)]

    drawn, real = cells("gaussian", "true"), cells("people", "false")
    assert "The answer, on SYNTHETIC data" in page_of(SweepRecord(tuple(drawn), COMMAND), tmp_path).text
    assert "The answer, in part on SYNTHETIC data" in page_of(SweepRecord((*drawn, *real), COMMAND), tmp_path).text
    for name in ("leaderboard", "comparisons", "ledger", "attacks"):
        lines = csv_of(tmp_path / f"{name}.csv")
        assert {(line["dataset"], line["data"]) for line in lines} == {("gaussian", "synthetic"), ("people", "real")}, name
    assert {line["data"] for line in csv_of(tmp_path / "health.csv")} == {"synthetic", "real"}


def test_every_table_reads_again_and_its_latex_is_balanced(sweep: SweepRecord, tmp_path: Path, undrawn: None) -> None:
    page_of(sweep, tmp_path)
    written = sorted(path.stem for path in tmp_path.glob("*.tex"))
    assert written == ["comparisons", "failures", "leaderboard", "leaks", "ledger"]
    for name in written:
        lines = csv_of(tmp_path / f"{name}.csv")
        assert lines
        assert all(None not in line and None not in line.values() for line in lines)
        text = (tmp_path / f"{name}.tex").read_text(encoding="utf-8")
        columns = re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)
        assert columns is not None
        body = [line for line in text.splitlines() if line.endswith(r" \\")]
        assert len(body) == len(lines) + 1
        for line in body:
            assert len(re.findall(r"(?<!\\)&", line)) == len(columns[1]) - 1
            bare = re.sub(r"\\[\\{}$&#%_]", "", line)
            assert bare.count("{") == bare.count("}")
            assert not re.search(r"[#%_<>~^]", re.sub(r"\$[^$]*\$", "", bare).replace("&", ""))
    assert (tmp_path / "summary.csv").is_file()


def test_every_letter_that_latex_would_take_for_its_own_is_escaped() -> None:
    assert escaped("a_b & 50% #1 $x {y} ~^ \\z\nε") == (
        r"a\_b \& 50\% \#1 \$x \{y\} \textasciitilde{}\textasciicircum{} \textbackslash{}z $\varepsilon$"
    )


def test_a_table_keeps_every_digit_in_its_csv() -> None:
    table = TextTable("t", "T", ("name", "value"), (("a,\nb", 0.1 + 0.2), ("c", None)))
    assert table.csv() == 'name,value\n"a,\nb",0.30000000000000004\nc,\n'
    assert table.numeric(1)
    assert not table.numeric(0)
