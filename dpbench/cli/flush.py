"""``flush``: record what workers finished in a folder of unit files, without the sweep's own process."""

from pathlib import Path

import click

from dpbench.base.errors import Refused
from dpbench.base.user_path import user_path
from dpbench.cli._store_keys import split_arguments


@click.command("flush")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="FOLDER [tracking.uri=…]")
def command(arguments: tuple[str, ...]) -> int:
    """Record the cells that workers finished in FOLDER, when the sweep with engine=files that asked for them has ended.

    Cells without a result stay open: the same command again, or more workers and another flush, records them. The exit code is
    0 if all cells of the sweep are recorded, and 1 if some are not.
    """
    from dpbench.sweeps.folder_delivery import flush

    folders, keys = split_arguments("flush", arguments)
    if len(folders) != 1 or "tracking.experiment" in keys:
        raise Refused("One folder is flushed at a time: `python -m dpbench flush FOLDER [tracking.uri=…]`.")
    sentences, whole = flush(Path(user_path(folders[0])), keys.get("tracking.uri"))
    for sentence in sentences or [f"No sweep waits for results in {folders[0]}."]:
        click.echo(sentence)
    return int(not whole)
