"""Measure what cells cost, for the planner, and check its predictions.

    python scripts/costs.py                               measure everything that ships; writes dpbench/sweeps/cost_priors.csv
    python scripts/costs.py --mechanism fm                measure one mechanism again, or a new one, and keep the other lines
    python scripts/costs.py --validate                    compare the plan of every preset, with quick=true, with running it
    python scripts/costs.py --validate zhang2012/fig6     these presets or papers only

Both count seconds of processor time in one process with one BLAS thread, those of programs that it starts included, so that
other work on the machine disturbs little. Cells are measured with two numbers of runs, which tells what a cell costs from what
each run adds. ``--validate`` prints a table: what was predicted and measured for each preset, first with the shipped times
alone, then with the times that running the preset has recorded.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from dpbench.base.one_thread import one_thread
from dpbench.cells.audit_unit import run_audit
from dpbench.cells.cell import Cell
from dpbench.cells.unit_runner import UnitRunner
from dpbench.experiments.presets import experiments, select
from dpbench.report.formatting import group_by
from dpbench.sweeps.auditing import Audits
from dpbench.sweeps.costs import Costs
from dpbench.sweeps.execution import execute
from dpbench.sweeps.forecast import Forecast
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import SweepPlan, plan
from dpbench.tracking.store import open_store

PRIORS = Path(__file__).resolve().parent.parent / "dpbench" / "sweeps" / "cost_priors.csv"
HEADER = (
    "# Written by `python scripts/costs.py`: seconds of processor time of a cell, an attack, a model's references or an audit.\n"
)
COLUMNS = ("what", "name", "model", "rows", "columns", "seconds", "seconds_per_run")
EVERYTHING = ("mechanism=glob(*)", "model=glob(*)")
ROWS = (1_000, 10_000, 100_000)
AUDITED_ROWS = 10_000
"""An audit makes its own tables, so its time hardly depends on the number of rows."""
ATTRIBUTES = (5, 14)
REPEATS = (2, 10)
FOLDS = 5
EPSILONS = "epsilon=0.5,1,2"
"""Cells of each kind that are measured; the shortest counts, because nothing but other work on the machine makes one longer."""
MAX_REPEATED_SECONDS = 1.0
"""A cell that takes longer is measured once."""
MAX_SECONDS = 20.0
"""A cell that takes longer with few runs is not measured with many: all of its time is taken for that of its runs."""

Size = tuple[int, int]
Line = tuple[str, ...]
T = TypeVar("T")
K = TypeVar("K")
Measured = dict[K, tuple[Size, list[float]]]
"""The size of the table, and the seconds with few and with many runs."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--validate", nargs="*", metavar="NAME", help="check predictions of all presets, or of these")
    parser.add_argument("--mechanism", metavar="NAME", help="measure only this one")
    arguments = parser.parse_args()
    if arguments.validate is not None:
        names = [preset.name for name in arguments.validate for preset in select(name, experiments())]
        validate(names or list(experiments()))
        return 0
    lines = {} if arguments.mechanism is None else read_lines()
    with one_thread():
        for line in priors(arguments.mechanism):
            lines[line[:5]] = line
    with PRIORS.open("w", encoding="utf-8") as file:
        file.write(HEADER)
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *lines.values()])
    return 0


def read_lines() -> dict[Line, Line]:
    """Return the lines of the file by what they are about: all but the seconds."""
    with PRIORS.open(encoding="utf-8") as file:
        rows = [tuple(row) for row in csv.reader(line for line in file if not line.startswith("#"))]
    return {row[:5]: row for row in rows[1:]}


def priors(mechanism: str | None) -> Iterator[Line]:
    """Yield the lines of the file, or those of one mechanism."""
    chosen = f"mechanism={mechanism or 'glob(*)'}", "model=glob(*)"
    warm_up()
    for rows, attributes in product(ROWS, ATTRIBUTES):
        table = ["dataset=census", f"dataset.sample_n={rows}", f"dataset.attributes={attributes}", f"splits.folds={FOLDS}"]
        references, cells = measured_cells([*table, *chosen, EPSILONS])
        for (model, name, _), (size, seconds) in cells.items():
            yield line("cell", name, model, size, *linear(seconds))
        if rows == AUDITED_ROWS:
            for unit in Audits(plan_of([*table, *chosen], REPEATS[0]), {}).units:
                _, seconds_of_audit = timed(run_audit, unit)
                size = rows, unit.geometry.dimension
                yield line("audit", unit.cell.mechanism.name, unit.cell.model.name, size, seconds_of_audit, 0.0)
        if mechanism is None:
            yield from _shared_priors(table, references)


def _shared_priors(table: Sequence[str], references: Measured[str]) -> Iterator[Line]:
    """Yield the lines of what does not depend on the mechanism."""
    for model, (size, seconds) in references.items():
        yield line("references", "", model, size, *linear(seconds))
    _, attacks = measured_cells([*table, "mechanism=no_privacy", "model=glob(*)", "attack=glob(*)", EPSILONS])
    for (model, mechanism, attack), (size, seconds) in attacks.items():
        if attack != "none":
            _, alone = attacks[model, mechanism, "none"]
            more = [max(0.0, attacked - rest) for attacked, rest in zip(seconds, alone, strict=False)]
            yield line("attack", attack, model, size, *linear(more))


def line(what: str, name: str, model: str, size: Size, seconds: float, seconds_per_run: float) -> Line:
    return what, name, model, str(size[0]), str(size[1]), f"{seconds:.2g}", f"{seconds_per_run:.2g}"


def warm_up() -> None:
    """Import what cells need, so that no cell is measured with it."""
    measured_cells(["dataset=census", "dataset.sample_n=500", "dataset.attributes=5", *EVERYTHING])


def measured_cells(grid: Sequence[str]) -> tuple[Measured[str], Measured[tuple[str, str, str]]]:
    """Return the seconds, with few and with many runs, of each model's references and of each model, mechanism and attack."""
    references: Measured[str] = {}
    cells: Measured[tuple[str, str, str]] = {}
    for repeats in REPEATS:
        planned = plan_of(grid, repeats)
        for unit in planned.units():
            size = planned.tables[unit.cells[0].shared].rows, planned.tables[unit.cells[0].shared].geometry.dimension
            runner = UnitRunner(unit)
            timed(lambda runner: runner.block.grams, runner)
            _, seconds = timed(lambda runner: (runner.references, runner.truth), runner)
            references.setdefault(unit.cells[0].model.name, (size, []))[1].append(seconds)
            for names, kind in group_by(unit.cells, _names).items():
                few = cells[names][1] if names in cells else []
                if not few or few[0] <= MAX_SECONDS:
                    cells.setdefault(names, (size, []))[1].extend(_shortest(kind, runner))
    return references, {names: measured for names, measured in cells.items() if measured[1]}


def _names(cell: Cell) -> tuple[str, str, str]:
    return cell.model.name, cell.mechanism.name, cell.attack.name


def _shortest(cells: Sequence[Cell], runner: UnitRunner) -> list[float]:
    """Return the seconds of the shortest of some cells of one kind; nothing if one fails."""
    seconds: list[float] = []
    for cell in cells:
        result, measured = timed(runner.result, cell)
        if result.error:
            print(f"{_names(cell)} failed: {result.error[:200]}", file=sys.stderr)
            return []
        seconds.append(measured)
        if measured > MAX_REPEATED_SECONDS:
            break
    return [min(seconds)]


def linear(seconds: Sequence[float]) -> tuple[float, float]:
    """Return the seconds of a cell and of each of its runs, from those with few and with many runs."""
    few, *many = seconds
    first, second = (repeats * FOLDS for repeats in REPEATS)
    slope = max(0.0, (many[0] - few) / (second - first)) if many else few / first
    return max(0.0, few - slope * first), slope


def plan_of(grid: Sequence[str], repeats: int) -> SweepPlan:
    return plan(grid_points([*grid, f"splits.repeats={repeats}"]))


def validate(presets: Sequence[str]) -> None:
    """Print for each preset how its measured time compares with the predictions, and the medians."""
    print("| preset | cells | measured (s) | predicted from shipped times | ratio | from recorded times | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    factors: list[tuple[float, float]] = []
    warm_up()
    for preset in presets:
        cells, measured, shipped, recorded = _validated(preset)
        ratios = measured / shipped, measured / recorded
        factors.append((max(ratios[0], 1 / ratios[0]), max(ratios[1], 1 / ratios[1])))
        numbers = f"{measured:.1f} | {shipped:.1f} | {ratios[0]:.2f} | {recorded:.1f} | {ratios[1]:.2f}"
        print(f"| {preset} | {cells} | {numbers} |", flush=True)
    medians = [statistics.median(column) for column in zip(*factors, strict=True)]
    within = sum(factor <= 2 for factor, _ in factors)
    print(f"\nMedian factor between prediction and measurement over {len(factors)} presets: {medians[0]:.2f} with the shipped")
    print(f"times alone, {medians[1]:.2f} with recorded ones. With the shipped times {within} are within a factor of 2.")


def _validated(preset: str) -> tuple[int, float, float, float]:
    """Return the number of cells of a preset, its measured seconds, and those predicted without and with recorded times."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, DPBENCH_CACHE=folder):
        uri = f"sqlite:///{Path(folder) / 'mlflow.db'}"
        open_store(uri).close()
        points = grid_points([f"experiment={preset}", "quick=true", "engine=serial", f"tracking.uri={uri}"])
        planned = plan(points)
        shipped = _predicted(planned)
        # the runner measures by the clock of the wall: on a busy machine, that of the processor says more
        with patch("time.perf_counter", processor_seconds):
            _, measured = timed(lambda: execute(planned, points[0].config, sweep=True, command=[], overrides=[]))
        return len(planned.to_run), measured, shipped, _predicted(planned)


def _predicted(planned: SweepPlan) -> float:
    """Return the predicted seconds of a sweep in one process, recording included."""
    return Forecast(planned, Audits(planned, {}).units, Costs.of_this_machine(planned.tables)).seconds_left(workers=1)


def timed(work: Callable[..., T], *arguments: Any) -> tuple[T, float]:
    """Return the result of the work, and the processor time that it took."""
    start = processor_seconds()
    result = work(*arguments)
    return result, processor_seconds() - start


def processor_seconds() -> float:
    """Return the processor time of this process, and of the programs that it started and that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    sys.exit(main())
