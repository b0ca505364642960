"""List the presets: figures of the papers, one command each, with what they cost and what was chosen."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dpbench.experiments.presets import Experiment

PAGE_WIDTH = 100
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
    from dpbench.experiments.papers import broken_papers
    from dpbench.experiments.presets import experiments, select

    known = experiments(config_dir)
    selection = select(name, known) if name else list(known.values())
    if as_json:
        click.echo(json.dumps([_plain(experiment) for experiment in selection], indent=2, ensure_ascii=False))
    elif verbose or name in known:
        click.echo("\n\n".join(map(_page, selection)))
    else:
        _print_table(selection)
    for reason in broken_papers().values():
        click.echo(reason, err=True)


def _print_table(selection: Sequence[Experiment]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    table = Table(header_style="bold", pad_edge=False)
    table.add_column("experiment", no_wrap=True)
    table.add_column("shows")
    for title in ("cells", "runs a cell", "minutes"):
        table.add_column(title, justify="right")
    for exp in selection:
        table.add_row(exp.name, Text(exp.shows), str(exp.cells), str(exp.runs), _minutes(exp))
    console.print(table)
    click.echo(NOTES)


def _page(experiment: Experiment) -> str:
    """Return one preset in full."""
    title = experiment.preset.title if experiment.preset else ""
    minutes = f", {_minutes(experiment)} minutes on two cores" if _minutes(experiment) else ""
    costs = f"{experiment.cells} cells of {experiment.runs} runs{minutes}"
    lines = [": ".join(filter(None, (experiment.name, title))), "  " + "; ".join(filter(None, (experiment.shows, costs)))]
    if experiment.preset and experiment.preset.chosen:
        text = f"Chosen: {experiment.preset.chosen}"
        lines += ["", *textwrap.wrap(text, PAGE_WIDTH, initial_indent="  ", subsequent_indent="  ")]
    width = max(map(len, experiment.grid), default=0)
    lines += ["", *(f"  {key:<{width}}  {values}" for key, values in experiment.grid.items()), "", f"  {experiment.command}"]
    return "\n".join(lines)


def _minutes(experiment: Experiment) -> str:
    return f"{experiment.preset.minutes:g}" if experiment.preset and experiment.preset.minutes else ""


def _plain(experiment: Experiment) -> dict[str, Any]:
    about = {key: getattr(experiment.preset, key, None) for key in ("title", "shows", "chosen", "minutes")}
    counts = {"cells": experiment.cells, "runs": experiment.runs}
    return {"name": experiment.name, **about, **counts, "grid": dict(experiment.grid), "command": experiment.command}
