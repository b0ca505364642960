"""Units hold every cell once and one table each, and their sizes let all workers end together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import pytest

from dpbench.cells.audit_unit import AuditUnit
from dpbench.cells.work_unit import Unit
from dpbench.sweeps import plan as plan_module
from dpbench.sweeps.auditing import Audits
from dpbench.sweeps.costs import Costs
from dpbench.sweeps.engines.choice import engine_from
from dpbench.sweeps.engines.local import Local
from dpbench.sweeps.forecast import makespan, predicted_seconds
from dpbench.sweeps.plan import SweepPlan
from dpbench.sweeps.schedule import MAX_UNIT_SECONDS, MIN_UNIT_SECONDS, schedule

Planner = Callable[..., SweepPlan]
DPME = ("dataset=census", "dataset.attributes=14", "mechanism=dpme", "epsilon=0.1,0.2,0.4,0.8")


def units_of(plan: SweepPlan, costs: Costs, workers: int) -> list[Unit]:
    return [item for item in schedule(plan.units(), [], costs, workers) if isinstance(item, Unit)]


def knowing(plan: SweepPlan, seconds: Sequence[float]) -> Costs:
    """Costs that have measured every cell of the plan, in its order, and a table without cost."""
    costs = Costs(plan.tables)
    for planned, each in zip(plan.to_run, seconds, strict=True):
        costs.learn(costs.cell(planned.cell, range(planned.cell.splits.repeats)), each, private=False)
    for unit in plan.units():
        costs.learn(costs.table(unit), 0.0, private=False)
    return costs


@pytest.mark.parametrize("workers", [1, 2, 16])
def test_every_cell_and_repeat_is_in_one_unit_and_no_unit_mixes_tables(
    planned: Planner, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr(plan_module, "BLOCK_ROWS", 150)
    grid = ("mechanism=fm,dpba,no_privacy", "epsilon=0.1,0.8,3.2", "dataset=gaussian", "dataset.n=60,100,400", "splits.repeats=5")
    plan = planned(*grid, "attack=none,membership")
    expected = Counter((planned.cell.key, repeat) for planned in plan.to_run for repeat in range(5))
    units = units_of(plan, Costs(plan.tables), workers)
    assert Counter((cell.key, repeat) for unit in units for cell in unit.cells for repeat in unit.repeats) == expected
    assert all(len({cell.shared for cell in unit.cells}) == 1 for unit in units)
    tables = [unit.cells[0].shared for unit in units]
    assert sum(one != other for one, other in pairwise(tables)) == 2, "a table's units follow each other"


def test_four_dpme_cells_on_a_large_table_run_in_several_processes(planned: Planner) -> None:
    plan = planned(*DPME)
    assert isinstance(engine_from({"name": "auto", "workers": 2}, predicted_seconds(plan, [])), Local)


def test_four_dpme_cells_are_not_one_unit(planned: Planner) -> None:
    """This table is one block of repeats, so that only its cells can be shared out."""
    plan = planned(*DPME, "dataset.sample_n=80000")
    assert len(plan.units()) == 1
    assert [len(unit.cells) for unit in units_of(plan, Costs(plan.tables), 2)] == [1, 1, 1, 1]


def test_four_fm_cells_on_a_small_table_stay_in_this_process(planned: Planner) -> None:
    plan = planned("mechanism=fm", "epsilon=0.1,0.2,0.4,0.8")
    assert not isinstance(engine_from({"name": "auto", "workers": 2}, predicted_seconds(plan, [])), Local)


def test_the_first_cell_of_an_unknown_kind_runs_alone_and_its_time_cuts_the_others(planned: Planner) -> None:
    """The second kind turns out a thousand times slower than expected."""
    plan = planned("mechanism=fm,dpba", "epsilon=1,2,3,4,5,6,7,8")
    costs = Costs(plan.tables)
    sizes: dict[str, list[int]] = {"fm": [], "dpba": []}
    for unit in schedule(plan.units(), [], costs, 2):
        assert isinstance(unit, Unit)
        names = {cell.mechanism.name for cell in unit.cells}
        for cell in unit.cells:
            costs.learn(costs.cell(cell, unit.repeats), 30.0 if cell.mechanism.name == "dpba" else 1e-3, private=False)
        for name in names:
            sizes[name].append(sum(cell.mechanism.name == name for cell in unit.cells))
    assert sizes == {"fm": [1, 7], "dpba": [1] * 8}


def test_options_of_short_cells_are_not_measured_one_by_one(planned: Planner) -> None:
    plan = planned("mechanism=fm", "mechanism.ridge=1,2,3,4,5,6,7,8")
    assert [len(unit.cells) for unit in units_of(plan, Costs(plan.tables), 1)] == [1, 7]


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_all_workers_end_together(planned: Planner, workers: int) -> None:
    """The last one ends no later than the smallest unit, or the longest cell, after the mean."""
    epsilons = ",".join(str(1 + index) for index in range(60))
    plan = planned("mechanism=fm,dpba", f"epsilon={epsilons}")
    seconds = [4.0 if planned.cell.mechanism.name == "dpba" else 0.1 for planned in plan.to_run]
    costs = knowing(plan, seconds)
    units = units_of(plan, costs, workers)
    assert makespan(units, costs, workers) <= sum(seconds) / workers + 4.0 + MIN_UNIT_SECONDS
    assert len(units) < len(seconds)


def test_units_become_smaller_towards_the_end_and_none_is_long(planned: Planner) -> None:
    epsilons = ",".join(str(1 + index) for index in range(400))
    plan = planned("mechanism=fm", f"epsilon={epsilons}")
    costs = knowing(plan, [1.0] * 400)
    sizes = [len(unit.cells) for unit in units_of(plan, costs, 2)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == MAX_UNIT_SECONDS
    assert sizes[-1] == 1


def test_cells_share_a_pass_over_the_rows_that_takes_longer_than_they_do(planned: Planner) -> None:
    plan = planned("mechanism=fm", "epsilon=1,2,3,4,5,6,7,8,9,10")
    costs = knowing(plan, [1.0] * 10)
    (block,) = plan.units()
    for _ in range(3):
        costs.learn(costs.table(block), 30.0, private=False)
    assert [len(unit.cells) for unit in units_of(plan, costs, 16)] == [10]


def test_cells_that_differ_only_by_the_attack_follow_each_other(planned: Planner) -> None:
    plan = planned("mechanism=fm", "epsilon=1,2,3", "attack=none,membership", "attack.fits=8")
    order = [cell.fit for unit in units_of(plan, knowing(plan, [1e-3] * 6), 1) for cell in unit.cells]
    assert sum(one != other for one, other in pairwise(order)) == 2


def test_the_longest_table_comes_first_on_several_workers_and_the_command_decides_on_one(planned: Planner) -> None:
    plan = planned("dataset=gaussian", "dataset.n=60,5000,500", "model=logistic", "mechanism=no_privacy", "splits.repeats=20")

    def tables(workers: int) -> Iterator[int]:
        return (unit.cells[0].dataset.options["n"] for unit in units_of(plan, Costs(plan.tables), workers))

    assert list(dict.fromkeys(tables(1))) == [60, 5000, 500]
    assert list(dict.fromkeys(tables(2))) == [5000, 500, 60]


def test_a_tables_audits_come_before_its_units(planned: Planner) -> None:
    plan = planned("dataset=gaussian", "dataset.n=60,70", "mechanism=fm,dpba", "splits.repeats=2", "audit.level=replay")
    audits = Audits(plan, {}).units
    items = list(schedule(plan.units(), audits, Costs(plan.tables)))
    assert [item for item in items if isinstance(item, AuditUnit)] == audits
    kinds = [(item.cell if isinstance(item, AuditUnit) else item.cells[0]).dataset.options["n"] for item in items]
    assert kinds == sorted(kinds)
    for n in (60, 70):
        audited = [isinstance(item, AuditUnit) for item, size in zip(items, kinds, strict=True) if size == n]
        assert audited == sorted(audited, reverse=True)
