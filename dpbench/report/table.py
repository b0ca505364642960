"""The table that a sweep prints: error with its band, the two references, the accounted ε, the standing of the guarantee."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table

from dpbench.report.rows import Row

LONGEST = 60
FIXED = ("mechanism", "model", "dataset", "attack", "epsilon", "delta", "splits")


def print_table(rows: Sequence[Row], stream: TextIO | None = None) -> None:
    """One table for each model and dataset, failures and pruned cells below."""
    out = stream or sys.stdout
    console = Console(file=out, width=None if out.isatty() else 120, highlight=False, soft_wrap=False)
    done = [row for row in rows if row.done]
    for model, dataset, attack in dict.fromkeys(
        (row.params["model"], row.params["dataset"], row.params["attack"]) for row in done
    ):
        here = [
            row for row in done if (row.params["model"], row.params["dataset"], row.params["attack"]) == (model, dataset, attack)
        ]
        console.print(_table(here, model, dataset, attack))
        if len(here) > LONGEST:
            console.print(f"… and {len(here) - LONGEST} more cells: all of them are in MLflow.")
    for state in ("failed", "pruned"):
        some = [row for row in rows if row.state == state]
        reasons = dict.fromkeys(row.reason for row in some)
        for reason in reasons:
            cells = [row for row in some if row.reason == reason]
            console.print(f"{state.upper()} ({len(cells)} cell{'s' * (len(cells) > 1)}): {reason}", markup=False)


def _table(rows: Sequence[Row], model: str, dataset: str, attack: str) -> Table:
    first = rows[0]
    primary = first.primary
    synthetic = ", SYNTHETIC data" if first.tags.get("dpbench.synthetic") == "true" else ""
    attacked = f", attack {attack}" if attack != "none" else ""
    title = f"{model} on {dataset}{synthetic}{attacked}: {primary} on the scaled target, {first.params['splits']}"
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", pad_edge=False)
    swept = [name for name in dict.fromkeys(key for row in rows for key in row.params) if name not in FIXED]
    for name in ("mechanism", *swept):
        table.add_column(name, no_wrap=True)
    for name in ("ε", "median", "20-80 %", "no privacy", "mean only", "ε accounted"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("guarantee")
    for row in rows[:LONGEST]:
        low, high = row.metric(f"utility/{primary}", "p20"), row.metric(f"utility/{primary}", "p80")
        accounted = row.metrics.get("privacy/epsilon_accounted")
        table.add_row(
            row.params["mechanism"],
            *(row.params.get(name, "") for name in swept),
            row.params["epsilon"],
            _number(row.metric(f"utility/{primary}")),
            f"{_number(low)} - {_number(high)}",
            _number(row.metric(f"reference/no_privacy/{primary}")),
            _number(row.metric(f"reference/mean_predictor/{primary}")),
            "infinite" if accounted is None else f"{accounted:.4g}",
            row.guarantee,
        )
    return table


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:#.4g}"
