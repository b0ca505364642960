"""List what each distribution brings: its health, the version of its contracts, its audits, and how to leave it out."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from dpbench.base.options import options_of
from dpbench.base.terminal import console, fits, print_rows, say
from dpbench.contracts.hooks import KINDS
from dpbench.registry.discovery import Registration
from dpbench.registry.lookup import registry
from dpbench.sweeps.audit_file import AuditState, audit_states, default_audit_file, read_results

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = ("guarantee", "health", "audit", "summary")
"""What is shown of a component next to its name; a column that is empty for a whole kind is left out."""
NOTES = (
    "Guarantees are authors' claims: sweeps replay them before a cell is sound. The column audit says how the replays of this "
    "code ended, as far as they are kept with the store. DPBENCH_DISABLE_PLUGINS takes names of distributions and of plugins, "
    "separated by commas."
)
PIPE_WIDTH = 100
"""Columns where the output is no terminal."""
MAX_WIDTH = 160
"""Lines of prose that are longer are hard to read."""
UNUSABLE = ("conflict", "broken")


@click.command("plugins")
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of tables, with every option.")
def command(as_json: bool) -> None:
    """List what each distribution brings: its health, the version of its contracts, its audits, and how to leave it out."""
    audits = audit_states(registry(), read_results(default_audit_file()).values())
    entries = [_plain(entry, audits) for entry in registry().entries]
    if as_json:
        say(json.dumps(entries, indent=2, ensure_ascii=False, default=str))
        return
    out = console(piped_width=PIPE_WIDTH)
    out.width = min(out.width, MAX_WIDTH)
    for _, group in groupby(sorted(entries, key=_origin), key=_origin):  # stable: within a distribution by kind and name
        _print_distribution(out, list(group))
    for entry in entries:
        if reason := entry["reason"] or (entry["audit"]["reason"] if _is_refuted(entry) else ""):
            out.print(f"{entry['kind']} {entry['name']} ({entry['plugin']} of {_origin(entry)}): {reason}\n")
    out.print(NOTES)
    for name in registry().disabled:
        out.print(f"Left out by DPBENCH_DISABLE_PLUGINS: {name}")


def _print_distribution(out: "Console", entries: Sequence[dict[str, Any]]) -> None:
    """Print what a distribution is, and a table for each kind that it brings."""
    first = entries[0]
    is_file = first["disable"] != first["distribution"]
    out.print(f"{first['plugin']} ({_origin(first)})" if is_file else _origin(first), style="bold")
    for line in _facts(entries):
        out.print(line)
    out.print()
    for kind, group in groupby(entries, key=lambda entry: entry["kind"]):
        _print_kind(out, kind, list(group))
        out.print()


def _facts(entries: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """Yield the lines about a distribution as a whole."""
    brings = _counted((entry["kind"] for entry in entries), plural="s")
    versions = sorted({entry["api_version"] for entry in entries if entry["api_version"]})
    yield f"Brings {brings}. Health: {_counted(entry['health'] for entry in entries)}."
    if versions:
        yield f"Written for version {' and '.join(map(str, versions))} of dpbench's contracts."
    if verdicts := [entry["audit"]["verdict"] for entry in entries if entry["audit"]]:
        yield f"Audits of its mechanisms: {_counted(verdicts)}."
    yield f"To leave it out: DPBENCH_DISABLE_PLUGINS={entries[0]['disable']}"


def _counted(words: Iterable[str], plural: str = "") -> str:
    """Return words with how often each occurs, as in ``2 models, 1 paper``."""
    return ", ".join(f"{count} {word}{plural if count > 1 else ''}" for word, count in Counter(words).items())


def _print_kind(out: "Console", kind: str, entries: Sequence[dict[str, Any]]) -> None:
    """Print components of one kind as a table, or as paragraphs where a table is too wide."""
    from rich.table import Table

    cells = [{**entry, "audit": _audit_words(entry["audit"])} for entry in entries]
    columns = [column for column in COLUMNS if any(row[column] for row in cells)]
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
    table.add_column(kind, no_wrap=True)
    for column in columns:
        table.add_column(column, ratio=1 if column == "summary" else None)
    for entry, row in zip(entries, cells, strict=True):
        style = "red" if entry["health"] in UNUSABLE or _is_refuted(entry) else ""
        table.add_row(row["name"], *(row[column] for column in columns), style=style)
    if fits(out, table):
        out.print(table)
    else:
        out.print(f"{kind}s", style="dim")
        print_rows(out, table)


def _audit_words(audit: Mapping[str, Any] | None) -> str:
    if audit is None:
        return ""
    return f"{audit['verdict']} ({audit['audits']})" if audit["audits"] else str(audit["verdict"])


def _is_refuted(entry: Mapping[str, Any]) -> bool:
    return entry["audit"] is not None and entry["audit"]["verdict"] == "refuted"


def _origin(entry: Mapping[str, Any]) -> str:
    return f"{entry['distribution']} {entry['version']}"


def _plain(entry: Registration, audits: Mapping[str, AuditState]) -> dict[str, Any]:
    options = options_of(entry.offer) if entry.offer is not None and entry.kind in KINDS else ()
    reason = entry.reason
    if entry.kind == "paper" and not reason:
        from dpbench.experiments.claims import paper_fault

        reason = paper_fault(entry.offer)  # of its files, which the registry does not read
    facts = {"kind": entry.kind, "name": entry.name, "plugin": entry.plugin.name, "distribution": entry.plugin.distribution}
    facts |= {"version": entry.plugin.version, "summary": entry.offer.summary() if entry.offer is not None else ""}
    facts |= {"guarantee": getattr(entry.offer, "guarantee", "")}
    usable = entry.health == "ok" and not reason
    claims = usable and entry.kind == "mechanism"
    return {
        **facts,
        "api_version": getattr(entry.offer, "api_version", None),
        "health": "broken" if reason and entry.health == "ok" else entry.health,
        "reason": reason,
        "audit": asdict(audits.get(entry.name, AuditState())) if claims else None,
        "disable": entry.plugin.disabled_by,
        "options": [{key: getattr(opt, key) for key in ("name", "allowed", "default", "help")} for opt in options],
    }
