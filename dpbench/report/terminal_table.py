"""The table that a sweep prints: error with its band, the references, ε, what an attack found, the standing of the guarantee."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpbench.records.cell_record import CellRecord, distinguishing_params
from dpbench.report.answer import answer
from dpbench.report.release_price import bill_of, short
from dpbench.report.remarks import clipped_targets, leak_sentences, missing_weights

LONGEST = 60
PIPED = 120
ANSWERS = 6
REFERENCES = ("no_privacy", "mean_predictor")
IN_TARGET_UNITS = ("mae", "mse", "rmse")


def print_table(rows: Sequence[CellRecord], stream: TextIO | None = None) -> None:
    """One table for each model and dataset, failures and pruned cells below."""
    out = stream or sys.stdout
    done = [row for row in rows if row.done]
    places = {place: [row for row in done if _place(row) == place] for place in dict.fromkeys(_place(row) for row in done)}
    tables = [_table(here, *place) for place, here in places.items()]
    if out.isatty() and _needed(out, tables) > Console(file=out).width:
        tables = [_table(here, *place, references=False) for place, here in places.items()]
    console = _console(out, tables)
    for table, here in zip(tables, places.values(), strict=True):
        console.print(table)
        if len(here) > LONGEST:
            console.print(f"… and {len(here) - LONGEST} more cells: all of them are in MLflow.")
    for sentence in [*answer(rows)[:ANSWERS], *missing_weights(done), *clipped_targets(done)]:
        console.print(sentence, markup=False)
    for sentence in leak_sentences(rows):
        console.print(sentence, markup=False)
    if found := bill_of(rows):
        console.print(short(found), markup=False)
    for state in ("failed", "pruned"):
        some = [row for row in rows if row.state == state]
        reasons = dict.fromkeys(row.reason for row in some)
        for reason in reasons:
            cells = [row for row in some if row.reason == reason]
            console.print(f"{state.upper()} ({len(cells)} cell{'s' * (len(cells) > 1)}): {reason}", markup=False)


def _place(row: CellRecord) -> tuple[str, str, str]:
    return row.params["model"], row.params["dataset"], row.params["attack"]


def _console(out: TextIO, tables: Sequence[Table]) -> Console:
    """As wide as the widest table needs, so that no number and no guarantee is ever cut; a terminal that is narrower wraps."""
    usual = Console(file=out).width if out.isatty() else PIPED
    return Console(file=out, width=max(usual, _needed(out, tables)), highlight=False)


def _needed(out: TextIO, tables: Sequence[Table]) -> int:
    wide = Console(file=out, width=10_000)
    return max((wide.measure(table).maximum for table in tables), default=0)


def _table(rows: Sequence[CellRecord], model: str, dataset: str, attack: str, *, references: bool = True) -> Table:
    """Without the references' columns it fits a terminal of 80: they are the same in every row, and go into the title."""
    first = rows[0]
    primary = first.primary
    synthetic = ", SYNTHETIC data" if first.synthetic else ""
    attacked = f", attack {attack}" if attack != "none" else ""
    unit = " on the scaled target" if primary in IN_TARGET_UNITS else ""
    title = f"{model} on {dataset}{synthetic}{attacked}: {primary}{unit}"
    title += "" if "splits" in distinguishing_params(rows) else f", {first.params['splits']}"
    title += "" if references else f"\n{_references(first)}"
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", pad_edge=False)
    swept = distinguishing_params(rows)
    for name in ("mechanism", *(key.removeprefix("mechanism.") for key in swept)):
        table.add_column(name, no_wrap=True)
    beside = ("no privacy", "mean only") if references else ()
    for name in ("ε", "median", "20-80 %", *beside, "ε accounted"):
        table.add_column(name, justify="right", no_wrap=True)
    found = attack_columns(rows)
    for name in found:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("guarantee", no_wrap=True)
    for row in rows[:LONGEST]:
        low, high = row.metric(f"utility/{primary}", "p20"), row.metric(f"utility/{primary}", "p80")
        accounted = row.metrics.get("privacy/epsilon_accounted")
        table.add_row(
            row.params["mechanism"],
            *(Text(row.params.get(name, "")) for name in swept),  # a text, so that brackets are no mark-up
            row.params["epsilon"],
            _number(row.metric(f"utility/{primary}")),
            f"{_number(low)} - {_number(high)}",
            *([_number(row.metric(f"reference/{name}/{primary}")) for name in REFERENCES] if references else []),
            _accounted(row, accounted),
            *(_rounded(row.metrics.get(metric)) for metric in found.values()),
            row.guarantee,
        )
    return table


def _references(row: CellRecord) -> str:
    no_privacy, mean = (_number(row.metric(f"reference/{name}/{row.primary}")) for name in REFERENCES)
    return f"no privacy {no_privacy}, mean only {mean}"


def _accounted(row: CellRecord, epsilon: float | None) -> str:
    """In brackets where the ledger's number is a claim: unproven noise, or a leak that it does not count."""
    if epsilon is None:
        return "infinite"
    return f"{epsilon:.4g}" if row.ranked else f"({epsilon:.4g})"


def attack_columns(rows: Sequence[CellRecord]) -> dict[str, str]:
    """The attack's columns: its advantage, that of every control that has one, and what the cap is about beside the cap.

    Means, since a cap limits an expectation. Nothing where nothing was attacked.
    """
    names = list(dict.fromkeys(name for row in rows for name in row.metrics if name.startswith("attack/")))
    if "attack/advantage_mean" not in names:
        return {}
    columns = {"advantage": "attack/advantage_mean"}
    for name in names:
        control, _, metric = name.removeprefix("attack/control/").partition("/")
        if name.startswith("attack/control/") and metric == "advantage_mean" and any(row.metrics.get(name) for row in rows):
            columns[control] = name
    gap = {"train - test": "attack/gap_mean"} if "attack/gap_mean" in names else {}
    return {**columns, **gap, "cap": "attack/cap"}


def _rounded(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:#.4g}"
