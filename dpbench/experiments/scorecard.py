"""The scorecard as a table in the terminal, as Markdown, and as a CSV of every number it rests on."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpbench.experiments.claims import NEWEST, Verdict, command_of

PIPED = 120
WIDE = 110
"""From here on the evidence has a column of its own."""
STYLES = {"holds": "green", "holds in part": "yellow", "does not hold": "red", "not decided": "dim", "not run": "dim"}
PAPERS = "A verdict is about these records, not about the paper's own data."
PLACES = "Every place has its own 95 % interval, so one in forty falls on either wrong side by chance."
COLUMNS = (
    *("paper", "claim", "where", "beyond", "verdict", "first_look", "changed", "place", "compared", "holds"),
    *("what", "value", "low", "high", "limit", "side", "unit", "datasets"),
)


def print_scorecard(verdicts: Sequence[Verdict], stream: TextIO | None = None) -> None:
    """A table for each paper, with the worst and the best place of every claim, and what is missing below."""
    out = stream or sys.stdout
    console = Console(file=out, width=None if out.isatty() else PIPED, highlight=False)
    for title, group in groupby(verdicts, key=lambda verdict: verdict.claim.title):
        console.print(_table(list(group), title, wide=console.width >= WIDE))
    missing = _missing(verdicts)
    if missing:
        console.print("Not run yet, not as the preset says, or without such cells:", markup=False)
        for command in missing:
            console.print(f"  {command}", markup=False, soft_wrap=True)
    for text in (*_read(verdicts), *([_reading(verdicts)] if any(verdict.findings for verdict in verdicts) else [])):
        console.print(text, markup=False, soft_wrap=text.startswith("Read: "))


def _table(verdicts: Sequence[Verdict], title: str, *, wide: bool) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", show_lines=True, pad_edge=False)
    table.add_column("claim", ratio=2)
    table.add_column("verdict", width=18)
    if wide:
        table.add_column("evidence", ratio=3)
    for verdict in verdicts:
        evidence = Text("\n".join(_evidence(verdict)), style="dim" if not wide else "")
        claim = Text(_says(verdict)).append(f"\n{verdict.claim.where}", style="italic")
        if evidence.plain and not wide:
            claim.append("\n").append_text(evidence)
        said = Text(verdict.brief, style=STYLES[verdict.state] if not verdict.changed else "dim")
        table.add_row(claim, said, *([evidence] if wide else []))
    return table


def _says(verdict: Verdict) -> str:
    return f"{'(Beside the paper.) ' if verdict.claim.beyond else ''}{verdict.claim.says}"


def _evidence(verdict: Verdict) -> list[str]:
    data = [f"on {', '.join(verdict.data)}"] if verdict.data else []
    missing = [name for name in verdict.missing if name != NEWEST]
    without = [f"without {', '.join(missing)}"] if missing and verdict.findings else []
    return [*verdict.grids, *verdict.evidence, *data, *verdict.notes, *without]


def _missing(verdicts: Sequence[Verdict]) -> list[str]:
    names = dict.fromkeys(name for verdict in verdicts for name in _to_run(verdict))
    return [command_of(name) for name in names]


def _to_run(verdict: Verdict) -> list[str]:
    """The presets that were not run, or not as they say."""
    return [name for name in (*verdict.missing, *verdict.changed) if name != NEWEST]


def _read(verdicts: Sequence[Verdict]) -> list[str]:
    """Which sweep was read for claims without presets."""
    sweeps = {one.run_id: one for one in (verdict.newest for verdict in verdicts) if one is not None}
    cells = {key: f"{len(one.cells)} cell{'s' * (len(one.cells) != 1)}" for key, one in sweeps.items()}
    look = {key: ", a first look (quick)" if one.quick else "" for key, one in sweeps.items()}
    return [f"Read: sweep {key}, {cells[key]}{look[key]}: {one.command}" for key, one in sweeps.items()]


def _reading(verdicts: Sequence[Verdict]) -> str:
    """How to read the verdicts; what it says of a paper only where claims are about presets."""
    about = any(name != NEWEST for verdict in verdicts for name in verdict.claim.sweeps)
    return f"{PAPERS} {PLACES}" if about else PLACES


def markdown(verdicts: Sequence[Verdict]) -> str:
    """A table for each paper, to be put into a page."""
    lines = ["# Claims", "", _reading(verdicts), "", *(line for text in _read(verdicts) for line in (text, ""))]
    for title, group in groupby(verdicts, key=lambda verdict: verdict.claim.title):
        lines += [f"## {title}", "", "| claim | where | verdict | data | evidence |", "| --- | --- | --- | --- | --- |"]
        for verdict in group:
            notes = [*verdict.evidence, *verdict.notes, *(f"to run: `{command_of(name)}`" for name in _to_run(verdict))]
            cells = (_says(verdict), verdict.claim.where, f"**{verdict.text}**", ", ".join(verdict.data), "<br>".join(notes))
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        lines.append("")
    return "\n".join(lines)


def write_csv(verdicts: Sequence[Verdict], path: Path) -> None:
    """One row a number; a claim without any has one row all the same."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(COLUMNS)
        for verdict in verdicts:
            claim = verdict.claim
            start = [claim.paper, claim.says, claim.where, claim.beyond, verdict.text, verdict.quick, "; ".join(verdict.grids)]
            data = "; ".join(verdict.data)
            for finding in verdict.findings:
                place = [finding.place, finding.compared, "" if finding.holds is None else finding.holds]
                numbers = [[b.what, b.value, b.low, b.high, b.limit, b.side, b.unit] for b in finding.bounds]
                out.writerows([*start, *place, *row, data] for row in numbers or [[""] * 7])
            if not verdict.findings:
                out.writerow([*start, *[""] * 10, data])
