"""The tables of a report: leaderboard, comparisons, ledger, leaks, attacks, health, failures."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpbench.accounting.costs import KIND_NAMES, SYMBOLS
from dpbench.base.errors import Omissions
from dpbench.records.cell_record import CellRecord, label
from dpbench.records.leaks import UNPROVEN_NOISE
from dpbench.records.names import (
    EPSILON_ACCOUNTED,
    FAILED_SHARE,
    INTERVAL_COVERS,
    INTERVAL_FLOORED,
    INTERVAL_METHOD,
    INTERVALS,
    SMALLEST_COVERAGE,
    declared,
)
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.decision_table import decision_table
from dpbench.report.formatting import group_by, listed
from dpbench.report.interval_texts import has_intervals
from dpbench.report.leaderboards import Board
from dpbench.report.statistics.paired import Comparison
from dpbench.report.summary import SweepSummary
from dpbench.report.text_table import Entry, TextTable

NEIGHBOURS = {"replace_one": "one row replaced", "replace_one_person": "one person replaced"}
QUERY_KEYS = ("query", "noise", "proof")
"""What tells the answers of a ledger apart, except their price."""


def tables_of(summary: SweepSummary, omissions: Omissions) -> list[TextTable]:
    """Return every table that has a row."""
    makers: dict[str, Callable[[], TextTable]] = {
        "decision": lambda: decision_table(summary),
        "leaderboard": lambda: leaderboard(summary.boards),
        "comparisons": lambda: comparisons(summary.boards),
        "ledger": lambda: ledger(summary.done),
        "leaks": lambda: leaks(summary.done),
        "attacks": lambda: attacks(summary),
        "intervals": lambda: intervals(summary.done),
        "health": lambda: health(summary.done, rates=True),
        "health_numbers": lambda: health(summary.done, rates=False),
        "failures": lambda: failures(summary.cells),
    }
    tables = (omissions.attempt(f"the table {name}", make) for name, make in makers.items())
    return [table for table in tables if table is not None and table.rows]


def all_cells(cells: Sequence[CellRecord]) -> TextTable:
    """Return one row per cell, with everything that is known of it except its detail."""
    records = [cell.as_columns() for cell in cells]
    names = tuple(dict.fromkeys(name for record in records for name in record))
    return TextTable("summary", "Every cell", names, tuple(tuple(record.get(name) for name in names) for record in records))


def leaderboard(boards: Sequence[Board]) -> TextTable:
    """Return one row per place, the problems below each other."""
    header = (*(boards[0].problem if boards else ()), "data", "metric", "epsilon accounted", "delta", "rank", "mechanism")
    header += ("sensitivity", "epsilon", "median", "p20", "p80", "failed share", "no privacy", "mean only", "guarantee")
    rows: list[tuple[Entry, ...]] = []
    for board in boards:
        for place in board.places:
            cell = place.cell
            names = (cell.primary, place.accounted, place.delta, place.rank, label(cell), cell.sensitivity, place.epsilon)
            levels = map(cell.reference, ("no_privacy", "mean_predictor"))
            errors = (*map(cell.error, ("median", "p20", "p80")), cell.metrics.get(FAILED_SHARE))
            rows.append((*_problem(board), *names, *errors, *levels, cell.guarantee))
    title = "Cells by their median error; without a rank: not private, not proven, or leaking"
    return TextTable("leaderboard", title, header, rows)


def comparisons(boards: Sequence[Board]) -> TextTable:
    """Return each ranked cell against the best of its group, on the same splits."""
    header = (*(boards[0].problem if boards else ()), "data", "metric", "epsilon accounted", "best", "other", "repeats")
    header += ("difference", "low", "high", "practically the same below", "p (Holm)", "result", "fewest repeats", "more repeats")
    rows: list[tuple[Entry, ...]] = []
    for board in boards:
        for place in board.places:
            if result := place.comparison:
                names = (place.cell.primary, place.accounted, label(result.first), label(result.second), result.repeats)
                # with too few repeats an interval has no ends
                ends = (end if math.isfinite(end) else None for end in (result.low, result.high))
                numbers = (result.difference.value, *ends, result.threshold, result.corrected)
                more = result.more_repeats if result.repeats >= result.min_repeats else None
                rows.append((*_problem(board), *names, *numbers, _result(result), result.min_repeats, more))
    return TextTable("comparisons", "How much worse than the best cell that it may be compared with", header, rows)


def _result(comparison: Comparison) -> str:
    """Return what a comparison with the best has found."""
    if comparison.practically_same:
        return "practically the same"
    return "higher" if comparison.separated else "not separated"


def _problem(board: Board) -> tuple[str, ...]:
    return (*board.problem.values(), _data([place.cell for place in board.places]))


def _data(cells: Iterable[CellRecord]) -> str:
    return " and ".join(sorted({"synthetic" if cell.synthetic else "real" for cell in cells}))


def ledger(cells: Sequence[CellRecord]) -> TextTable:
    """Return what each mechanism asked of the rows and at what price, at its smallest and largest ε."""
    rows: list[tuple[Entry, ...]] = []
    for names, group in group_by(cells, lambda cell: (label(cell), cell.params["model"], cell.params["dataset"])).items():
        ledgers = [end(group, key=lambda cell: cell.epsilon or 0.0).detail.ledger for end in (min, max)]
        neighbours = str(ledgers[0].get("neighbours", ""))
        entries = [entry for ledger in ledgers for entry in ledger.get("entries") or []]
        for (query, noise, proof), same in group_by(entries, lambda entry: tuple(map(entry.get, QUERY_KEYS))).items():
            costs = [entry.get("cost") or {} for entry in same]
            # a mechanism that draws its own noise claims a price for it; what is revealed without noise has no price
            law = noise or ("its own" if costs[0].get("kind", "none") != "none" else "none")
            scales = _range(scale for entry in same for scale in _scales(entry))
            proven = "yes" if all(entry.get("sound") for entry in same) else "NO"
            answer = (query or "", law, scales, _price(costs), NEIGHBOURS.get(neighbours, neighbours), proven, proof or "")
            rows.append((*names, _data(group), *map(str, answer)))
    header = ("mechanism", "model", "dataset", "data", "query", "noise", "scale", "cost", "neighbours", "proven")
    return TextTable("ledger", "What was asked of the rows, and what each answer cost", (*header, "proof or reason"), rows)


def _scales(entry: Mapping[str, Any]) -> list[float | None]:
    scale = entry.get("scale")
    return [scale["smallest"], scale["largest"]] if isinstance(scale, Mapping) else [scale]


def _range(values: Iterable[float | None]) -> str:
    known = [float(value) for value in values if value is not None]
    ends = [f"{end(known):.4g}" for end in (min, max)] if known else []
    return " to ".join(dict.fromkeys(ends))


def _price(costs: Sequence[Mapping[str, Any]]) -> str:
    """Return the price in the currency in which it was paid: ``pure, ε = 0.1 to 3.2``."""
    kind = str(costs[0].get("kind", ""))
    paid = {symbol: [cost.get(name) for cost in costs] for name, symbol in SYMBOLS.items()}
    prices = [f"{symbol} = {_range(values)}" for symbol, values in paid.items() if any(values)]
    return ", ".join([KIND_NAMES.get(kind, kind), *prices])


def leaks(cells: Sequence[CellRecord]) -> TextTable:
    """Return what reached a result without being paid for, and why. Noise without a proof is in the ledger instead."""
    pairs = [(label(cell), leak) for cell in cells for leak in cell.leaks if leak.what != UNPROVEN_NOISE.what]
    rows = tuple((name, leak.what, leak.why, len(same)) for (name, leak), same in group_by(pairs, lambda pair: pair).items())
    return TextTable("leaks", "What reached the result without being paid for", ("mechanism", "leak", "why", "cells"), rows)


def attacks(summary: SweepSummary) -> TextTable:
    """Return what each attack gained, what can be guessed without the release, and the cap."""
    columns = attack_columns(summary.sweep, summary.done)
    rows: list[tuple[Entry, ...]] = []
    for cell in summary.done if columns else []:
        if cell.attacked:
            names = (*(cell.params[key] for key in ("attack", "model", "dataset")), _data([cell]), label(cell))
            epsilons = (cell.params.get("epsilon"), cell.metrics.get(EPSILON_ACCOUNTED))
            rows.append((*names, *epsilons, *map(cell.metrics.get, columns.values()), cell.guarantee))
    header = ("attack", "model", "dataset", "data", "mechanism", "epsilon", "epsilon accounted", *columns, "guarantee")
    return TextTable("attacks", "What the attacks gained", header, rows)


def attack_columns(sweep: SweepRecord, cells: Iterable[CellRecord]) -> dict[str, str]:
    """Return the metrics of attacks that have a column, by its heading: means, since the cap limits an expectation.

    A control that gains nothing has no column.
    """
    means = {f"{info.name}_mean": info.label for info in sweep.metric_info.values() if info.headline}
    metrics = [item for cell in cells if cell.attacked for item in cell.metrics.items()]
    measured = {name for name, value in metrics if value or not is_control(name)}
    columns = {heading: name for name, heading in means.items() if name in measured}
    return {**columns, "cap": "attack/cap"} if columns else {}


def is_control(metric: str) -> bool:
    """Return whether a metric is that of a guess that needs no release."""
    return metric.startswith("attack/control/")


def intervals(cells: Sequence[CellRecord]) -> TextTable:
    """Return how often the intervals of each cell cover, and how wide they are; a row for each reason why there are none."""
    names: tuple[str, ...] = (
        "inference/coverage_mean",
        "inference/coverage_ci_low",
        "inference/coverage_ci_high",
        SMALLEST_COVERAGE,
    )
    names += ("inference/width_ratio_median", "inference/overlap_mean", "inference/sign_significance_mean", INTERVAL_FLOORED)
    names += ("utility/ols_se_median",)
    rows: list[tuple[Entry, ...]] = []
    for cell in filter(has_intervals, cells):
        which = (*(cell.params[key] for key in ("model", "dataset")), _data([cell]), label(cell), cell.params.get("epsilon"))
        rows.append((*which, cell.tags[INTERVAL_METHOD], cell.tags[INTERVAL_COVERS], *map(cell.metrics.get, names), ""))
    if rows:
        missing = [cell for cell in cells if INTERVALS in cell.tags and not has_intervals(cell)]
        for (model, reason), group in group_by(missing, lambda cell: (cell.params["model"], cell.tags[INTERVALS])).items():
            datasets, mechanisms = (listed(text, most=4) for text in zip(*map(_dataset_and_label, group), strict=True))
            empty = (None,) * len(names)
            rows.append((model, datasets, _data(group), mechanisms, "", "none", "", *empty, reason))
    header: tuple[str, ...] = ("model", "dataset", "data", "mechanism", "epsilon", "method", "covers", "coverage", "low", "high")
    header += ("smallest of a slope", "width ratio", "overlap", "same sign and significance", "floored", "ols_se", "why none")
    return _measured(
        TextTable("intervals", "How often intervals cover, and how wide they are against non-private ones", header, rows)
    )


def _measured(table: TextTable) -> TextTable:
    """Return the table without the columns that have no entry."""
    kept = [index for index in range(len(table.header)) if any(row[index] not in (None, "") for row in table.rows)]
    rows = [tuple(row[index] for index in kept) for row in table.rows]
    return replace(table, header=tuple(table.header[index] for index in kept), rows=rows)


def _dataset_and_label(cell: CellRecord) -> tuple[str, str]:
    return cell.params["dataset"], label(cell)


def health(cells: Sequence[CellRecord], *, rates: bool) -> TextTable:
    """Return the range of each health metric over a mechanism's cells, where it is not zero: shares, or other numbers."""
    rows = []
    for names, group in group_by(cells, lambda cell: (cell.params["mechanism"], cell.params["model"], _data([cell]))).items():
        for name in dict.fromkeys(name for cell in group for name in cell.metrics if name.startswith("health/")):
            values = [cell.metrics[name] for cell in group if name in cell.metrics]
            if any(values) and is_share(name) is rates:
                counts = (sum(value != 0 for value in values), len(values))
                rows.append((*names, _health_words(name), min(values), max(values), *counts))
    header = ("mechanism", "model", "data", "what", "smallest", "largest", "cells with it", "cells")
    if rates:
        return TextTable(
            "health", "How often something went wrong: shares of the runs, rows or values, from 0 to 1", header, rows
        )
    return TextTable("health_numbers", "Counts, sizes, and numbers that a fit settled on", header, rows)


def _health_words(metric: str) -> str:
    """Return what a health metric is called: its declared label, or else its own name in words."""
    labels = {declaration.text: declaration.label for declaration in declared("cell_metrics")}
    return labels.get(metric) or metric.removeprefix("health/").replace("_", " ")


def is_share(metric: str) -> bool:
    """Return whether a health metric is a share, as its declaration says."""
    units = {declaration.text: declaration.unit for declaration in declared("cell_metrics")}
    return "share" in units.get(metric, "")


def failures(cells: Sequence[CellRecord]) -> TextTable:
    """Return the cells that failed or were pruned, by their reason."""
    unfinished = sorted((cell for cell in cells if not cell.done), key=lambda cell: cell.state)
    groups = group_by(unfinished, lambda cell: (cell.state, cell.reason))
    rows = tuple((state, len(group), listed(map(_name, group), most=4), reason) for (state, reason), group in groups.items())
    return TextTable("failures", "Cells that failed, and cells that make no sense", ("state", "cells", "which", "reason"), rows)


def _name(cell: CellRecord) -> str:
    return f"{label(cell)} {cell.params['model']} {cell.params['dataset']}"
