"""What became of the cells of a sweep: judged on the same splits, with a correction for the number of pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.report.statistics.changes import Change, changes

Make = Callable[..., CellRecord]


def errors(shift: float = 0.0, repeats: int = 20, scatter: int = 0) -> np.ndarray:
    """Errors of 2 folds for each repeat; two scatters are the noise of two seeds."""
    return 0.2 + shift + 0.002 * np.random.default_rng(scatter).standard_normal((repeats, 2))


def judge(before: CellRecord, after: CellRecord) -> Change:
    (change,) = changes([before], [after])
    return change


def configured(cell: CellRecord, **config: Any) -> CellRecord:
    return replace(cell, detail=DetailInMemory({**cell.detail.config, **config}, cell.detail.ledger, cell.detail.runs))


def test_the_same_bits_are_the_same(make_cell: Make) -> None:
    assert judge(make_cell(error=errors()), make_cell(error=errors())).verdict == "same"


@pytest.mark.parametrize(("shift", "verdict"), [(0.01, "worse"), (-0.01, "better"), (0.0001, "same")])
def test_a_shift_counts_if_it_is_more_than_one_percent_of_the_way_to_the_mean(
    make_cell: Make, shift: float, verdict: str
) -> None:
    """The way from the fit without privacy to the mean predictor is 0.0272."""
    change = judge(make_cell(error=errors()), make_cell(error=errors(shift)))
    assert change.verdict == verdict
    assert change.comparison is not None
    assert change.comparison.difference.value == pytest.approx(shift)


def test_too_few_repeats_decide_nothing(make_cell: Make) -> None:
    assert judge(make_cell(error=errors(repeats=5)), make_cell(error=errors(0.01, repeats=5))).verdict == "undecided"


def test_more_pairs_need_a_smaller_p(make_cell: Make) -> None:
    """With 6 repeats the permutation test's smallest p is 1 in 32: enough for one pair, too little for three."""
    one, other = make_cell(error=errors(repeats=6)), make_cell(error=errors(0.01, 6))
    assert judge(one, other).verdict == "worse"
    many = [{"params": {**one.params, "mechanism.ridge": str(number)}} for number in range(3)]
    verdicts = {
        change.verdict for change in changes([replace(one, **new) for new in many], [replace(other, **new) for new in many])
    }
    assert verdicts == {"undecided"}


def test_new_noise_alone_is_rarely_called_a_change(make_cell: Make) -> None:
    """Of 10 pairs with the same law, Holm's correction calls any different with a probability of 5 % at most; seeds are fixed."""
    names = [{"params": {**make_cell().params, "mechanism.ridge": str(number)}} for number in range(10)]
    before = [replace(make_cell(error=errors(scatter=number)), **name) for number, name in enumerate(names)]
    after = [replace(make_cell(error=errors(scatter=number + 100)), **name) for number, name in enumerate(names)]
    assert not {change.verdict for change in changes(before, after)} & {"worse", "better"}


def test_a_cell_that_lost_its_guarantee_failed_or_accounts_more_is_a_regression(make_cell: Make) -> None:
    before = make_cell(error=errors())
    refuted = {"dpbench.guarantee": "refuted", "dpbench.guarantee_why": "A replay differs."}
    assert judge(before, make_cell(error=errors(), tags=refuted)).verdict == "refuted"
    assert judge(before, make_cell(error=errors(), tags={"dpbench.guarantee": "unproven"})).verdict == "worse"
    costly = judge(before, make_cell(error=errors(), metrics={"privacy/epsilon_accounted": 0.9}))
    assert (costly.verdict, costly.why) == ("worse", "Its accounted ε was 0.8 and is 0.9.")
    failed = judge(before, make_cell(state="failed", reason="ValueError: no", error=None))
    assert (failed.verdict, failed.why) == ("failed", "ValueError: no")
    exploded = errors()
    exploded[3, 1] = np.nan
    assert judge(before, make_cell(error=exploded)).why == "1 of its runs have no finite error, 0 had none before."


@pytest.mark.parametrize("after", ["claimed", "unproven", "leaks", "not_private"])
def test_a_cell_that_was_sound_and_is_not_is_a_regression(make_cell: Make, after: str) -> None:
    change = judge(make_cell(error=errors()), make_cell(error=errors(), tags={"dpbench.guarantee": after}))
    assert change.verdict == "worse"
    assert change.why.startswith("Its guarantee was sound and is ")


@pytest.mark.parametrize("before", ["refuted", "unproven", "claimed"])
@pytest.mark.parametrize(
    ("shift", "repeats", "verdict"),
    [(0.0, 20, "other guarantee"), (0.01, 5, "other guarantee"), (0.01, 20, "worse"), (-0.01, 20, "better")],
)
def test_any_other_change_of_a_guarantee_is_named_even_if_the_error_decides(
    make_cell: Make, before: str, shift: float, repeats: int, verdict: str
) -> None:
    one = make_cell(error=errors(repeats=repeats), tags={"dpbench.guarantee": before})
    change = judge(one, make_cell(error=errors(shift, repeats)))
    assert (change.verdict, change.why) == (verdict, f"Its guarantee was {one.guarantee} and is sound.")


def test_a_refuted_cell_that_is_now_only_claimed_is_named(make_cell: Make) -> None:
    refuted, claimed = (make_cell(error=errors(), tags={"dpbench.guarantee": word}) for word in ("refuted", "claimed"))
    change = judge(refuted, claimed)
    assert (change.verdict, change.why) == ("other guarantee", "Its guarantee was REFUTED and is claimed.")


def test_what_was_bad_before_is_no_regression(make_cell: Make) -> None:
    failed = make_cell(state="failed", reason="ValueError: no", error=None)
    assert judge(failed, failed).verdict == "same"
    assert judge(failed, make_cell(error=errors())).verdict == "new"
    refuted = make_cell(error=errors(), tags={"dpbench.guarantee": "refuted"})
    assert judge(refuted, refuted).verdict == "same"


def test_cells_of_one_sweep_alone_are_new_or_gone_and_pruned_ones_do_not_count(make_cell: Make) -> None:
    pruned = make_cell("robust", state="pruned", error=None)
    old, new = make_cell("fm", error=errors()), make_cell("dpba", error=errors())
    assert [(change.verdict, change.cell) for change in changes([old, pruned], [new, pruned])] == [("new", new), ("gone", old)]


@pytest.mark.parametrize("key", ["seed", "splits", "dataset"])
def test_other_seeds_splits_and_tables_make_other_cells(make_cell: Make, key: str) -> None:
    cell = make_cell(error=errors())
    found = changes([configured(cell, **{key: 1})], [configured(cell, **{key: 2})])
    assert [change.verdict for change in found] == ["new", "gone"]


def test_a_table_whose_content_changed_is_not_compared(make_cell: Make) -> None:
    cell = make_cell(error=errors())
    one, other = (configured(cell, versions={"data": text}) for text in ("a", "b"))
    assert judge(one, other).verdict == "other data"
    assert judge(cell, one).verdict == "same", "an older record does not say what its table held"
