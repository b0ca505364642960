"""List the presets: figures of the papers, one command each, with what they cost and what was chosen."""

import json
import textwrap
from collections.abc import Sequence
from typing import Any

import click

from dpbench.base.terminal import console, print_grid, say

MAX_PAGE_WIDTH = 100
NOTES = """\
Cells are counted before those that make no sense are pruned; minutes are those of two cores with an empty
store. Cells that two figures share run once; quick=true is a first look.
python -m dpbench -m experiment=NAME runs one, python -m dpbench experiments NAME shows what was chosen."""


@click.command("experiments")
@click.argument("name", required=False)
@click.option("--verbose", is_flag=True, help="Also what was chosen where a paper is silent, the grid, and the command.")
@click.option("--config-dir", metavar="DIR", help="Also those of a folder of your own, in DIR/experiment.")
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of a table.")
def command(name: str | None, verbose: bool, config_dir: str | None, as_json: bool) -> None:
    """List the presets: what each shows, its cells, and the minutes it takes.

    NAME shows one preset in full, or lists those of one paper.
    """
    from dpbench.experiments.presets import broken_papers, experiments, select

    known = experiments(config_dir)
    selection = [experiment.facts() for experiment in (select(name, known) if name else known.values())]
    if as_json:
        say(json.dumps(selection, indent=2, ensure_ascii=False))
    elif verbose or name in known:
        say("\n\n".join(map(_page, selection)))
    else:
        _print_table(selection)
    for reason in broken_papers().values():
        say(reason, error=True)


def _print_table(selection: Sequence[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table(header_style="bold", pad_edge=False)
    table.add_column("experiment", no_wrap=True)
    table.add_column("shows")
    for title in ("cells", "runs a cell", "minutes"):
        table.add_column(title, justify="right")
    for facts in selection:
        minutes = f"{facts['minutes']:g}" if facts["minutes"] else ""
        table.add_row(facts["name"], facts["shows"] or "", str(facts["cells"]), str(facts["runs"]), minutes)
    print_grid(console(), table)
    say(NOTES)


def _page(facts: dict[str, Any]) -> str:
    """Return one preset in full."""
    minutes = f", {facts['minutes']:g} minutes on two cores" if facts["minutes"] else ""
    costs = f"{facts['cells']} cells of {facts['runs']} runs{minutes}"
    page_width = min(console().width, MAX_PAGE_WIDTH)
    lines = [": ".join(filter(None, (facts["name"], facts["title"]))), "  " + "; ".join(filter(None, (facts["shows"], costs)))]
    if facts["chosen"]:
        lines += ["", *textwrap.wrap(f"Chosen: {facts['chosen']}", page_width, initial_indent="  ", subsequent_indent="  ")]
    width = max(map(len, facts["grid"]), default=0)
    lines += ["", *(f"  {key:<{width}}  {values}" for key, values in facts["grid"].items()), "", f"  {facts['command']}"]
    return "\n".join(lines)
