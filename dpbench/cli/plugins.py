"""List everything that plugins offer, where it comes from, and whether it can be used."""

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from dpbench.base.options import options_of
from dpbench.base.terminal import console, print_rows, say
from dpbench.contracts.hooks import KINDS
from dpbench.registry.discovery import Registration
from dpbench.registry.lookup import registry

COLUMNS = ("kind", "name", "guarantee", "health")
CLAIMS = "Guarantees are authors' claims: sweeps replay them before a cell is sound."
NARROW_TERMINAL = 100
"""Below this width, every entry is a paragraph."""
PIPE_WIDTH = 500
"""The width of the table outside a terminal: one line per entry, for grep."""


@click.command("plugins")
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of a table, with every option.")
def command(as_json: bool) -> None:
    """List every component, metric and paper: its distribution, guarantee, and whether it can be used."""
    entries = list(map(_plain, registry().entries))
    if as_json:
        say(json.dumps(entries, indent=2, ensure_ascii=False, default=str))
        return
    _print(console(piped_width=PIPE_WIDTH), sorted(entries, key=_origin))  # stable: within a distribution by kind and name
    say(CLAIMS)
    for name in registry().disabled:
        say(f"Left out by DPBENCH_DISABLE_PLUGINS: {name}")


def _print(out: Console, entries: Sequence[dict[str, Any]]) -> None:
    """Print a table for each distribution, all with the same columns, and the reasons below."""
    widths = {column: max([len(column), *(len(entry[column]) for entry in entries)]) for column in COLUMNS}
    for origin, group in groupby(entries, key=_origin):
        table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
        for column, width in widths.items():
            table.add_column(column, min_width=width, no_wrap=True)
        table.add_column("summary", ratio=1 if out.is_terminal else None)
        for entry in group:
            style = "red" if entry["health"] in ("conflict", "broken") else ""
            table.add_row(*(entry[column] for column in (*COLUMNS, "summary")), style=style)
        out.print(origin, style="bold")
        if out.width < NARROW_TERMINAL:
            print_rows(out, table, heading=2)
        else:
            out.print(table)
        out.print()
    for entry in entries:
        if entry["reason"]:
            out.print(f"{entry['kind']} {entry['name']} ({_origin(entry)}, {entry['plugin']}): {entry['reason']}")


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
