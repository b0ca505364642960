"""``merge``: copy what another store has and this one lacks, so that machines that swept apart have one record."""

import click

from dpbench.base.errors import Refused
from dpbench.base.terminal import say
from dpbench.cli._store_keys import open_recorded, split_arguments
from dpbench.report.formatting import plural


@click.command("merge")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="other.uri=… [tracking.uri=…] [tracking.experiment=…]")
def command(arguments: tuple[str, ...]) -> None:
    """Copy the cells of the store other.uri that the store tracking.uri lacks, and its sweeps, with new reports.

    The same cell has the same key in every store: it is never copied twice, and merging again copies only what is new. The other
    store stays as it is. Both need the same experiment, and machines with private tables the same key file (DPBENCH_KEY_FILE).
    """
    from dpbench.sweeps.merging import merge
    from dpbench.tracking.store import open_store

    names, keys = split_arguments("merge", arguments, ["other.uri"])
    if names or "other.uri" not in keys:
        raise Refused("The other store must be given once: `python -m dpbench merge other.uri=sqlite:///theirs.db`.")
    experiment = keys.get("tracking.experiment", "dpbench")
    with open_recorded(keys, "other.uri") as source, open_store(keys.get("tracking.uri"), experiment) as target:
        merged = merge(source, target)
    copied = f"{plural(merged.cells, 'cell')} and {plural(merged.sweeps, 'sweep')} copied"
    say(f"{copied}, {plural(merged.present, 'cell')} already there. Open the runs: python -m dpbench ui --uri {target.shown}")
