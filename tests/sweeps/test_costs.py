"""Predicted seconds add up, and a measured time beats a guess."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpbench.cells.work_unit import Unit
from dpbench.sweeps.auditing import Audits
from dpbench.sweeps.cost_priors import MeasuredSize, Priors, TableSize
from dpbench.sweeps.costs import MIN_KINDS, SECONDS_PER_VALUE_AND_REPEAT, Costs, Work
from dpbench.sweeps.plan import SweepPlan
from dpbench.sweeps.recorded_times import RecordedTimes, WorkKind

SIZE = TableSize(5_000, 12)
ALIKE = Priors({(piece, "any", "any"): [MeasuredSize(SIZE, 0.0, 0.01)] for piece in ("cell", "attack", "references", "audit")})  # type: ignore[misc]
"""Every run of everything takes 10 ms."""

Planner = Callable[..., SweepPlan]


def cells(costs: Costs, plan: SweepPlan) -> list[Work]:
    return [costs.cell(planned.cell, range(planned.cell.splits.repeats)) for planned in plan.to_run]


def costs_of(plan: SweepPlan, recorded: RecordedTimes | None = None) -> Costs:
    return Costs(plan.tables, recorded, ALIKE)


def test_a_cell_takes_longer_with_more_runs_and_with_an_attack(planned: Planner) -> None:
    plan = planned("splits.repeats=4", "splits.folds=5", "attack=none,membership", "mechanism=fm")
    costs = costs_of(plan)
    alone, attacked = cells(costs, plan)
    assert costs.seconds(alone) == pytest.approx(4 * 5 * 0.01)
    assert costs.seconds(attacked) == pytest.approx(2 * 4 * 5 * 0.01)
    assert costs.seconds(costs.cell(plan.to_run[0].cell, (0, 1))) == pytest.approx(2 * 5 * 0.01)


def test_a_unit_takes_as_long_as_its_table_and_its_cells(planned: Planner) -> None:
    plan = planned("epsilon=1,2,3")
    costs = costs_of(plan)
    (unit,) = plan.units()
    assert costs.seconds(*costs.works(unit)) == pytest.approx(costs.seconds(costs.table(unit), *cells(costs, plan)))
    (audit,) = Audits(planned("epsilon=1", "mechanism=fm", "audit.level=replay"), {}).units
    assert costs.works(audit) == [costs.audit(audit)]


def test_a_streamed_table_takes_one_pass_for_all_repeats_and_its_fits_no_longer_for_more_rows(planned: Planner) -> None:
    plan = planned("splits.repeats=50", "mechanism=fm")
    ((shared, table),) = plan.tables.items()
    (unit,) = plan.units()
    large = replace(table, rows=1_000_000)
    streamed = replace(large, streamed=True)
    loaded, once = (costs_of(replace(plan, tables={shared: facts})).table(unit).prior for facts in (large, streamed))
    values = 1_000_000 * (table.size.columns + 1)
    assert loaded - once == pytest.approx(49 * values * SECONDS_PER_VALUE_AND_REPEAT)
    assert streamed.size == large.size == large.size_of_fits
    assert streamed.size_of_fits == replace(streamed, rows=10**9).size_of_fits != streamed.size


def test_a_measured_time_beats_the_prior(planned: Planner) -> None:
    plan = planned("mechanism=fm,dpba", "epsilon=1,2")
    costs = costs_of(plan)
    fm, other_fm, dpba, _ = sorted(cells(costs, plan), key=lambda work: work.kind.names, reverse=True)
    assert not costs.measured(fm.kind)
    costs.learn(fm, 7.0, private=False)
    assert costs.seconds(other_fm) == pytest.approx(7.0), "ε costs nothing"
    assert costs.measured(other_fm.kind)
    assert costs.seconds(dpba) == pytest.approx(dpba.prior)
    assert not costs.measured(dpba.kind)


def test_each_options_own_time_comes_before_that_of_others(planned: Planner) -> None:
    plan = planned("mechanism=fm", "mechanism.ridge=1,2,3")
    costs = costs_of(plan)
    works = cells(costs, plan)
    for work, seconds in zip(works, (1.0, 5.0), strict=False):
        costs.learn(work, seconds, private=False)
    assert [costs.seconds(work) for work in works] == pytest.approx([1.0, 5.0, 3.0])


def test_a_measured_time_holds_for_other_numbers_of_runs(planned: Planner) -> None:
    plan = planned("splits.repeats=10")
    costs = costs_of(plan)
    cell = plan.to_run[0].cell
    costs.learn(costs.cell(cell, (0,)), 2.0, private=False)
    assert costs.seconds(costs.cell(cell, range(10))) == pytest.approx(20.0)


@pytest.mark.parametrize("axis", ["mechanism.ridge=1,3", "dataset.sample_n=500,4000", "model.intercept=true,false"])
def test_a_time_of_the_same_components_is_better_than_none(planned: Planner, axis: str) -> None:
    plan = planned("mechanism=fm", axis)
    costs = costs_of(plan)
    first, second = cells(costs, plan)
    costs.learn(first, 10 * first.prior, private=False)
    assert not costs.measured(second.kind)
    assert costs.seconds(second) == pytest.approx(10 * second.prior)


def test_a_late_import_in_the_first_cell_is_forgotten_with_the_second(planned: Planner) -> None:
    plan = planned()
    costs = costs_of(plan)
    (work,) = cells(costs, plan)
    for seconds in (5.0, 1.0, 1.1):
        costs.learn(work, seconds, private=False)
    assert costs.seconds(work) == pytest.approx(1.1)


def test_a_slow_machine_is_slow_at_what_it_has_not_done_yet(planned: Planner) -> None:
    plan = planned()
    (unknown,) = cells(costs_of(plan), plan)
    for count, factor in ((MIN_KINDS - 1, 1), (MIN_KINDS, 3)):
        costs = costs_of(plan)
        for index in range(count):
            costs.learn(Work(WorkKind(("cell", f"other {index}"), ""), 1.0), 3.0, private=False)
        assert costs.seconds(unknown) == pytest.approx(factor * unknown.prior)


def test_times_are_kept_for_other_sweeps_but_never_those_of_private_tables(planned: Planner, tmp_path: Path) -> None:
    plan = planned("mechanism=fm,dpba")
    file = tmp_path / "times"
    costs = costs_of(plan, RecordedTimes(file))
    fm, dpba = cells(costs, plan)
    costs.learn(fm, 2.0, private=True)
    assert costs.seconds(fm) == pytest.approx(2.0)
    assert not file.exists()
    costs.learn(dpba, 3.0, private=False)
    later = costs_of(plan, RecordedTimes(file))
    assert later.seconds(dpba) == pytest.approx(3.0, rel=0.01)
    assert later.measured(dpba.kind)
    assert not later.measured(fm.kind)


def test_edited_code_is_measured_again(planned: Planner) -> None:
    plan = planned()
    costs = costs_of(plan)
    cell = plan.to_run[0].cell
    edited = replace(cell, versions={**cell.versions, "mechanism": "another digest"})
    costs.learn(costs.cell(cell, (0,)), 2.0, private=False)
    assert costs.measured(costs.cell(cell, (0,)).kind)
    assert not costs.measured(costs.cell(edited, (0,)).kind)


def test_a_table_that_is_drawn_for_each_repeat_is_loaded_as_often(planned: Planner) -> None:
    def seconds(redraw: bool) -> float:
        plan = planned("dataset=gaussian", "dataset.n=100000", f"dataset.redraw={redraw}", "splits.repeats=4")
        costs: Any = Costs(plan.tables, priors=Priors({("references", "", "linear"): [MeasuredSize(SIZE, 0, 0)]}))
        return float(costs.seconds(costs.table(Unit((plan.to_run[0].cell,), (0, 1, 2, 3)))))

    assert seconds(True) > 2 * seconds(False)
