"""``work``: run the units that a sweep with engine=files wrote into a folder."""

import os
from pathlib import Path

import click

from dpbench.base.user_path import user_path
from dpbench.cells.time_limit import ends_process
from dpbench.report.formatting import plural
from dpbench.sweeps.engines.worker_processes import ONE_THREAD


@click.command("work")
@click.option("--until-empty", is_flag=True, help="End as soon as there is no unit to take, even if the sweep is not finished.")
@click.argument("folder", type=click.UNPROCESSED)
def command(folder: str, until_empty: bool) -> None:
    """Run the units that a sweep with engine=files engine.folder=FOLDER wrote, until the sweep is finished.

    Any number of these may run, on any machine that sees the folder. Each takes one cell at a time, and writes its result into
    the folder; the sweep's own process, or `python -m dpbench flush FOLDER`, delivers the results to the store. Ctrl-C gives
    the cell back. Anyone who can write to the folder can run code as you.
    """
    os.environ.update(ONE_THREAD)  # before NumPy is imported
    ends_process.set()
    from dpbench.sweeps.engines.folder_worker import work

    finished = work(Path(user_path(folder)), until_empty=until_empty)
    click.echo(f"{plural(finished, 'unit')} of {folder} finished.")
