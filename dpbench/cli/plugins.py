"""List every mechanism, model, dataset, attack and paper, whose it is, and whether it can be used."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpbench.base.options import Option, options_of
from dpbench.contracts.kinds import KINDS
from dpbench.registry.discovery import Registration
from dpbench.registry.lookup import registry


@click.command("plugins")
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of a table, with every option.")
def command(as_json: bool) -> None:
    """List every mechanism, model, dataset, attack and paper: its distribution, guarantee, and whether it can be used."""
    found = registry()
    entries = [_with_files_checked(entry) for entry in found.entries]
    if as_json:
        click.echo(json.dumps([_plain(entry) for entry in entries], indent=2, ensure_ascii=False, default=str))
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 500  # one component a line, for grep
    with console.capture() as table:
        _print(console, entries)
    click.echo(table.get(), nl=False)
    for name in found.disabled:
        click.echo(f"Left out by DPBENCH_DISABLE_PLUGINS: {name}")


def _with_files_checked(entry: Registration) -> Registration:
    """A paper's files are read when they are needed, so the registry does not know whether they can be."""
    if entry.kind != "paper" or entry.health != "ok":
        return entry
    from dpbench.experiments.claims import paper_fault

    fault = paper_fault(entry.offer)
    return replace(entry, health="broken", reason=fault) if fault else entry


def _print(console: Console, entries: Iterable[Registration]) -> None:
    """One table a distribution, with the same columns, and the reasons below."""
    entries = sorted(entries, key=lambda entry: entry.plugin.origin)  # stable: within a distribution by kind and name
    widths = [max((len(row[column]) for row in map(_row, entries)), default=0) for column in range(4)]
    for origin, owned in groupby(entries, key=lambda entry: entry.plugin.origin):
        table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
        for title, width in zip(("kind", "name", "guarantee", "health"), widths, strict=True):
            table.add_column(title, min_width=max(width, len(title)) if width < 20 else 14)
        table.add_column("summary", ratio=1 if console.is_terminal else None)
        for entry in owned:
            style = "" if entry.health == "ok" else "red"
            table.add_row(*(Text(text) for text in _row(entry)), Text(entry.summary), style=style)
        console.print(Text(origin, style="bold"))
        console.print(table)
        console.print()
    for entry in entries:
        if entry.reason:
            console.print(Text(f"{entry.kind} {entry.name} ({entry.plugin.origin}, {entry.plugin.name}): {entry.reason}"))


def _row(entry: Registration) -> tuple[str, str, str, str]:
    return entry.kind, entry.name, entry.guarantee, entry.health


def _plain(entry: Registration) -> dict[str, Any]:
    options: tuple[Option, ...] = ()
    if entry.offer is not None and entry.kind in KINDS:
        options = options_of(entry.offer)
    return {
        "kind": entry.kind,
        "name": entry.name,
        "plugin": entry.plugin.name,
        "distribution": entry.distribution,
        "version": entry.plugin.version,
        "summary": entry.summary,
        "guarantee": entry.guarantee,
        "health": entry.health,
        "reason": entry.reason,
        "options": [{"name": opt.name, "allowed": opt.allowed, "default": opt.default, "help": opt.help} for opt in options],
    }
