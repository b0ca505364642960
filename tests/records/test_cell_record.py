"""A cell record says what may be said about its privacy, and comes back from its row in records.parquet."""

from __future__ import annotations

from typing import Any

import pytest

from dpbench.records.cell_record import CellRecord, DetailInMemory, distinguishing_params, label
from dpbench.records.cell_tags import Provenance, Standing, cell_tags, guarantee_of
from dpbench.records.leaks import BOUNDS_FROM_DATA, UNPROVEN_NOISE

PARAMS = {"mechanism": "fm", "model": "linear", "dataset": "wine", "attack": "none", "epsilon": "0.8"}
PROVENANCE = Provenance(False, 0, "dp-regression-bench 0.1", "2.0", "x86_64")


def record(standing: Standing, **changes: Any) -> CellRecord:
    return CellRecord("run", PARAMS, cell_tags(PROVENANCE, standing), **changes)


@pytest.mark.parametrize(
    ("standing", "guarantee", "ranked"),
    [
        (Standing("simulation", proven=True, private=True), "claimed", True),
        (Standing("simulation", proven=True, private=True, audit_passed=True), "sound", True),
        (Standing("simulation", proven=True, private=True, audit_passed=False), "REFUTED", False),
        (Standing("simulation", proven=True, private=True, leaks=(BOUNDS_FROM_DATA,)), "LEAKS bounds_from_data", False),
        (Standing("simulation", True, True, (BOUNDS_FROM_DATA,), True), "LEAKS bounds_from_data", False),
        (Standing("simulation", True, True, (BOUNDS_FROM_DATA,), False), "REFUTED, LEAKS bounds_from_data", False),
        (Standing("simulation", private=True, leaks=(UNPROVEN_NOISE,)), "UNPROVEN", False),
        (Standing("simulation", private=True, audit_passed=True), "UNPROVEN", False),
        (Standing("simulation", proven=True, private=True, audit_passed=True, has_weights=False), "NO WEIGHTS", False),
        (Standing("simulation", proven=True, private=True, audit_passed=False, has_weights=False), "REFUTED", False),
        (Standing("simulation", proven=True, private=False), "NOT PRIVATE", False),
        (Standing("simulation"), "NOT PRIVATE", False),
    ],
)
def test_a_guarantee_is_stated_and_only_a_proven_one_is_ranked(standing: Standing, guarantee: str, ranked: bool) -> None:
    cell = record(standing)
    assert (cell.guarantee, cell.ranked) == (guarantee, ranked)
    assert (cell.sound, cell.refuted) == (guarantee == "sound", guarantee.startswith("REFUTED"))
    assert cell.tags["dpbench.sound"] == str(cell.sound).lower()


def test_a_cell_that_was_recorded_before_guarantees_were_is_at_most_claimed() -> None:
    old = {"dpbench.sound": "true", "dpbench.private": "true", "dpbench.leaks": ""}
    words = {"claimed": {}, "unproven": {"dpbench.sound": "false"}, "leaks": {"dpbench.leaks": "cv"}}
    words["not_private"] = {"dpbench.private": "false"}
    assert {word: guarantee_of({**old, **tags}) for word, tags in words.items()} == {word: word for word in words}


def test_leaks_have_their_reason_from_the_ledger_or_none() -> None:
    standing = Standing("simulation", proven=True, private=True, leaks=(BOUNDS_FROM_DATA,))
    ledger = {"leaks": [{"what": BOUNDS_FROM_DATA.what, "why": BOUNDS_FROM_DATA.why}]}
    assert record(standing, detail=DetailInMemory(ledger=ledger)).leaks == (BOUNDS_FROM_DATA,)
    assert [(leak.what, leak.why) for leak in record(standing).leaks] == [("bounds_from_data", "")]


def test_it_comes_back_from_its_columns() -> None:
    cell = record(Standing("simulation", proven=True, private=True), metrics={"utility/rmse_median": 0.25}, primary="rmse")
    absent = {"utility/mse_median": float("nan"), "mechanism.ridge": None}
    assert CellRecord.from_columns({**cell.as_columns(), **absent}, cell.detail) == cell


def test_it_is_attacked_if_an_attack_measured_something() -> None:
    standing = Standing("simulation")
    assert not record(standing).attacked
    assert record(standing, metrics={"attack/cap": 0.4}).attacked


def test_a_metric_with_a_single_value_has_it_under_every_suffix() -> None:
    cell = record(Standing("simulation"), metrics={"utility/rmse_median": 0.25, "time/fit_seconds": 2.0})
    assert (cell.metric("utility/rmse"), cell.metric("utility/rmse", "mean"), cell.metric("time/fit_seconds")) == (
        0.25,
        None,
        2.0,
    )


def test_labels_have_the_mechanisms_options_that_were_varied() -> None:
    assert label(CellRecord("run", {**PARAMS, "mechanism.ridge": "4", "model.penalty": "1"})) == "fm (ridge=4)"


def test_options_always_distinguish_cells_and_settings_only_if_they_differ() -> None:
    cells = [CellRecord("run", {**PARAMS, "mechanism.ridge": "4", "delta": "1e-6", "splits": text}) for text in ("a", "b")]
    assert distinguishing_params(cells) == ["mechanism.ridge", "splits"]
