"""``reproduce``: run a recorded cell again from its record, and say whether every number comes out the same."""

import math
from typing import TYPE_CHECKING

import click

from dpbench.base.errors import Refused
from dpbench.base.terminal import console, print_grid, say
from dpbench.cli._store_keys import open_recorded, split_arguments
from dpbench.report.formatting import plural

if TYPE_CHECKING:
    from dpbench.sweeps.reproduction import Reproduction

MAX_LISTED_COLUMNS = 12


@click.command("reproduce")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="RUN_ID [tracking.uri=…] [tracking.experiment=…]")
def command(arguments: tuple[str, ...]) -> int:
    """Run a recorded cell again from its record, and say whether every number comes out the same.

    RUN_ID is the id of the cell's run; its first characters are enough. Its options and its seed come from its record, its code
    and its data from this machine. Every number of runs.parquet is compared, except times. Nothing is recorded. The exit code is
    0 if all bits are the same, and 1 if they drifted: then the columns that differ are listed, with the versions that do.
    """
    from dpbench.sweeps.reproduction import reproduce
    from dpbench.tracking.cell_lookup import read_cell
    from dpbench.tracking.run_writer import run_name

    runs, keys = split_arguments("reproduce", arguments)
    if len(runs) != 1:
        raise Refused(f"One run is reproduced at a time: `python -m dpbench reproduce RUN_ID`. Got {len(runs)} run ids.")
    with open_recorded(keys) as store:
        recorded = read_cell(store, runs[0])
    reproduction = reproduce(recorded)
    say(f"{run_name(recorded)} ({recorded.run_id})")
    if not reproduction.rerun.done:
        say(f"Drifted: the cell fails now. {reproduction.rerun.reason}")
    elif reproduction.same:
        numbers = f"{plural(len(reproduction.columns), 'column')} of {plural(_runs(reproduction), 'run')}"
        say(f"Same bits: all {numbers} agree{_with_weights(reproduction)}.")
    else:
        _print_drifts(reproduction)
    _print_versions(reproduction)
    return int(not reproduction.same)


def _print_drifts(reproduction: "Reproduction") -> None:
    from rich.table import Table

    drifts = reproduction.drifts
    say(f"Drifted: {len(drifts)} of {plural(len(reproduction.columns), 'column')} differ.")
    table = Table("column", "largest relative difference", "runs", header_style="bold", pad_edge=False)
    for drift in drifts[:MAX_LISTED_COLUMNS]:
        difference = f"{drift.difference:.3g}" if math.isfinite(drift.difference) else "infinite"
        table.add_row(drift.column, difference, f"{drift.runs} of {_runs(reproduction)}")
    print_grid(console(), table)
    if len(drifts) > MAX_LISTED_COLUMNS:
        say(f"{plural(len(drifts) - MAX_LISTED_COLUMNS, 'more column')} differ by less.")


def _print_versions(reproduction: "Reproduction") -> None:
    for part, (before, now) in reproduction.versions.items():
        say(f"Version that differs: {part}, recorded {before or 'nothing'}, now {now or 'nothing'}.")
    if not reproduction.versions and not reproduction.same:
        say("No version differs: something other than the seed and the record decides these numbers.")


def _runs(reproduction: "Reproduction") -> int:
    return len(reproduction.recorded.detail.runs["repeat"])


def _with_weights(reproduction: "Reproduction") -> str:
    has = any(name.startswith("weight/") for name in reproduction.columns)
    return ", weights included" if has else "; its weights are not in its record"
