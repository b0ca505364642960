"""Show what the releases of each table have cost together, or set a ceiling that no release may exceed."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import click

from dpbench.base.errors import Refused
from dpbench.base.terminal import say


@click.command(name="budget")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> int:
    """Show what the releases of each table have cost together, or set a ceiling that no release may exceed.

    `budget` lists every table with its releases. `budget ceiling=3` sets the ceiling of all tables, `budget people.csv ceiling=3`
    that of the table in a file; delta=1e-5 is the δ at which costs are added up. The exit code is 1 if the book was changed
    by another program.
    """
    from dpbench.cli._plain_keys import read_keys, read_number
    from dpbench.files.chained_file import BrokenChain
    from dpbench.registry.lookup import build
    from dpbench.releases.budget_book import ANY_TABLE, DEFAULT_DELTA, BudgetBook, Ceiling, Payer

    names = [text for text in arguments if "=" not in text]
    keys = read_keys("budget", [text for text in arguments if "=" in text], ("ceiling", "delta"))
    if len(names) > 1:
        raise Refused(f"A ceiling is set for one table, or for all. Got {len(names)} names.")
    if "delta" in keys and "ceiling" not in keys:
        raise Refused("The key 'delta' belongs to a ceiling: ceiling=3 delta=1e-5. Got no ceiling.")
    table = Payer.of(build("dataset", {"name": "table", "path": names[0]})).digest if names else ANY_TABLE
    book = BudgetBook()
    try:
        if "ceiling" in keys:
            epsilon = read_number("ceiling", keys["ceiling"], "a positive number, the ε of all releases together")
            delta = read_number("delta", keys.get("delta", str(DEFAULT_DELTA)), "a probability")
            if not math.isfinite(epsilon):
                raise Refused(f"The key 'ceiling' must be a finite number. Got {keys['ceiling']!r} instead.")
            book.set_ceiling(Ceiling(epsilon, delta), table)
            say(f"No release may bring {names[0] if names else 'a table'} above ε = {epsilon:g} at δ = {delta:g} from now on.")
            for line in _above_ceiling(book.records(), table):
                say(line)
            return 0
        say("\n".join(_lines(book.records(), table)))
    except BrokenChain as broken:
        say(f"{broken} No release is made until the file is replaced by a whole copy.", error=True)
        return 1
    return 0


def _above_ceiling(records: Sequence[Mapping[str, Any]], table: str) -> list[str]:
    """Return a sentence for each table whose ceiling is already reached."""
    from dpbench.releases.budget_book import ceiling_in, entries_in, spent_in

    labels = {entry.table: entry.label for entry in entries_in(records) if not table or entry.table == table}
    totals = [(label, ceiling_in(records, name), spent_in(records, name)) for name, label in labels.items()]
    return [
        f"Reached already: {label} has spent ε = {ceiling.total(spent):.6g}, and gets no further release."
        for label, ceiling, spent in totals
        if ceiling.total(spent) >= ceiling.epsilon
    ]


def _lines(records: Sequence[Mapping[str, Any]], table: str) -> list[str]:
    """Return each table with what is spent and its releases."""
    from dpbench.releases.budget_book import ceiling_in, entries_in, spent_in

    entries = entries_in(records)
    tables = [name for name in dict.fromkeys(entry.table for entry in entries) if not table or name == table]
    lines = []
    for name in tables:
        releases = [entry for entry in entries if entry.table == name]
        ceiling, spent = ceiling_in(records, name), spent_in(records, name)
        limit = f"ceiling {ceiling.epsilon:g}" if math.isfinite(ceiling.epsilon) else "no ceiling"
        lines.append(f"{releases[-1].label} ({name[:8]}): ε = {ceiling.total(spent):.6g} spent at δ = {ceiling.delta:g}, {limit}")
        for entry in releases:
            time = datetime.fromisoformat(entry.time).strftime("%Y-%m-%d %H:%M")
            lines.append(f"  {time} UTC  {entry.mechanism}  {entry.cost.text}  {entry.file} ({entry.state})")
    return lines or ["No release is in the book."]
