"""Print what a sweep would run, resume and prune, without running it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from dpbench.base.errors import Refused
from dpbench.base.memory import GIGABYTE
from dpbench.base.terminal import console, print_grid
from dpbench.data.scaling import FRACTION_BITS
from dpbench.report.formatting import listed, plural
from dpbench.sweeps.feasibility import spell_seconds, sums_bytes, table_bytes

if TYPE_CHECKING:
    from dpbench.cells.audit_unit import AuditUnit
    from dpbench.records.cell_record import CellRecord
    from dpbench.sweeps.plan import SweepPlan

MAX_GUESSED = 8
"""Kinds of cells that are listed by name."""
MAX_VALUES = 6
"""Values of the axis that stand in one row."""


@click.command(name="plan", context_settings={"ignore_unknown_options": True})
@click.option("-m", "--multirun", is_flag=True, help="Accepted for symmetry: a plan always takes several values.")
@click.argument("overrides", nargs=-1, type=click.UNPROCESSED)
def command(multirun: bool, overrides: tuple[str, ...]) -> None:
    """Print the plan of a sweep without running it or writing anything.

    OVERRIDES are those of the sweep: mechanism=fm,dpba epsilon=0.1,0.8
    """
    from rich.table import Table

    from dpbench.sweeps.audit_file import audit_file
    from dpbench.sweeps.auditing import Audits
    from dpbench.sweeps.execution import check_settings
    from dpbench.sweeps.hydra.composition import grid_points
    from dpbench.sweeps.plan import plan
    from dpbench.sweeps.resuming import resume
    from dpbench.tracking.run_writer import Writer
    from dpbench.tracking.store import open_store

    points = grid_points(overrides)
    planned = plan(points)
    check_settings(points[0].config)
    tracking = points[0].config["tracking"]
    # without a store, or where it cannot be reached, nothing is known to be recorded
    recorded: Mapping[str, CellRecord] = {}
    file = None
    with suppress(Refused), open_store(tracking["uri"], tracking["experiment"], create=False) as store, Writer(store) as writer:
        planned, recorded = resume(planned, writer)
        file = audit_file(store.uri)
    out = console()
    table = Table(header_style="bold", pad_edge=False)
    rows = _rows([{"state": cell.state, **cell.params} for cell in planned.cells])
    for name in rows[0]:
        table.add_column(name, no_wrap=True)
    for row in rows:
        table.add_row(*row.values())
    print_grid(out, table, heading=2)
    for reason in dict.fromkeys(cell.reason for cell in planned.cells if cell.reason):
        out.print(f"Pruned: {reason}")
    for note in planned.notes:
        out.print(f"Note: {note}")
    for sentence in _tables(planned):
        out.print(sentence)
    counts = Counter(cell.state for cell in planned.cells)
    cells = f"{counts['run']} cell{'s' * (counts['run'] != 1)}"
    out.print(f"{cells} to run, {counts['resumed']} already recorded, {counts['pruned']} pruned.")
    for sentence in _forecast(planned, Audits(planned, recorded, file).units, points[0].config["engine"]):
        out.print(sentence)


def _rows(cells: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return one row for all cells that differ in a single number, such as ε: the number that leaves the fewest rows."""
    from dpbench.files.cells import is_number

    names = list(dict.fromkeys(key for cell in cells for key in cell))

    def grouped(axis: str) -> dict[tuple[str, ...], list[str]]:
        """Return the values of the axis, by everything else."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for cell in cells:
            groups.setdefault(tuple(cell.get(name, "") for name in names if name != axis), []).append(cell.get(axis, ""))
        return groups

    numeric = [name for name in names if all(is_number(cell[name]) for cell in cells if cell.get(name))]
    # without any number it is the state, in which alone no two cells differ, so that each has a row of its own
    axis = min(numeric or ["state"], key=lambda name: len(grouped(name)))
    rows = []
    for others, values in grouped(axis).items():
        rest = iter(others)
        row = {name: _values(values) if name == axis else next(rest) for name in names}
        rows.append({**row, "cells": str(len(values))})
    return rows


def _values(values: Sequence[str]) -> str:
    """Return the different values of an axis; where they are many, the first three and the last."""
    different = list(dict.fromkeys(values))
    return ", ".join(different) if len(different) <= MAX_VALUES else f"{', '.join(different[:3])}, … {different[-1]}"


def _tables(plan: "SweepPlan") -> Iterator[str]:
    """Yield the size of each table that is fitted, the grid of its values, and the memory that it takes."""
    seen = {planned.cell.shared: planned for planned in plan.cells if planned.cell.shared in plan.tables}
    sentences = []
    for shared, planned in seen.items():
        table, features, name = plan.tables[shared], plan.tables[shared].geometry.features, planned.params["dataset"]
        repeats = plan.block_size(planned.cell)
        loading = f"takes about {_gigabytes(table_bytes(table.rows, features))} to load it, and"
        loading = "reads it in chunks, and takes" if table.streamed else loading
        sums = _gigabytes(sums_bytes(features, planned.cell.splits, repeats))
        sentences.append(
            f"{name}: {table.rows:,} rows of {plural(features, 'column')}, values are multiples of 2^-{FRACTION_BITS}. A "
            f"process {loading} {sums} for the sums of {plural(repeats, 'repeat')}."
        )
    yield from dict.fromkeys(sentences)


def _gigabytes(size: int) -> str:
    return f"{size / GIGABYTE:.2g} GB" if size >= GIGABYTE // 10 else f"{size / 10**6:,.1f} MB"


def _forecast(plan: "SweepPlan", audits: Sequence["AuditUnit"], engine_section: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences that say how long the sweep will take, and how much of that is a guess."""
    from dpbench.sweeps.costs import TABLE, Costs
    from dpbench.sweeps.engines.choice import engine_from
    from dpbench.sweeps.forecast import Forecast, elapsed, makespan
    from dpbench.sweeps.schedule import UNKNOWN_WORKERS, schedule

    costs = Costs.of_this_machine(plan.tables)
    forecast = Forecast(plan, audits, costs)
    workers = engine_from(engine_section, forecast.seconds).workers or UNKNOWN_WORKERS
    items = list(schedule(plan.units(), audits, costs, workers))
    count = f"{plural(len(items) - len(audits), 'work unit')} and {plural(len(audits), 'audit')}"
    yield f"{count}, about {_spelled(forecast.seconds)} on one core, and {_spelled(forecast.recording)} to record the cells."
    if workers > 1:
        seconds = elapsed(makespan(items, costs, workers), forecast.recording, workers)
        yield f"On {workers} workers about {_spelled(seconds)}."
    guessed = [f"{kind.names[1]} on {kind.names[2]}" for kind in forecast.guessed if kind.names[0] != TABLE]
    if guessed:
        yield f"Never measured on this machine, and so only guessed: {listed(guessed, most=MAX_GUESSED)}."


def _spelled(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120 else spell_seconds(seconds)
