"""``failures``: list the cells of a sweep that failed, with their reasons and where in the code they failed."""

import json
from dataclasses import asdict

import click

from dpbench.base.errors import Refused
from dpbench.cli._store_keys import open_recorded, split_arguments
from dpbench.report.formatting import plural


@click.command("failures")
@click.option("--json", "as_json", is_flag=True, help="Print the cells as JSON.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[SWEEP] [tracking.uri=…] [tracking.experiment=…]")
def command(as_json: bool, arguments: tuple[str, ...]) -> None:
    """List the cells of SWEEP that failed, with their reasons and where in the code they failed.

    SWEEP is a run id (the first characters are enough), a preset, latest or previous; by default the newest sweep. What an error
    says itself is left out where rows are private, since it may quote one. The sweep's own command runs these cells again.
    """
    from dpbench.tracking.failed_cells import failed_cells

    sweeps, keys = split_arguments("failures", arguments)
    if len(sweeps) > 1:
        raise Refused(f"Failures are listed for one sweep at a time. Got {len(sweeps)} names.")
    with open_recorded(keys) as store:
        run_id, cells = failed_cells(store, sweeps[0] if sweeps else None)
    if as_json:
        click.echo(json.dumps({"sweep": run_id, "cells": [asdict(cell) for cell in cells]}, indent=1, ensure_ascii=False))
        return
    for cell in cells:
        click.echo(f"{cell.name} ({cell.run_id})\n{cell.traceback or cell.reason}\n")
    click.echo(
        f"{plural(len(cells), 'cell')} of the sweep {run_id} failed." if cells else f"No cell of the sweep {run_id} failed."
    )
