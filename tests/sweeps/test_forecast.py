"""The forecast adds up what is left, learns from what comes back, and ends at zero."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dpbench.audit.result import AuditResult
from dpbench.cells.work_unit import BlockResult
from dpbench.sweeps.auditing import Audits
from dpbench.sweeps.costs import Costs
from dpbench.sweeps.forecast import SECONDS_PER_RECORD, SECONDS_PER_SWEEP, Forecast, makespan, predicted_seconds
from dpbench.sweeps.plan import SweepPlan
from dpbench.sweeps.recorded_times import RecordedTimes, times_file

GRID = ("mechanism=fm,dpba", "epsilon=1,2", "splits.repeats=4", "audit.level=replay")

Planner = Callable[..., SweepPlan]


def test_what_is_expected_to_take_longer_counts_as_longer(planned: Planner) -> None:
    def seconds(*grid: str) -> float:
        return predicted_seconds(planned(*grid), [])

    assert 0 < seconds("epsilon=1") < seconds("epsilon=1,2,3") < seconds("epsilon=1,2,3", "splits.repeats=500")
    assert seconds("model=linear") < seconds("model=logistic", "mechanism=no_privacy"), "every run passes over its rows"


def test_a_sweep_takes_the_sum_of_its_tables_cells_and_audits(planned: Planner) -> None:
    plan = planned(*GRID, "dataset.sample_n=500,1000")
    audits, costs = Audits(plan, {}).units, Costs(plan.tables)
    parts = [costs.seconds(*costs.works(item)) for item in (*plan.units(), *audits)]
    assert len(parts) == 2 + len(audits) > 2
    assert Forecast(plan, audits, costs).seconds == pytest.approx(sum(parts))


def test_when_everything_is_finished_nothing_is_left(planned: Planner) -> None:
    plan = planned(*GRID)
    audits = Audits(plan, {}).units
    forecast = Forecast(plan, audits, Costs(plan.tables))
    left = [forecast.seconds]
    for planned_cell in plan.to_run:
        forecast.finished(BlockResult(planned_cell.cell.key, (0, 1, 2, 3), seconds=1e-3))
        left.append(forecast.seconds)
    for audit in audits:
        forecast.finished_audit(audit, AuditResult(True, 500, seconds=1e-3))
        left.append(forecast.seconds)
    assert left[-1] == pytest.approx(0, abs=1e-9) != left[-2]
    assert len(left) > 5


def test_one_measured_cell_says_how_long_the_others_of_its_kind_take(planned: Planner) -> None:
    plan = planned("mechanism=fm", "epsilon=1,2,3,4")
    forecast = Forecast(plan, [], Costs(plan.tables))
    assert len(forecast.guessed) == 2, "the cells and their table"
    first = plan.to_run[0].cell
    forecast.finished(BlockResult(first.key, tuple(range(first.splits.repeats)), seconds=10.0, shared_seconds=5.0))
    assert forecast.seconds == pytest.approx(30.0)
    assert not forecast.guessed


def test_a_failed_cell_says_nothing_about_the_others(planned: Planner) -> None:
    plan = planned("mechanism=fm", "epsilon=1,2")
    forecast = Forecast(plan, [], Costs(plan.tables))
    first = plan.to_run[0].cell
    forecast.finished(BlockResult(first.key, tuple(range(first.splits.repeats)), seconds=1000.0, error="It failed."))
    assert forecast.seconds < 100


def test_times_of_private_tables_are_not_written(planned: Planner, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a,b\n" + "".join(f"{row % 7},{row % 5}\n" for row in range(200)))
    (tmp_path / "people.yaml").write_text("columns:\n  a: [0, 6]\n  b: [0, 4]\n")
    private = planned(
        "dataset=table",
        f"dataset.path={tmp_path / 'people.csv'}",
        "dataset.target=b",
        "dataset.bounds=" + str(tmp_path / "people.yaml"),
    )
    public = planned("dataset=wine")
    for plan, lines in ((private, 0), (public, 1)):
        forecast = Forecast(plan, [], Costs(plan.tables, RecordedTimes(tmp_path / "times")))
        cell = plan.to_run[0].cell
        forecast.finished(BlockResult(cell.key, tuple(range(cell.splits.repeats)), seconds=1.0))
        assert len((tmp_path / "times").read_text().splitlines() if (tmp_path / "times").exists() else []) == lines


def test_recording_adds_to_the_time_of_one_process_and_hides_behind_workers(planned: Planner) -> None:
    plan = planned("mechanism=fm", "epsilon=1,2,3")
    forecast = Forecast(plan, [], Costs(plan.tables))
    recording = SECONDS_PER_SWEEP + 3 * SECONDS_PER_RECORD
    assert forecast.recording == pytest.approx(recording)
    assert forecast.seconds_left(1) == pytest.approx(forecast.seconds + recording)
    assert forecast.seconds_left(4) == pytest.approx(max(forecast.seconds / 4, recording))
    forecast.unrecorded = 0
    assert forecast.seconds_left(1) == pytest.approx(forecast.seconds)


def test_workers_share_the_work_but_not_the_pass_over_the_rows(planned: Planner) -> None:
    plan = planned("mechanism=fm", "epsilon=1,2")
    costs = Costs(plan.tables)
    (unit,) = plan.units()
    parts = unit.one_cell_each
    table, first, second = costs.works(unit)
    assert makespan(parts, costs, 1) == pytest.approx(costs.seconds(table, first, second))
    assert makespan(parts, costs, 2) == pytest.approx(costs.seconds(table, first))


@pytest.mark.usefixtures("alone")
def test_a_sweep_leaves_its_times_for_the_next_one(home: object, planned: Planner) -> None:
    grid = ("dataset=gaussian", "dataset.n=200", "dataset.d=2", "mechanism=fm,dpba", "splits.repeats=2")
    plan = planned(*grid)
    guessed = Forecast(plan, [], Costs.of_this_machine(plan.tables)).guessed
    assert len(guessed) == 3
    assert home.run("-m", *grid).code == 0  # type: ignore[attr-defined]
    assert Forecast(plan, [], Costs.of_this_machine(plan.tables)).guessed == []
    assert times_file() is not None
