"""Warnings: leaks, runs without weights, clipped targets, generated data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cell_factory import make_cell, make_sweep
from report_helpers import COMMAND, note, page_of, person_cell, printed

from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.warning_texts import health_sentences


def test_noise_without_a_proof_is_called_unproven_beside_the_leaks() -> None:
    tags = {"dpbench.sound": "false", "dpbench.leaks": "unproven_noise,cv"}
    row = make_cell("odd", 0.2, tags=tags, leaks={"unproven_noise": "no proof", "cv": "chosen"})
    text = note(SweepRecord((row,), "command"), None)
    assert "UNPROVEN in 1 cell: no proof." in text
    assert "LEAKS in 1 cell: cv: chosen." in text
    assert "LEAKS in 1 cell: unproven" not in text


def test_a_store_of_a_private_table_is_called_as_private_as_the_table(tmp_path: Path, undrawn: None) -> None:
    public, private = (make_cell("fm", 0.2, tags=tags) for tags in ({}, {"dpbench.digest_key": "1a2b"}))
    texts = {}
    for name, cell in (("public", public), ("private", private)):
        pages = [note(make_sweep([cell]), None), page_of(make_sweep([cell]), tmp_path / name).text, printed([cell])]
        texts[name] = [" ".join(text.split()) for text in pages]
    assert all("as private as the table" not in text for text in texts["public"])
    assert all("The rows of wine are not public: this store holds exact errors" in text for text in texts["private"])


def test_secure_noise_in_a_sweep_protects_no_error() -> None:
    simulated, secure = (make_cell("fm", 0.2, tags={"dpbench.noise": noise}) for noise in ("simulation", "secure"))
    for text in (note(make_sweep([secure]), None), printed([secure])):
        assert "errors and the references next to them are exact" in " ".join(text.split())
    assert "came from OpenDP" not in note(make_sweep([simulated]), None) + printed([simulated])


def test_runs_without_weights_and_clipped_targets_are_said() -> None:
    rows = [make_cell("odd", 0.1, metrics={"health/not_finite": 0.25, "health/target_clipped": 0.62})]
    text = " ".join(printed(rows).split())
    assert "odd: up to 25% of the runs of a cell gave no finite weights" in text
    assert "wine: 62% of the targets lie outside the declared bounds" in text
    assert "outside the declared bounds" not in printed([make_cell("fm", 0.1, metrics={"health/target_clipped": 0.005})])


@pytest.mark.parametrize(
    ("synthetic", "noise", "quick"), [("true", "secure", False), ("false", "simulation", False), ("false", "secure", True)]
)
def test_a_banner_says_what_must_be_known_first(tmp_path: Path, undrawn: None, synthetic: str, noise: str, quick: bool) -> None:
    row = person_cell("good", 0.2, tags={"dpbench.synthetic": synthetic, "dpbench.noise": noise})
    text = page_of(SweepRecord((row,), COMMAND, quick=quick), tmp_path).text
    assert ("SYNTHETIC" in text) == (synthetic == "true")
    assert ("drawn from a seed" in text) == (noise == "simulation")
    assert ("A first look" in text) == quick


def test_what_leaks_is_said_once_with_its_reason_and_in_how_many_cells() -> None:
    leaking = [make_cell("fm", epsilon=epsilon, leaks={"bounds_from_data": "they were read"}) for epsilon in (1, 2)]
    unproven = make_cell("odd", sound=False, leaks={"unproven_noise": "no proof"})
    for text in (printed([*leaking, unproven]), note(make_sweep([*leaking, unproven]), None)):
        assert text.count("LEAKS in 2 cells: bounds_from_data: they were read.") == 1
        assert text.count("UNPROVEN in 1 cell: no proof.") == 1
    assert unproven.guarantee == "UNPROVEN"
    both = make_cell(sound=False, leaks={"unproven_noise": "", "bounds_from_data": ""})
    assert both.guarantee == "UNPROVEN, LEAKS bounds_from_data"


@pytest.mark.parametrize(("share", "warns"), [(0.01, False), (0.0101, True)])
def test_more_than_one_percent_of_clipped_targets_warns(share: float, warns: bool) -> None:
    assert bool(health_sentences([make_cell(metrics={"health/target_clipped": share})])) == warns


def test_features_with_many_clipped_values_are_named_with_the_largest_first() -> None:
    def cell(shares: dict[str, float]) -> CellRecord:
        record = make_cell(metrics={"health/features_clipped": max(shares.values())})
        return replace(record, detail=DetailInMemory(clipped=shares))

    shares = {"age": 0.02, "hours": 0.97, "tax": 0.01, "a": 0.5, "b": 0.3}
    (sentence,) = health_sentences([cell({"age": 0.011}), cell(shares)])
    assert sentence.startswith(
        "wine: 97% of the values of 'hours', 50% of the values of 'a', 30% of the values of 'b' and 1 more lie"
    )
    assert health_sentences([cell({"tax": 0.01})]) == []
    assert "2% of the values of a feature lie" in health_sentences([make_cell(metrics={"health/features_clipped": 0.02})])[0]


@pytest.mark.parametrize(("share", "warns"), [(0.0, False), (0.001, True)])
def test_any_run_without_weights_warns(share: float, warns: bool) -> None:
    assert bool(health_sentences([make_cell(metrics={"health/not_finite": share})])) == warns


@pytest.mark.parametrize(
    ("steps", "words"),
    [(33.4, "the standard deviation of a feature is 33 steps of the grid"), (0.2, "is less than one step")],
)
def test_a_feature_that_hardly_varies_within_its_bounds_is_said(steps: float, words: str) -> None:
    (sentence,) = health_sentences([make_cell(metrics={"health/least_spread": steps})])
    assert sentence.startswith("wine: ")
    assert words in sentence


def test_released_gradients_are_said_in_plain_words() -> None:
    rows = [make_cell("gd", 0.1, metrics={"health/diverging": share}) for share in (0.0, 0.004)]
    sentence = "gd: in up to 0.4 % of the runs of a cell the last released gradient is far longer than the shortest one:"
    assert sentence in " ".join(printed(rows).split())
    assert health_sentences(rows[:1]) == []
