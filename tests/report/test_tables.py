"""The tables of a report hold the records' numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cell_factory import make_cell, make_sweep
from report_helpers import COMMAND, HOSTILE, csv_of, page_of, person_cell

from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.tables import intervals


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


def test_only_what_is_private_proven_and_tight_is_ranked(sweep: SweepRecord, tmp_path: Path, undrawn: None) -> None:
    page = page_of(sweep, tmp_path)
    ranks = {(line["mechanism"], line["rank"]) for line in csv_of(tmp_path / "leaderboard.csv")}
    assert ranks == {("good", "1"), ("fair", "2"), ("open", ""), ("leaky", ""), ("claimed", "")}
    for row in page.tables[0][1:]:
        assert ("○" in row) == any(cell.startswith(("open", "leaky", "claimed")) for cell in row), row
    compared = csv_of(tmp_path / "comparisons.csv")
    assert [(line["best"], line["other"]) for line in compared] == [("good", "fair")] * 2
    assert all(float(line["low"]) <= float(line["difference"]) <= float(line["high"]) for line in compared)
    assert all(line["result"] == "higher" and line["more repeats"] == "" for line in compared)


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


def test_an_attack_has_its_table_and_no_leaderboard_of_its_own(tmp_path: Path, undrawn: None) -> None:
    attack = {"attack/advantage_mean": 0.125, "attack/control/imputation/advantage_mean": 0.25, "attack/cap": 0.5}
    rows = [person_cell(name, error) for name, error in (("good", 0.2), ("fair", 0.3))]
    rows += [person_cell(name, error, params={"attack": "spy"}, metrics=attack) for name, error in (("good", 0.2), ("fair", 0.3))]
    page = page_of(make_sweep(rows, COMMAND), tmp_path)
    assert len(csv_of(tmp_path / "leaderboard.csv")) == 2
    lines = csv_of(tmp_path / "attacks.csv")
    assert [(line["mechanism"], line["attack advantage"], line["control: imputation"], line["cap"]) for line in lines] == [
        ("good", "0.125", "0.25", "0.5"),
        ("fair", "0.125", "0.25", "0.5"),
    ]
    assert page.text.count("good has the lowest median rmse") == 1


def test_noise_without_a_proof_is_no_leak_and_the_ledger_says_that_it_is_its_own(tmp_path: Path, undrawn: None) -> None:
    tags = {"dpbench.sound": "false", "dpbench.leaks": "unproven_noise,cv"}
    row = person_cell("odd", 0.2, tags=tags, leaks={"unproven_noise": "no proof", "cv": "chosen"})
    (entry,) = row.detail.ledger["entries"]
    rows = [row, person_cell("open", 0.1, ranked=False)]
    for one, kind in zip(rows, ("approx", "none"), strict=True):
        ledger = {"entries": [{**entry, "noise": None, "cost": {"kind": kind}, "sound": False}]}
        rows[rows.index(one)] = replace(one, detail=DetailInMemory(one.detail.config, ledger, one.detail.runs))
    page_of(make_sweep(rows, COMMAND), tmp_path)
    assert [line["leak"] for line in csv_of(tmp_path / "leaks.csv")] == ["cv"]
    assert [line["noise"] for line in csv_of(tmp_path / "ledger.csv")] == ["its own", "none"]


def test_drawn_rows_are_named_over_the_answer_and_in_every_table(tmp_path: Path, undrawn: None) -> None:
    sick = {"health/repaired": 0.5, "attack/advantage_mean": 0.125, "attack/cap": 0.5}

    def cells(dataset: str, synthetic: str) -> list[CellRecord]:
        more = {"tags": {"dpbench.synthetic": synthetic}, "metrics": sick}
        params = {"dataset": dataset, "attack": "spy"}
        return [person_cell("good", 0.2, params=params, **more), person_cell("fair", 0.3, params=params, **more)]

    drawn, real = cells("gaussian", "true"), cells("people", "false")
    assert "The answer, on SYNTHETIC data" in page_of(make_sweep(drawn, COMMAND), tmp_path).text
    assert "The answer, in part on SYNTHETIC data" in page_of(make_sweep([*drawn, *real], COMMAND), tmp_path).text
    for name in ("leaderboard", "comparisons", "ledger", "attacks"):
        lines = csv_of(tmp_path / f"{name}.csv")
        assert {(line["dataset"], line["data"]) for line in lines} == {("gaussian", "synthetic"), ("people", "real")}, name
    assert {line["data"] for line in csv_of(tmp_path / "health.csv")} == {"synthetic", "real"}


def test_the_table_of_intervals_has_a_row_for_each_cell_that_has_them_and_one_for_each_reason() -> None:
    tags = {"dpbench.intervals": "By one.", "dpbench.interval_method": "delta", "dpbench.interval_covers": "population"}
    numbers = {"inference/coverage_mean": 0.95, "inference/smallest_coverage": 0.93, "health/interval_floored": 0.5}
    cells = [make_cell("fm", tags=tags, metrics=numbers)]
    cells += [make_cell(name, tags={"dpbench.intervals": "No intervals: why."}) for name in ("a", "b")]
    table = intervals(cells)
    first, second = (dict(zip(table.header, row, strict=True)) for row in table.rows)
    assert (first["mechanism"], first["method"], first["coverage"], first["floored"]) == ("fm", "delta", 0.95, 0.5)
    assert first["smallest of a slope"] == 0.93
    assert (second["mechanism"], second["why none"]) == ("a and b", "No intervals: why.")
    assert intervals(cells[1:]).rows == []
