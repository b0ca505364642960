"""List the presets: figures of the papers, one command each, with what they cost and what was chosen."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from dpbench.experiments.presets import Experiment

WIDTH = 100


@click.command("experiments")
@click.argument("name", required=False)
@click.option("--verbose", is_flag=True, help="Also what was chosen where a paper is silent, the grid, and the command.")
@click.option("--config-dir", metavar="DIR", help="Also those of a folder of your own, in DIR/experiment.")
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of a table.")
def command(name: str | None, verbose: bool, config_dir: str | None, as_json: bool) -> None:
    """List the presets: what each shows, its cells, and the minutes it takes.

    NAME shows one in full (zhang2012/fig6), or lists those of one paper (zhang2012).
    """
    from dpbench.experiments.presets import chosen, experiments

    known = experiments(config_dir)
    found = chosen(name, known) if name else list(known.values())
    if as_json:
        click.echo(json.dumps([_plain(one) for one in found], indent=2, ensure_ascii=False))
    elif verbose or name in known:
        click.echo("\n\n".join(map(_page, found)))
    else:
        _table(found)


def _table(found: Sequence[Experiment]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    table = Table(header_style="bold", pad_edge=False)
    table.add_column("experiment", no_wrap=True)
    table.add_column("shows")
    for title in ("cells", "runs a cell", "minutes"):
        table.add_column(title, justify="right")
    for one in found:
        table.add_row(one.name, Text(one.shows), str(one.cells), str(one.runs), _minutes(one))
    console.print(table)
    _say(console, "Cells are counted before those that make no sense are pruned; minutes are those of two cores with an empty")
    _say(console, "store. Cells that two figures share run once; quick=true is a first look.")
    _say(console, "python -m dpbench -m experiment=NAME runs one, python -m dpbench experiments NAME shows what was chosen.")


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, soft_wrap=True)


def _page(one: Experiment) -> str:
    """One preset in full."""
    title = one.preset.title if one.preset else ""
    costs = f"{one.cells} cells of {one.runs} runs" + (f", {_minutes(one)} minutes on two cores" if _minutes(one) else "")
    lines = [": ".join(filter(None, (one.name, title))), f"  {one.shows}; {costs}" if one.shows else f"  {costs}"]
    if one.preset and one.preset.chosen:
        lines += ["", *textwrap.wrap(f"Chosen: {one.preset.chosen}", WIDTH, initial_indent="  ", subsequent_indent="  ")]
    width = max(map(len, one.grid), default=0)
    lines += ["", *(f"  {key:<{width}}  {values}" for key, values in one.grid.items()), "", f"  {one.command}"]
    return "\n".join(lines)


def _minutes(one: Experiment) -> str:
    return f"{one.preset.minutes:g}" if one.preset and one.preset.minutes else ""


def _plain(one: Experiment) -> dict[str, Any]:
    about = {key: getattr(one.preset, key, None) for key in ("title", "shows", "chosen", "minutes")}
    return {"name": one.name, **about, "cells": one.cells, "runs": one.runs, "grid": dict(one.grid), "command": one.command}
