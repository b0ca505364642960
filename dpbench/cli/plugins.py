"""List everything that plugins offer, where it comes from, and whether it can be used."""

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpbench.base.options import options_of
from dpbench.contracts.hooks import KINDS
from dpbench.registry.discovery import Registration
from dpbench.registry.lookup import registry

COLUMNS = ("kind", "name", "guarantee", "health")
CLAIMS = "Guarantees are authors' claims: sweeps replay them before a cell is sound."
WRAPPED_WIDTH, MIN_WRAPPED_WIDTH = 16, 14
"""A column whose longest text has at least the first width may be narrowed to the second on a terminal."""
NARROW_TERMINAL = 100
"""Below this width, every column that may be narrowed is."""
PIPE_WIDTH = 500
"""The width of the table outside a terminal: one line per entry, for grep."""


@click.command("plugins")
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of a table, with every option.")
def command(as_json: bool) -> None:
    """List every component, metric and paper: its distribution, guarantee, and whether it can be used."""
    entries = list(map(_plain, registry().entries))
    if as_json:
        click.echo(json.dumps(entries, indent=2, ensure_ascii=False, default=str))
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    with console.capture() as table:
        _print(console, sorted(entries, key=_origin))  # stable: within a distribution by kind and name
    click.echo(table.get(), nl=False)
    click.echo(CLAIMS)
    for name in registry().disabled:
        click.echo(f"Left out by DPBENCH_DISABLE_PLUGINS: {name}")


def _print(console: Console, entries: Sequence[dict[str, Any]]) -> None:
    """Print a table for each distribution, all with the same columns, and the reasons below."""
    widths = {column: max([len(column), *(len(entry[column]) for entry in entries)]) for column in COLUMNS}
    for origin, group in groupby(entries, key=_origin):
        table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
        for column, width in widths.items():
            wraps = width >= WRAPPED_WIDTH and column != "name"
            narrow = MIN_WRAPPED_WIDTH if wraps and console.width < NARROW_TERMINAL else None
            table.add_column(column, min_width=MIN_WRAPPED_WIDTH if wraps else width, max_width=narrow)
        table.add_column("summary", ratio=1 if console.is_terminal else None)
        for entry in group:
            cells = (Text(entry[column]) for column in (*COLUMNS, "summary"))
            table.add_row(*cells, style="red" if entry["health"] in ("conflict", "broken") else "")
        console.print(Text(origin, style="bold"), table, "", sep="\n")
    for entry in entries:
        if entry["reason"]:
            console.print(Text(f"{entry['kind']} {entry['name']} ({_origin(entry)}, {entry['plugin']}): {entry['reason']}"))


def _origin(entry: dict[str, Any]) -> str:
    return f"{entry['distribution']} {entry['version']}"


def _plain(entry: Registration) -> dict[str, Any]:
    options = options_of(entry.offer) if entry.offer is not None and entry.kind in KINDS else ()
    reason = entry.reason
    if entry.kind == "paper" and not reason:
        from dpbench.experiments.claims import paper_fault

        reason = paper_fault(entry.offer)  # of its files, which the registry does not read
    facts = {"kind": entry.kind, "name": entry.name, "plugin": entry.plugin.name, "distribution": entry.plugin.distribution}
    facts |= {"version": entry.plugin.version, "summary": entry.offer.summary() if entry.offer is not None else ""}
    facts |= {"guarantee": getattr(entry.offer, "guarantee", "")}
    health = "broken" if reason and entry.health == "ok" else entry.health
    described = [{key: getattr(opt, key) for key in ("name", "allowed", "default", "help")} for opt in options]
    return {**facts, "health": health, "reason": reason, "options": described}
