"""What a sweep prints: one decision table, two or three sentences, and what needs attention. The report has everything else."""

from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table

from dpbench.base.phases import phase
from dpbench.base.terminal import console, fits, print_grid
from dpbench.records.cell_record import CellRecord
from dpbench.report.decision import Decision, percent
from dpbench.report.decision_texts import choice_sentences, scale_sentence
from dpbench.report.formatting import listed, number, plural, quantity
from dpbench.report.guarantees import audit_sentences
from dpbench.report.labels import error_heading, unit_heading
from dpbench.report.summary import SweepSummary
from dpbench.report.tables import attacks
from dpbench.report.terminal_table import print_table, unfinished_sentences
from dpbench.report.text_table import TextTable, entry_text
from dpbench.report.warning_texts import SIMULATED_NOISE, disclosures, health_sentences, leak_sentences, warnings

MAX_ATTACK_ROWS = 20
ATTACKS_TEXT = (
    "Attack advantage: what the attack gains over guessing without the release. The cap is the most that the guarantee allows on "
    "average. A control never saw a release: an attack that gains less than it says nothing about privacy."
)
EVERY_EPSILON = "The report has a row for every ε."
TOO_NARROW = "The table leaves out columns that this terminal has no room for; the report has them."
PICK_MARK = ">"
"""Marks the row that a reader would pick, where a problem has several rows."""
STAGES = ((), ("intervals",), ("intervals", "scaled"))
"""Columns that a narrow terminal leaves out, the first that fits."""
ATTACK_KEYS = ("attack", "model", "dataset", "mechanism", "epsilon")
"""Columns of the printed table of attacks, before what they gained."""


@phase("report")
def print_answer(summary: SweepSummary, stream: TextIO | None = None) -> None:
    """Print the decision of a sweep. Where no cell may be ranked there is none: then the cells themselves are printed."""
    if not any(row.best for row in summary.decisions):
        print_table(summary, stream)
        return
    out = console(stream)
    hidden = next((hidden for hidden in STAGES if not out.is_terminal or fits(out, _table(summary, hidden))), STAGES[-1])
    table = _table(summary, hidden)
    left_out = len(_table(summary, ()).columns) - len(table.columns)
    print_grid(out, table, heading=1 if len(summary.boards) > 1 else 2)
    _print_attacks(out, attacks(summary))
    done = summary.done
    sentences = [scale_sentence(summary, intervals_shown="intervals" not in hidden)]
    sentences += [TOO_NARROW] if left_out else []
    sentences += choice_sentences(summary)
    sentences += [EVERY_EPSILON] if len(summary.all_decisions) > len(summary.decisions) else []
    sentences += [f"{title}: {text}" for title, text in warnings(summary.sweep) if title != "SYNTHETIC data"]
    sentences += [*health_sentences(done), *audit_sentences(done), *leak_sentences(done)]
    sentences += [text for _, text in disclosures(done) if text != SIMULATED_NOISE]
    for sentence in [*sentences, *unfinished_sentences(summary.cells)]:
        out.print(sentence)


def _table(summary: SweepSummary, hidden: Sequence[str]) -> Table:
    """Return the decision table: the rows of the only problem, or one row for each of several."""
    rows, several = summary.decisions, len(summary.boards) > 1
    cells = [row.best for row in rows if row.best]
    table = Table(title=_title(summary, cells), title_justify="left", title_style="bold", pad_edge=False, header_style="bold")
    columns: dict[str, list[str]] = {}
    if several:
        columns["problem"] = [row.board.title + (" (SYNTHETIC)" if row.board.first.synthetic else "") for row in rows]
    else:
        columns[""] = [PICK_MARK if row in summary.picks else "" for row in rows]
    columns["ε"] = [row.epsilon for row in rows]
    columns["best mechanism"] = [row.verdict for row in rows]
    if unit := unit_heading(cells):
        columns[f"error\n{unit}"] = [_in_unit(row, own_unit=unit == "in its unit") for row in rows]
    if "scaled" not in hidden or not unit:
        scaled = error_heading(summary.sweep, cells).replace(" ", "\n")
        columns[scaled] = [number(row.best.error() if row.best else None, "–") for row in rows]
    columns["lost to\nprivacy"] = [percent(row.lost) for row in rows]
    if any(row.failed for row in rows):
        columns["runs that\nlost all"] = [percent(row.failed if row.best else None) for row in rows]
    if "intervals" not in hidden and any(row.intervals != "none" for row in rows):
        columns["intervals"] = [row.intervals for row in rows]
    words = ("problem", "best mechanism", "intervals")
    for name in columns:
        table.add_column(name, justify="left" if name in words else "right", no_wrap=name != "best mechanism")
    for entries in zip(*columns.values(), strict=True):
        table.add_row(*entries)
    return table


def _title(summary: SweepSummary, cells: Sequence[CellRecord]) -> str:
    """Return what was fitted, and what the errors are."""
    splits = listed(dict.fromkeys(cell.params["splits"] for cell in cells), most=3)
    errors = f"median {listed(dict.fromkeys(cell.primary for cell in cells))} over the runs ({splits})"
    if len(summary.boards) > 1:
        return f"{plural(len(summary.boards), 'problem')}, one row each: {errors}"
    board = summary.boards[0]
    return f"{board.title}{', SYNTHETIC data' if board.first.synthetic else ''}: {errors}"


def _in_unit(row: Decision, *, own_unit: bool) -> str:
    """Return the error in the target's unit, and the unit where the rows differ in it."""
    value = row.best.error_in_unit() if row.best else None
    unit = f" {row.best.target_unit}" if own_unit and row.best and value is not None and row.best.target_unit else ""
    return quantity(value, "–") + unit


def _print_attacks(out: Console, found: TextTable) -> None:
    """Print what the attacks gained, which is a question of its own."""
    if not found.rows:
        return
    start = found.header.index("epsilon accounted") + 1
    kept = [index for index, name in enumerate(found.header) if name in ATTACK_KEYS or index >= start]
    table = Table(title="What the attacks gained", title_justify="left", title_style="bold", pad_edge=False, header_style="bold")
    for index in kept:
        name = found.header[index]
        table.add_column("ε" if name == "epsilon" else name, justify="right" if found.numeric(index) else "left", no_wrap=True)
    for row in found.rows[:MAX_ATTACK_ROWS]:
        table.add_row(*(entry_text(row[index]) for index in kept))
    print_grid(out, table)
    out.print(ATTACKS_TEXT)
    if (rest := len(found.rows) - MAX_ATTACK_ROWS) > 0:
        out.print(f"{plural(rest, 'more row')} of this table are in the report.")
