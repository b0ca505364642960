"""The tables of a report, made from the rows alone: leaderboard, comparisons, ledger, leaks, attacks, health, failures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dpbench.records.cell_record import CellRecord, label
from dpbench.records.leaks import UNPROVEN_NOISE
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.leaderboards import Board, Place
from dpbench.report.table_formats import Cell, TextTable
from dpbench.report.terminal_table import attack_columns

NEIGHBOURS = {"replace_one": "one row replaced"}
PRICES = {"epsilon": "ε", "rho": "ρ", "mu": "μ", "delta": "δ"}
KINDS = {"pure": "pure", "zcdp": "zCDP", "gdp": "Gaussian DP", "approx": "approximate", "none": "no guarantee"}


def tables_of(sweep: SweepRecord, boards: Sequence[Board]) -> list[TextTable]:
    """Every table that has a row."""
    made = [leaderboard(boards), comparisons(boards)]
    made += [table(sweep.cells) for table in (ledger, leaks, attacks, health, failures)]
    return [table for table in made if table.rows]


def summary(rows: Sequence[CellRecord]) -> TextTable:
    """One line a cell, with everything that is known of it but its detail."""
    records = [row.as_columns() for row in rows]
    names = tuple(dict.fromkeys(name for record in records for name in record))
    return TextTable("summary", "Every cell", names, tuple(tuple(record.get(name) for name in names) for record in records))


def leaderboard(boards: Sequence[Board]) -> TextTable:
    """One line a place, the problems below each other."""
    names = list(boards[0].problem) if boards else []
    header = (*names, "data", "metric", "epsilon accounted", "delta", "rank", "mechanism", "epsilon", "median", "p20", "p80")
    header += ("no privacy", "mean only", "guarantee")
    rows = tuple((*_problem(board), *_placed(place)) for board in boards for place in board.places)
    return TextTable(
        "leaderboard", "Cells by their median error; without a rank: not private, not proven, or leaking", header, rows
    )


def _problem(board: Board) -> tuple[str, ...]:
    return (*board.problem.values(), _data([place.row for place in board.places]))


def _data(rows: Sequence[CellRecord]) -> str:
    """Whether their data was drawn or collected."""
    return " and ".join(sorted({"synthetic" if row.synthetic else "real" for row in rows}))


def _placed(place: Place) -> tuple[Cell, ...]:
    numbers = (place.utility(), place.utility("p20"), place.utility("p80"))
    references = (place.reference("no_privacy"), place.reference("mean_predictor"))
    row = place.row
    what = (row.primary, place.accounted, place.delta, place.rank, label(row), place.epsilon)
    return (*what, *numbers, *references, row.guarantee)


def comparisons(boards: Sequence[Board]) -> TextTable:
    """Each ranked cell against the best at the same accounted ε, paired over the repeats."""
    names = list(boards[0].problem) if boards else []
    header = (*names, "data", "metric", "epsilon accounted", "best", "other", "repeats", "shift", "low", "high", "p (Holm)")
    header += ("separated", "fewest repeats", "more repeats")
    rows: list[tuple[Cell, ...]] = []
    for board in boards:
        for place in board.places:
            found = place.comparison
            if found is not None:
                what = (place.row.primary, place.accounted, label(found.first), label(found.second), found.repeats)
                apart = "yes" if found.separated else "no"
                numbers = (found.shift, _finite(found.low), _finite(found.high), found.corrected)
                more = found.more_repeats if found.repeats >= found.fewest else None
                rows.append((*_problem(board), *what, *numbers, apart, found.fewest, more))
    return TextTable("comparisons", "How much worse than the best at the same accounted epsilon", header, tuple(rows))


def _finite(value: float) -> float | None:
    """An interval of too few repeats has no ends."""
    return value if math.isfinite(value) else None


def ledger(rows: Sequence[CellRecord]) -> TextTable:
    """What each mechanism asked the rows, and at what price: at the smallest and at the largest ε that it was given."""
    groups: dict[tuple[str, str, str], list[CellRecord]] = {}
    for row in rows:
        if row.done:
            groups.setdefault((label(row), row.params["model"], row.params["dataset"]), []).append(row)
    asked = ("query", "noise", "scale", "cost", "neighbours", "proven", "proof or reason")
    header = ("mechanism", "model", "dataset", "data", *asked)
    lines: list[tuple[Cell, ...]] = []
    for names, here in groups.items():
        ends = [min(here, key=lambda row: row.epsilon), max(here, key=lambda row: row.epsilon)]
        ledgers = [row.detail.ledger for row in ends]
        neighbours = str(ledgers[0].get("neighbours", ""))
        for entries in _paired(ledgers):
            first = entries[0]
            scale = _range(_scales(entries))
            cost = _costs([entry.get("cost") or {} for entry in entries])
            proven = "yes" if all(entry.get("sound") for entry in entries) else "NO"
            told = (str(first.get("query", "")), _noise(first), scale, cost, NEIGHBOURS.get(neighbours, neighbours), proven)
            lines.append((*names, _data(here), *told, str(first.get("proof", ""))))
    return TextTable("ledger", "What was asked of the rows, and what each answer cost", header, tuple(lines))


def _noise(entry: Mapping[str, Any]) -> str:
    """The law; a mechanism that draws noise of its own claims a price for it, and what is revealed has neither."""
    drawn = (entry.get("cost") or {}).get("kind", "none") != "none"
    return str(entry.get("noise") or ("its own" if drawn else "none"))


def _paired(ledgers: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The same calls of several ledgers together: by their names; calls of one name are one line."""
    found: dict[tuple[str, Any, Any], list[Mapping[str, Any]]] = {}
    for one in ledgers:
        for entry in one.get("entries") or []:
            found.setdefault((entry.get("query", ""), entry.get("noise"), entry.get("proof")), []).append(entry)
    return list(found.values())


def _scales(entries: Sequence[Mapping[str, Any]]) -> list[float]:
    values: list[Any] = []
    for entry in entries:
        scale = entry.get("scale")
        values += [scale["smallest"], scale["largest"]] if isinstance(scale, Mapping) else [scale]
    return [float(value) for value in values if value is not None]


def _range(values: Sequence[float]) -> str:
    low, high = (f"{value:.4g}" for value in (min(values), max(values))) if values else ("", "")
    return low if low == high else f"{low} to {high}"


def _costs(costs: Sequence[Mapping[str, Any]]) -> str:
    """In the currency in which it was paid: ``pure, ε = 0.1 to 3.2``."""
    kind = str(costs[0].get("kind", ""))
    prices = [
        f"{symbol} = {_range([cost[name] for cost in costs if cost.get(name) is not None])}"
        for name, symbol in PRICES.items()
        if any(cost.get(name) for cost in costs)
    ]
    return ", ".join([KINDS.get(kind, kind), *prices])


def leaks(rows: Sequence[CellRecord]) -> TextTable:
    """What reached a result unpaid, and why. Noise without a proof is no leak: it stands in the ledger."""
    found: dict[tuple[str, str, str], int] = {}
    for row in rows:
        for leak in row.leaks if row.done else ():
            if leak.what != UNPROVEN_NOISE.what:
                key = (label(row), leak.what, leak.why)
                found[key] = found.get(key, 0) + 1
    lines = tuple((*key, count) for key, count in found.items())
    return TextTable("leaks", "What reached the result without being paid for", ("mechanism", "leak", "why", "cells"), lines)


def attacks(rows: Sequence[CellRecord]) -> TextTable:
    """What each attack found, what can be guessed without the release, and the cap."""
    attacked = [row for row in rows if row.done and row.params["attack"] != "none"]
    columns = attack_columns(attacked)
    header = ("attack", "model", "dataset", "data", "mechanism", "epsilon", "epsilon accounted", *columns, "guarantee")
    lines = tuple(
        (
            *(row.params[key] for key in ("attack", "model", "dataset")),
            _data([row]),
            label(row),
            row.params["epsilon"],
            row.metrics.get("privacy/epsilon_accounted"),
            *(row.metrics.get(metric) for metric in columns.values()),
            row.guarantee,
        )
        for row in attacked
        if columns
    )
    return TextTable("attacks", "What the attacks found", header, lines)


def health(rows: Sequence[CellRecord]) -> TextTable:
    """What did not go as it should: the smallest and the largest number over a mechanism's cells, where it is not zero."""
    found: dict[tuple[str, str, str, str], list[float]] = {}
    for row in rows:
        for name, value in row.metrics.items():
            if name.startswith("health/"):
                key = (row.params["mechanism"], row.params["model"], _data([row]), name.removeprefix("health/"))
                found.setdefault(key, []).append(value)
    lines = tuple(
        (*key, min(values), max(values), sum(value != 0 for value in values), len(values))
        for key, values in found.items()
        if any(values)
    )
    header = ("mechanism", "model", "data", "what", "smallest", "largest", "in cells", "of")
    return TextTable("health", "Health: shares of the runs, from 0 to 1, and numbers that a fit settled on", header, lines)


def failures(rows: Sequence[CellRecord]) -> TextTable:
    """The cells that failed or were pruned, by their reason."""
    found: dict[tuple[str, str], list[CellRecord]] = {}
    for row in rows:
        if not row.done:
            found.setdefault((row.state, row.reason), []).append(row)
    lines = tuple((state, len(cells), _named(cells), reason) for (state, reason), cells in sorted(found.items(), key=_first))
    return TextTable("failures", "Cells that failed, and cells that make no sense", ("state", "cells", "which", "reason"), lines)


def _first(item: tuple[tuple[str, str], list[CellRecord]]) -> str:
    return item[0][0]


def _named(rows: Sequence[CellRecord]) -> str:
    names = list(dict.fromkeys(f"{label(row)} {row.params['model']} {row.params['dataset']}" for row in rows))
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
