"""The table that a sweep prints: error with its band, the references, ε, what an attack found, the standing of the guarantee."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpbench.report.bill import bill_of, short
from dpbench.report.rows import Row, leaks, telling

LONGEST = 60
PIPED = 120
IN_TARGET_UNITS = ("mae", "mse", "rmse")


def print_table(rows: Sequence[Row], stream: TextIO | None = None) -> None:
    """One table for each model and dataset, failures and pruned cells below."""
    out = stream or sys.stdout
    done = [row for row in rows if row.done]
    tables = []
    for place in dict.fromkeys(_place(row) for row in done):
        here = [row for row in done if _place(row) == place]
        tables.append((_table(here, *place), len(here) - LONGEST))
    console = _console(out, [table for table, _ in tables])
    for table, more in tables:
        console.print(table)
        if more > 0:
            console.print(f"… and {more} more cells: all of them are in MLflow.")
    for sentence in leaks(rows):
        console.print(sentence, markup=False)
    if found := bill_of(rows):
        console.print(short(found), markup=False)
    for state in ("failed", "pruned"):
        some = [row for row in rows if row.state == state]
        reasons = dict.fromkeys(row.reason for row in some)
        for reason in reasons:
            cells = [row for row in some if row.reason == reason]
            console.print(f"{state.upper()} ({len(cells)} cell{'s' * (len(cells) > 1)}): {reason}", markup=False)


def _place(row: Row) -> tuple[str, str, str]:
    return row.params["model"], row.params["dataset"], row.params["attack"]


def _console(out: TextIO, tables: Sequence[Table]) -> Console:
    """As wide as a terminal is; in a pipe, as wide as the widest table needs, so that no number is ever cut."""
    if out.isatty():
        return Console(file=out, highlight=False)
    wide = Console(file=out, width=10_000)
    needed = max((wide.measure(table).maximum for table in tables), default=0)
    return Console(file=out, width=max(PIPED, needed), highlight=False)


def _table(rows: Sequence[Row], model: str, dataset: str, attack: str) -> Table:
    first = rows[0]
    primary = first.primary
    synthetic = ", SYNTHETIC data" if first.tags.get("dpbench.synthetic") == "true" else ""
    attacked = f", attack {attack}" if attack != "none" else ""
    unit = " on the scaled target" if primary in IN_TARGET_UNITS else ""
    title = f"{model} on {dataset}{synthetic}{attacked}: {primary}{unit}"
    title += "" if "splits" in telling(rows) else f", {first.params['splits']}"
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", pad_edge=False)
    swept = telling(rows)
    for name in ("mechanism", *(key.removeprefix("mechanism.") for key in swept)):
        table.add_column(name, no_wrap=True)
    for name in ("ε", "median", "20-80 %", "no privacy", "mean only", "ε accounted"):
        table.add_column(name, justify="right", no_wrap=True)
    found = attack_columns(rows)
    for name in found:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("guarantee")
    for row in rows[:LONGEST]:
        low, high = row.metric(f"utility/{primary}", "p20"), row.metric(f"utility/{primary}", "p80")
        accounted = row.metrics.get("privacy/epsilon_accounted")
        table.add_row(
            row.params["mechanism"],
            *(Text(row.params.get(name, "")) for name in swept),  # a text, so that brackets are no mark-up
            row.params["epsilon"],
            _number(row.metric(f"utility/{primary}")),
            f"{_number(low)} - {_number(high)}",
            _number(row.metric(f"reference/no_privacy/{primary}")),
            _number(row.metric(f"reference/mean_predictor/{primary}")),
            "infinite" if accounted is None else f"{accounted:.4g}",
            *(_rounded(row.metrics.get(metric)) for metric in found.values()),
            row.guarantee,
        )
    return table


def attack_columns(rows: Sequence[Row]) -> dict[str, str]:
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
