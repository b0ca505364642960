"""The scorecard of claims: a table in the terminal, Markdown, and a CSV of every number behind the verdicts."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TextIO

from rich.table import Table
from rich.text import Text

from dpbench.base.cell_texts import csv_text, markdown_row
from dpbench.base.terminal import console, shown
from dpbench.experiments.checks.check import Finding
from dpbench.experiments.claims import CHANGED_GRID, DATA_TITLES, NEWEST, Verdict
from dpbench.experiments.presets import command_of

EVIDENCE_COLUMN_WIDTH = 110
"""The evidence has a column of its own on terminals of at least this width."""
STYLES = {"holds": "green", "holds in part": "yellow", "does not hold": "red"}
"""The colours of verdicts; all others are dim."""
ABOUT_PAPERS = "A verdict is about these records, not about the paper's own data."
ABOUT_PLACES = "Every place has its own 95 % interval, so one in forty falls on either wrong side by chance."
COLUMNS = (
    *("paper", "claim", "where", "not_in_paper", "verdict", "first_look", "changed", "place", "compared", "holds"),
    *("what", "value", "low", "high", "limit", "side", "unit", "datasets", "synthetic", "precondition"),
)


def print_scorecard(verdicts: Sequence[Verdict], stream: TextIO | None = None) -> None:
    """Print a table for each paper, with the worst and the best place of every claim, and what to run below."""
    out = console(stream)
    for title, group in groupby(verdicts, key=lambda verdict: verdict.claim.title):
        out.print(_table(list(group), title, wide=out.width >= EVIDENCE_COLUMN_WIDTH))
    commands = dict.fromkeys(f"  {command_of(name)}" for verdict in verdicts for name in (*verdict.missing, *verdict.changes))
    headline = ["Not run yet, not as the preset says, or without such cells:"] if commands else []
    for line in (*headline, *commands, *_newest_sweeps(verdicts)):
        out.print(line, soft_wrap=True)
    if any(verdict.findings for verdict in verdicts):
        out.print(_how_to_read(verdicts))


def markdown(verdicts: Sequence[Verdict]) -> str:
    """Return a page with a table for each paper."""
    lines = ["# Claims", "", _how_to_read(verdicts), "", *(line for text in _newest_sweeps(verdicts) for line in (text, ""))]
    for title, group in groupby(verdicts, key=lambda verdict: verdict.claim.title):
        columns = ("claim", "where", *DATA_TITLES, "data", "evidence")
        lines += [f"## {title}", "", f"| {' | '.join(columns)} |", "| --- " * len(columns) + "|"]
        for verdict in group:
            commands = [f"to run: `{command_of(name)}`" for name in (*verdict.missing, *verdict.changes)]
            evidence = "<br>".join([*_numbers(verdict), *verdict.notes, *commands])
            cells = (_sentence(verdict), verdict.claim.where, *_by_data(verdict), ", ".join(verdict.datasets), evidence)
            lines.append(markdown_row(cells))
        lines.append("")
    return "\n".join(lines)


def write_csv(verdicts: Sequence[Verdict], path: Path) -> None:
    """Write one row for each number; a claim without numbers has one row too."""
    rows: list[list[Any]] = [list(COLUMNS)]
    for verdict in verdicts:
        claim, changed, data = verdict.claim, "; ".join(verdict.changed_grids), "; ".join(verdict.datasets)
        start = [claim.paper, claim.says, claim.where, claim.not_in_paper, verdict.text, verdict.quick, changed]
        for finding in verdict.findings or (Finding("", (), ()),):
            condition = str(finding.precondition or "")
            end = [data, finding.synthetic if finding.cells else None, condition]
            place = [finding.place, finding.compared, finding.holds]  # None is written as an empty field
            numbers = [[b.what, b.value, b.low, b.high, b.limit, b.side, b.unit] for b in finding.bounds] or [[None] * 7]
            rows += [[*start, *place, *row, *end] for row in numbers]
    path.write_text(csv_text(rows), encoding="utf-8")


def _table(verdicts: Sequence[Verdict], title: str, *, wide: bool) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", show_lines=True, pad_edge=False)
    table.add_column("claim", ratio=2)
    table.add_column("verdict", width=18)
    if wide:
        table.add_column("evidence", ratio=3)
    for verdict in verdicts:
        evidence = "\n".join(_evidence(verdict))
        claim = Text(shown(_sentence(verdict))).append(f"\n{shown(verdict.claim.where)}", style="italic")
        if evidence and not wide:
            claim.append(f"\n{shown(evidence)}", style="dim")
        # the column is narrow: how the preset was changed is said in the evidence
        changed = f", {CHANGED_GRID}" if verdict.changes else ""
        outcome = Text("\n").join(
            Text(f"{title}: {part.counts}{changed}".removeprefix(": "), style="dim" if changed else STYLES.get(part.state, "dim"))
            for title, part in (verdict.by_data or {"": verdict}).items()
        )
        table.add_row(claim, outcome, *([shown(evidence)] if wide else []))
    return table


def _by_data(verdict: Verdict) -> list[str]:
    """Return the verdict on each kind of tables, as Markdown."""
    if not verdict.findings:
        return [f"**{verdict.text}**"] * len(DATA_TITLES)
    texts = {title: f"**{part.text}**" for title, part in verdict.by_data.items()}
    return [texts.get(title, "no such table") for title in DATA_TITLES]


def _numbers(verdict: Verdict) -> list[str]:
    """Return the places that speak most for and against the claim, with the kind of tables where it was judged on both."""
    parts = verdict.by_data
    return [f"{title}: {line}" if len(parts) > 1 else line for title, part in parts.items() for line in part.evidence]


def _sentence(verdict: Verdict) -> str:
    return f"{'(Not in the paper.) ' if verdict.claim.not_in_paper else ''}{verdict.claim.says}"


def _evidence(verdict: Verdict) -> list[str]:
    data = [f"on {', '.join(verdict.datasets)}"] if verdict.datasets else []
    without = [f"without {', '.join(verdict.missing)}"] if verdict.missing and verdict.findings else []
    return [*verdict.changed_grids, *_numbers(verdict), *data, *verdict.notes, *without]


def _newest_sweeps(verdicts: Sequence[Verdict]) -> list[str]:
    """Return which sweep was read for claims without presets."""
    sweeps = {sweep.run_id: sweep for sweep in (verdict.newest for verdict in verdicts) if sweep is not None}
    return [
        f"Read: sweep {key}, {len(sweep.cells)} cell{'s' * (len(sweep.cells) != 1)}"
        f"{', a first look (quick)' if sweep.quick else ''}: {sweep.command}"
        for key, sweep in sweeps.items()
    ]


def _how_to_read(verdicts: Sequence[Verdict]) -> str:
    """Return how to read the verdicts; papers are mentioned only where claims are about presets."""
    return f"{ABOUT_PAPERS} " * any(name != NEWEST for verdict in verdicts for name in verdict.claim.presets) + ABOUT_PLACES
