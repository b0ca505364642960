"""Print what a sweep would run, resume and prune, without running it."""

import sys
from collections import Counter
from contextlib import suppress

import click

from dpbench.base.errors import Refused


@click.command(name="plan", context_settings={"ignore_unknown_options": True})
@click.option("-m", "--multirun", is_flag=True, help="Accepted for symmetry: a plan always takes several values.")
@click.argument("overrides", nargs=-1, type=click.UNPROCESSED)
def command(multirun: bool, overrides: tuple[str, ...]) -> None:
    """Print the plan of a sweep without running it or writing anything.

    OVERRIDES are those of the sweep: mechanism=fm,dpba epsilon=0.1,0.8
    """
    from rich.console import Console
    from rich.table import Table

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
    with suppress(Refused), open_store(tracking["uri"], tracking["experiment"], create=False) as store, Writer(store) as writer:
        planned, _ = resume(planned, writer)
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    table = Table(header_style="bold", pad_edge=False)
    names = list(dict.fromkeys(key for cell in planned.cells for key in cell.params))
    for name in ("state", *names):
        table.add_column(name, no_wrap=True)
    for cell in planned.cells:
        table.add_row(cell.state, *(cell.params.get(name, "") for name in names))
    console.print(table)
    for reason in dict.fromkeys(cell.reason for cell in planned.cells if cell.reason):
        console.print(f"Pruned: {reason}", markup=False)
    for note in planned.notes:
        console.print(f"Note: {note}", markup=False)
    counts = Counter(cell.state for cell in planned.cells)
    units = planned.units()
    work = f"{len(units)} work unit{'s' * (len(units) != 1)}, about {planned.seconds:.1f} s on one core"
    cells = f"{counts['run']} cell{'s' * (counts['run'] != 1)}"
    console.print(f"{cells} to run, {counts['resumed']} already recorded, {counts['pruned']} pruned.")
    console.print(f"{work}, and about 0.05 s a cell to record.")
