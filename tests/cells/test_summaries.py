"""The numbers of a record, against numbers worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpbench.accounting.costs import LedgerEntry, Nothing, Pure
from dpbench.audit.result import AuditResult
from dpbench.cells.cell import Cell, ComponentChoice, Settings
from dpbench.cells.intervals import CellIntervals
from dpbench.cells.summaries import SUFFIXES, record_of, summaries
from dpbench.cells.work_unit import BlockResult
from dpbench.data.splits import Splits
from dpbench.privacy.ledger import Budget, Ledger
from dpbench.records.cell_record import CellRecord
from dpbench.records.cell_tags import Provenance
from dpbench.records.leaks import Leak

REPEAT = np.array([0, 0, 1, 1])
T_OF_ONE = 12.706204736174698
"""The 97.5 % quantile of Student's t with one degree of freedom: tan(0.475 π)."""


def summary(values: Any, repeat: Any = REPEAT) -> dict[str, float]:
    found = summaries({"utility/x": np.asarray(values, dtype=float)}, np.asarray(repeat))
    return {name.removeprefix("utility/x_"): value for name, value in found.items()}


def test_every_suffix_by_hand() -> None:
    found = summary([1, 2, 3, 6])
    reach = T_OF_ONE * math.sqrt(4.5) / math.sqrt(2)  # the repeats' means are 1.5 and 4.5
    expected = {
        "median": 2.5,
        "mean": 3.0,
        "std": math.sqrt(14 / 3),
        "p20": 1.6,
        "p80": 4.2,
        "ci_low": 3 - reach,
        "ci_high": 3 + reach,
    }
    assert list(found) == list(SUFFIXES)
    assert found == pytest.approx(expected, rel=1e-12)
    assert pytest.approx(math.tan(0.475 * math.pi), rel=1e-9) == T_OF_ONE


def test_the_interval_is_over_the_repeats_not_over_the_runs() -> None:
    """Twice as many folds that say the same make no narrower interval: they share their training rows."""
    once = summary([1, 2, 4], [0, 1, 2])
    doubled = summary([1, 1, 2, 2, 4, 4], [0, 0, 1, 1, 2, 2])
    assert doubled["ci_low"] == pytest.approx(once["ci_low"])
    assert doubled["ci_high"] == pytest.approx(once["ci_high"])
    assert doubled["std"] < once["std"]


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    """1,000 intervals from 5 repeats of 3 folds: 95 % of them, give or take four standard deviations (false alarm 6e-5)."""
    generator = np.random.default_rng(1)
    draws = generator.normal(size=(1000, 5, 1)) + 0.5 * generator.normal(size=(1000, 5, 3))
    found = summaries({f"utility/{i}": row.ravel() for i, row in enumerate(draws)}, np.repeat(np.arange(5), 3))
    covered = sum(found[f"utility/{i}_ci_low"] <= 0 <= found[f"utility/{i}_ci_high"] for i in range(1000))
    assert abs(covered - 950) < 4 * math.sqrt(1000 * 0.95 * 0.05)


def test_one_repeat_has_no_interval_and_one_run_no_spread() -> None:
    assert set(summary([1, 2], [0, 0])) == set(SUFFIXES) - {"ci_low", "ci_high"}
    assert summary([7], [0]) == {"median": 7, "mean": 7, "p20": 7, "p80": 7}


def test_equal_runs_have_an_interval_of_no_width() -> None:
    found = summary([2.0, 2.0, 2.0, 2.0])
    assert (found["std"], found["ci_low"], found["ci_high"]) == (0, 2, 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_runs_without_a_finite_value_are_left_out(bad: float) -> None:
    assert summary([1, bad, 3, 6]) == summary([1, 3, 6], [0, 1, 1])
    assert summary([bad, bad, 3, 6]) == summary([3, 6], [1, 1])
    assert summary([bad] * 4) == {}


def test_a_metric_with_gaps_does_not_touch_its_neighbours() -> None:
    whole, gaps = np.array([1.0, 2, 3, 6]), np.array([1.0, np.nan, 3, 6])
    found = summaries({"a": whole, "b": gaps, "c": whole}, REPEAT)
    assert {name: value for name, value in found.items() if name[0] == "b"} == summaries({"b": gaps}, REPEAT)
    for name in ("a", "c"):
        assert {key: value for key, value in found.items() if key[0] == name} == summaries({name: whole}, REPEAT)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "values", [[1e200, 2e200, 3e200, 6e200], [1e308, 1.5e308, 1.6e308, 1.7e308], [1e308, -1e308, 1e308, -1e308]]
)
def test_no_number_is_ever_infinite_or_undefined(values: list[float]) -> None:
    """Finite runs whose squares or sums are not: what cannot be said is left out."""
    found = summary(values)
    assert "p20" in found, "what can be said is said"
    assert [name for name, value in found.items() if not math.isfinite(value)] == []


def test_nothing_gives_nothing() -> None:
    assert summaries({}, REPEAT) == {}


@pytest.fixture
def cell() -> Cell:
    choices = [ComponentChoice(name, {}) for name in ("fm", "linear", "wine", "none")]
    return Cell(*choices, Splits("kfold", 2, 2), Settings(epsilon=0.8), {"data": "1"})


def ledger(*entries: LedgerEntry, leaks: tuple[Leak, ...] = ()) -> Ledger:
    return Ledger(Budget(0.8, currency="pure"), list(entries), list(leaks))


PAID = LedgerEntry("objective", Pure(0.8), True, "a proof")


@pytest.fixture
def part() -> Callable[..., BlockResult]:
    """One repeat of two folds: errors as asked."""

    def make(key: str, repeat: int, errors: list[float], **more: Any) -> BlockResult:
        errors_ = np.array(errors)
        status = np.array(more.pop("status", ["ok", "ok"]))
        runs = {
            "repeat": np.array([repeat, repeat]),
            "fold": np.array([0, 1]),
            "n_train": np.array([5, 5]),
            "utility/rmse": errors_,
            "reference/no_privacy/rmse": np.array([0.1, 0.1]),
            "status": status,
            "weights": np.column_stack([errors_, 2 * errors_]),
        }
        rest = {"ledger": ledger(PAID), "fit_seconds": 0.25 if repeat == 0 else None, "seconds": 1.5, **more}
        return BlockResult(key, (repeat,), runs, coefficients=("intercept", "a"), **rest)

    return make


def record(cell: Cell, *parts: BlockResult, audit: AuditResult | None = None) -> CellRecord:
    return record_of(cell, parts, {"mechanism": "fm"}, Provenance(False, 0, "plugins 1", "2", "cpu"), "rmse", audit)


def test_a_record_is_put_together_from_its_blocks_in_any_order(cell: Cell, part: Callable[..., BlockResult]) -> None:
    first, second = part(cell.key, 0, [1, 2]), part(cell.key, 1, [3, 6])
    found = record(cell, second, first)
    assert (found.key, found.state, found.reason) == (cell.key, "run", "")
    assert found.detail.runs["repeat"].tolist() == [0, 0, 1, 1]
    assert found.detail.runs["fold"].tolist() == [0, 1, 0, 1]
    assert found.detail.runs["weight/a"].tolist() == [2, 4, 6, 12]
    assert "weights" not in found.detail.runs
    assert found.metrics["utility/rmse_median"] == 2.5
    assert found.metrics["time/cell_seconds"] == 3.0
    assert found.metrics["time/fit_seconds"] == 0.25
    assert found.metrics == record(cell, first, second).metrics


def test_the_privacy_of_a_record_is_its_ledgers(cell: Cell, part: Callable[..., BlockResult]) -> None:
    found = record(cell, part(cell.key, 0, [1, 2]), part(cell.key, 1, [3, 6]))
    assert found.metrics["privacy/epsilon_budget"] == 0.8
    assert found.metrics["privacy/epsilon_accounted"] == 0.8
    assert {key: found.tags[f"dpbench.{key}"] for key in ("guarantee", "sound", "private", "leaks")} == {
        "guarantee": "claimed",
        "sound": "false",
        "private": "true",
        "leaks": "",
    }
    assert found.detail.ledger["total"] == {"epsilon": 0.8, "delta": 0.0}


def test_an_infinite_epsilon_is_a_tag_and_no_metric(cell: Cell, part: Callable[..., BlockResult]) -> None:
    bare = ledger(LedgerEntry("exact fit", Nothing(), False, "not private"))
    found = record(cell, *(part(cell.key, repeat, [1, 2], ledger=bare) for repeat in (0, 1)))
    assert "privacy/epsilon_accounted" not in found.metrics
    assert (found.tags["dpbench.private"], found.tags["dpbench.sound"]) == ("false", "false")


def test_one_bad_block_is_enough_for_the_worse_standing(cell: Cell, part: Callable[..., BlockResult]) -> None:
    leaky = ledger(PAID, leaks=(Leak("bounds_from_data", "read"), Leak("lambda", "picked")))
    unsound = ledger(LedgerEntry("objective", Pure(0.8), False, "unproven"))
    found = record(cell, part(cell.key, 0, [1, 2]), part(cell.key, 1, [1, 2], ledger=leaky))
    assert found.tags["dpbench.leaks"] == "bounds_from_data,lambda"
    found = record(cell, part(cell.key, 0, [1, 2]), part(cell.key, 1, [1, 2], ledger=unsound))
    assert found.tags["dpbench.guarantee"] == "unproven"


def test_a_cell_is_as_sound_as_its_ledger_and_its_audit(cell: Cell, part: Callable[..., BlockResult]) -> None:
    parts = [part(cell.key, repeat, [1, 2]) for repeat in (0, 1)]
    passed, failed = AuditResult(True, 10), AuditResult(False, 10, ("It moved.",))
    undone = AuditResult(None, 0, reason="It ended.")
    audited = [record(cell, *parts, audit=audit) for audit in (passed, failed, undone, None)]
    assert [found.tags["dpbench.guarantee"] for found in audited] == ["sound", "refuted", "claimed", "claimed"]
    why = ["", "It moved.", "Not replayed: It ended.", "Not replayed: audit.level=none."]
    assert [found.guarantee_why for found in audited] == why
    assert audited[1].detail.ledger["audit"] == {"passed": False, "violations": ["It moved."]}
    assert "audit" not in audited[2].detail.ledger
    bare = ledger(LedgerEntry("exact fit", Nothing(), False, "not private"))
    exact = record(cell, *(part(cell.key, repeat, [1, 2], ledger=bare) for repeat in (0, 1)), audit=undone)
    assert (exact.tags["dpbench.guarantee"], exact.guarantee_why) == ("not_private", "")


def test_a_cell_without_finite_weights_is_never_sound_and_says_so(cell: Cell, part: Callable[..., BlockResult]) -> None:
    lost = [part(cell.key, repeat, [np.nan, np.nan]) for repeat in (0, 1)]
    found = record(cell, *lost, audit=AuditResult(True, 10))
    assert (found.tags["dpbench.guarantee"], found.guarantee, found.ranked) == ("no_weights", "NO WEIGHTS", False)
    assert "No run has finite weights" in found.guarantee_why
    assert record(cell, part(cell.key, 0, [np.nan, 1.0]), lost[1], audit=AuditResult(True, 10)).sound


def test_a_check_of_the_fit_itself_refutes_whatever_the_audit_says(cell: Cell, part: Callable[..., BlockResult]) -> None:
    parts = [part(cell.key, 0, [1, 2]), part(cell.key, 1, [1, 2], violation="A row moved it.")]
    for audit in (AuditResult(True, 10), None):
        found = record(cell, *parts, audit=audit)
        assert (found.tags["dpbench.guarantee"], found.guarantee_why) == ("refuted", "A row moved it.")


def test_a_fit_that_asked_nothing_is_unproven_and_says_so(cell: Cell, part: Callable[..., BlockResult]) -> None:
    silent = record(cell, *(part(cell.key, repeat, [1, 2], ledger=ledger()) for repeat in (0, 1)), audit=AuditResult(True, 10))
    assert (silent.tags["dpbench.guarantee"], silent.ranked) == ("unproven", False)
    assert "asked the curator nothing" in silent.guarantee_why


def test_exact_weights_of_a_private_table_are_recorded_only_on_request(cell: Cell, part: Callable[..., BlockResult]) -> None:
    bare = ledger(LedgerEntry("exact fit", Nothing(), False, "not private"))
    paid, exact = ([part(cell.key, repeat, [1, 2], ledger=kind) for repeat in (0, 1)] for kind in (ledger(PAID), bare))
    asked = replace(cell, settings=replace(cell.settings, exact_weights=True))

    def weights(cell: Cell, parts: list[BlockResult], key: str, audit: AuditResult | None = None) -> list[str]:
        provenance = Provenance(False, 0, "plugins 1", "2", "cpu", digest_key=key)
        runs = record_of(cell, parts, {"mechanism": "fm"}, provenance, "rmse", audit).detail.runs
        return [name for name in runs if name.startswith("weight")]

    names = ["weight/intercept", "weight/a"]
    assert weights(cell, exact, key="") == names, "anyone may see the table"
    assert weights(cell, exact, key="1a2b") == []
    assert weights(asked, exact, key="1a2b") == names
    assert weights(cell, paid, key="1a2b") == names
    assert weights(cell, paid, "1a2b", AuditResult(False, 8, ("It moved.",))) == [], "they may be exact"
    assert asked.key != cell.key
    assert "exact_weights" not in cell.config, "cells that were recorded before keep their keys"


def interval_blocks(part: Callable[..., BlockResult], key: str, **more: Any) -> list[BlockResult]:
    """Two repeats of two runs each: the truth 0 lies in the intervals of `a` in three of the four runs."""
    blocks = []
    for repeat, lows in enumerate(([-1.0, -1.0], [-1.0, 0.5])):
        low = np.column_stack([np.full(2, -1.0), lows])
        columns = {"low": low, "high": np.ones((2, 2)), "truth": np.zeros((2, 2))}
        columns |= {"reference_low": low, "reference_high": np.ones((2, 2))}
        made = CellIntervals(("They cover something.",), "delta", columns=columns)
        blocks.append(part(key, repeat, [1, 2], intervals=made, **more))
    return blocks


def test_how_intervals_were_made_and_the_smallest_coverage_of_a_slope_are_recorded(cell: Cell, part: Any) -> None:
    floored = {"interval_floored": np.array([True, False])}
    found = record(cell, *interval_blocks(part, cell.key, health=floored))
    assert found.metrics["inference/smallest_coverage"] == 0.75
    assert found.metrics["health/interval_floored"] == 0.5
    tags = {key: found.tags[f"dpbench.interval{key}"] for key in ("_method", "_covers")}
    assert tags == {"_method": "delta", "_covers": "population"}
    assert found.tags["dpbench.intervals"].startswith("They cover something.\nThe floor")
    none = [part(cell.key, repeat, [1, 2], intervals=CellIntervals("No intervals: why.")) for repeat in (0, 1)]
    assert "dpbench.interval_method" not in record(cell, *none).tags


def test_exact_intervals_of_a_private_table_are_not_recorded(cell: Cell, part: Callable[..., BlockResult]) -> None:
    bare = ledger(LedgerEntry("exact fit", Nothing(), False, "not private"))
    for key, kind, recorded in (("", bare, True), ("1a2b", bare, False), ("1a2b", ledger(PAID), True)):
        provenance = Provenance(False, 0, "plugins 1", "2", "cpu", digest_key=key)
        blocks = interval_blocks(part, cell.key, ledger=kind)
        detail = record_of(cell, blocks, {"mechanism": "fm"}, provenance, "rmse").detail
        assert bool(detail.intervals) is recorded


def test_diverged_runs_are_left_out_of_the_means_and_counted(cell: Cell, part: Callable[..., BlockResult]) -> None:
    first = part(
        cell.key, 0, [1.0, np.nan], status=["repaired", "diverged"], health={"not_positive_definite": np.array([True, True])}
    )
    second = part(
        cell.key, 1, [3.0, 5.0], status=["ok", "failed_test"], health={"not_positive_definite": np.array([False, False])}
    )
    found = record(cell, first, second)
    assert found.metrics["utility/rmse_mean"] == 3.0
    health = {name.removeprefix("health/"): value for name, value in found.metrics.items() if name.startswith("health/")}
    assert health == {"not_positive_definite": 0.5, "repaired": 0.25, "diverged": 0.25, "failed": 0.25}
    assert all(math.isfinite(value) for value in found.metrics.values())
    assert np.isnan(found.detail.runs["utility/rmse"]).tolist() == [False, True, False, False], "each run stays what it was"


def test_the_runs_that_lost_everything_and_those_whose_gradients_grew_are_counted(
    cell: Cell, part: Callable[..., BlockResult]
) -> None:
    grew = {"diverging": np.array([False, True])}
    parts = [part(cell.key, repeat, [1.0, 2.0], health=grew) for repeat in (0, 1)]
    for block, lost in zip(parts, ([0.1, 250.0], [0.2, 0.3]), strict=True):
        block.runs["utility/share_lost"] = np.array(lost)
    metrics = record(cell, *parts).metrics
    assert metrics["utility/failed_share"] == 0.25
    assert metrics["utility/share_lost_median"] == 0.25, "which says nothing of it"
    assert metrics["health/diverging"] == 0.5


def test_weights_that_are_not_zero_are_averaged_and_chosen_penalties_have_a_median_and_a_range(
    cell: Cell, part: Callable[..., BlockResult]
) -> None:
    parts = [part(cell.key, repeat, [1.0, 2.0]) for repeat in (0, 1)]
    for block, counts, penalties in zip(parts, ([3.0, np.nan], [4.0, 8.0]), ([1e-3, 1e-2], [1e-2, 1.0]), strict=True):
        block.runs.update({"health/nonzero": np.array(counts), "health/penalty": np.array(penalties)})
    metrics = record(cell, *parts).metrics
    assert metrics["health/nonzero"] == 5.0, "a run without weights does not count"
    assert metrics["health/penalty"] == 1e-2
    assert (metrics["health/penalty_min"], metrics["health/penalty_max"]) == (1e-3, 1.0)


def test_a_cell_of_which_every_run_diverged_has_no_utility(cell: Cell, part: Callable[..., BlockResult]) -> None:
    parts = [part(cell.key, repeat, [np.nan, np.inf], status=["diverged", "diverged"]) for repeat in (0, 1)]
    found = record(cell, *parts)
    assert found.state == "run"
    assert not [name for name in found.metrics if name.startswith("utility/")]
    assert found.metrics["health/diverged"] == 1.0
    assert found.metrics["reference/no_privacy/rmse_median"] == 0.1


def test_a_block_that_failed_fails_the_cell_and_says_why(cell: Cell, part: Callable[..., BlockResult]) -> None:
    found = record(cell, part(cell.key, 0, [1, 2]), BlockResult(cell.key, (1,), error="ValueError: no"))
    assert (found.state, found.reason) == ("failed", "ValueError: no")
    assert found.metrics == {}
    assert found.detail.runs == {}
    assert found.tags["dpbench.sound"] == "false"
    assert found.detail.config == cell.record_config
