"""``compare``: say which cells of a sweep became better or worse since another sweep; exit code 1 if any became worse."""

import json
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from dpbench.base.errors import Refused
from dpbench.base.terminal import console, print_grid, say, say_prose
from dpbench.cli._store_keys import open_recorded, split_arguments
from dpbench.report.formatting import plural

if TYPE_CHECKING:
    from dpbench.report.statistics.changes import Change

PIPED_WIDTH = 140


@click.command("compare")
@click.option("--json", "as_json", is_flag=True, help="Print every cell as JSON.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="SWEEP_A SWEEP_B [tracking.uri=…] [other.uri=…]")
def command(as_json: bool, arguments: tuple[str, ...]) -> int:
    """Say which cells of SWEEP_B became better or worse since SWEEP_A; the exit code is 1 if any became worse or failed.

    A sweep is named by its run id (the first characters are enough), by its preset, or as latest or previous. SWEEP_B may be in
    another store: other.uri=…. Cells with the same parameters, seed, splits and dataset are compared repeat by repeat. One is
    worse if its median error is higher by more than 1 % of the way from the fit without privacy to the mean predictor and a test
    separates the two, if it accounts more ε, if more of its runs have no finite error, or if its guarantee is weaker: sound is
    more than claimed, and claimed more than all others. Any other change of the guarantee is listed as "other guarantee".
    """
    from dpbench.report.statistics.changes import REGRESSIONS, changes
    from dpbench.tracking.sweep_files import read_sweep

    names, keys = split_arguments("compare", arguments, ["other.uri"])
    if len(names) != 2:
        raise Refused(f"Two sweeps are compared: `python -m dpbench compare SWEEP_A SWEEP_B`. Got {plural(len(names), 'name')}.")
    with open_recorded(keys) as store:
        before = read_sweep(store, names[0])
        after = None if "other.uri" in keys else read_sweep(store, names[1])
    if after is None:
        with open_recorded(keys, "other.uri") as store:
            after = read_sweep(store, names[1])
    all_changes = changes(before.cells, after.cells)
    if all(change.before is None or change.after is None for change in all_changes):
        raise Refused(f"No cell of {before.run_id} is in {after.run_id} with the same parameters, seed, splits and dataset.")
    if as_json:
        say(json.dumps([_as_dict(change) for change in all_changes], indent=1, ensure_ascii=False))
    else:
        _print(all_changes)
    return int(any(change.verdict in REGRESSIONS for change in all_changes))


def _as_dict(change: "Change") -> dict[str, Any]:
    """Return a change as plain data; numbers that are not finite are null."""
    numbers: dict[str, float | None] = {
        "before": change.before.error() if change.before else None,
        "after": change.after.error() if change.after else None,
    }
    if (comparison := change.comparison) is not None:
        numbers |= {"difference": comparison.difference.value, "low": comparison.low, "high": comparison.high}
        numbers |= {"threshold": comparison.threshold, "p": comparison.corrected}
    finite = {name: value if value is not None and math.isfinite(value) else None for name, value in numbers.items()}
    ids = {"run_before": change.before.run_id if change.before else "", "run_after": change.after.run_id if change.after else ""}
    return {"verdict": change.verdict, "params": dict(change.cell.params), "why": change.why, **finite, **ids}


def _print(all_changes: "list[Change]") -> None:
    """Print the cells that are not the same, then how many have each verdict."""
    from rich.table import Table

    from dpbench.report.formatting import number
    from dpbench.tracking.run_writer import run_name

    table = Table("cell", header_style="bold", pad_edge=False)
    for name in ("verdict", "before", "after"):
        table.add_column(name, no_wrap=True)
    table.add_column("difference (95 %)")
    listed = [change for change in all_changes if change.verdict != "same"]
    for change in listed:
        errors = [number(cell.error()) if cell and cell.done else "" for cell in (change.before, change.after)]
        difference = change.why
        if (comparison := change.comparison) is not None:
            interval = f" ({comparison.low:.4g} to {comparison.high:.4g})" if math.isfinite(comparison.low) else ""
            difference = f"{comparison.difference.value:.4g}{interval} {change.why}".rstrip()
        table.add_row(run_name(change.cell), change.verdict, *errors, difference)
    if listed:
        print_grid(console(piped_width=PIPED_WIDTH), table)
    counts = Counter(change.verdict for change in all_changes)
    say(f"{plural(len(all_changes), 'cell')}: {', '.join(f'{count} {word}' for word, count in counts.items())}.")
    few = [change.comparison for change in all_changes if change.verdict == "undecided" and change.comparison]
    if few and max(comparison.repeats for comparison in few) < few[0].min_repeats:
        say(f"No test separates cells with fewer than {few[0].min_repeats} repeats.")
    elif few:
        say_prose("Undecided: the difference may be chance, given how many cells are compared. More repeats would tell.")
