"""Summarise the results of a cell's blocks into its record: numbers over runs by their public names."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dpbench.accounting.calibration import recorded
from dpbench.audit.result import AuditResult
from dpbench.cells.audit_unit import vouched
from dpbench.cells.cell import Cell
from dpbench.cells.intervals import CellIntervals, smallest_coverage, summarised
from dpbench.cells.work_unit import BlockResult
from dpbench.contracts.attack import advantage_cap
from dpbench.contracts.uncertainty import Covers
from dpbench.inference.wording import floor_sentence
from dpbench.privacy.ledger import merge
from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.records.cell_tags import Provenance, Standing, cell_tags
from dpbench.records.explosion import explosion_of, failed_share
from dpbench.records.names import (
    ATTACK_CAP,
    CELL_SECONDS,
    EPSILON_ACCOUNTED,
    EPSILON_AUDITED,
    EXPLODING,
    FAILED_SHARE,
    INTERVAL_COVERS,
    INTERVAL_FLOORED,
    INTERVAL_METHOD,
    INTERVALS,
    LARGEST_EXPLOSION,
    NONZERO,
    PENALTY,
    SMALLEST_COVERAGE,
)

SUFFIXES = ("median", "mean", "std", "p20", "p80", "ci_low", "ci_high")
SUMMARISED = ("utility/", "reference/", "attack/", "inference/")
CONFIDENCE = 0.95
UNPROTECTED = ("not_private", "unproven", "refuted")
"""Guarantees of weights that may be exact: of a table that is not public, they are recorded only on request."""


def record_of(
    cell: Cell,
    parts: Sequence[BlockResult],
    params: Mapping[str, str],
    provenance: Provenance,
    primary: str,
    audit: AuditResult | None = None,
) -> CellRecord:
    """Return the record of a cell whose blocks have all come back, and whose audit is done if it has one."""
    parts = sorted(parts, key=lambda part: part.repeats)
    if failed := next((part for part in parts if part.error), None):
        tags = cell_tags(provenance, Standing(cell.settings.noise))
        detail = DetailInMemory(cell.record_config, traceback=failed.traceback)
        return CellRecord("failed", params, tags, {}, primary, failed.error, key=cell.key, detail=detail)
    # a block whose intervals failed has no metrics of them
    everywhere = [name for name in parts[0].runs if all(name in part.runs for part in parts)]
    runs = {name: np.concatenate([part.runs[name] for part in parts]) for name in everywhere}
    ledger = merge(part.ledger for part in parts if part.ledger is not None)
    total = recorded(ledger.total, cell.settings.epsilon)
    made = [part.intervals for part in parts if part.intervals is not None]
    public = not provenance.digest_key or cell.settings.exact_weights
    intervals = summarised([part.columns for part in made], parts[0].coefficients, public)
    metrics = {
        **summaries({name: values for name, values in runs.items() if name.startswith(SUMMARISED)}, runs["repeat"]),
        "privacy/epsilon_budget": ledger.budget.epsilon if cell.budgeted else None,
        EPSILON_ACCOUNTED: total.epsilon if total.private else None,
        "privacy/delta": total.delta,
        EPSILON_AUDITED: None if audit is None or not total.private else audit.epsilon,
        ATTACK_CAP: advantage_cap(total.epsilon, total.delta) if any(name.startswith("attack/") for name in runs) else None,
        SMALLEST_COVERAGE: smallest_coverage(intervals),
        **_health(runs, parts),
        **_explosion(runs, primary),
        FAILED_SHARE: failed_share(runs, primary),
        **_model_numbers(runs),
        "time/fit_seconds": next((part.fit_seconds for part in parts if part.fit_seconds is not None), None),
        CELL_SECONDS: math.fsum(part.seconds for part in parts),
    }
    proven, has_weights = ledger.sound and bool(ledger.entries), bool(np.isfinite(runs["weights"]).all(axis=1).any())
    leaks, doubt = tuple(ledger.leaks), provenance.bounds_doubt
    standing = Standing(cell.settings.noise, proven, total.private, leaks, has_weights=has_weights, bounds_doubt=doubt)
    standing = vouched(standing, audit, int(runs["n_train"][0]))
    if violation := next((part.violation for part in parts if part.violation), ""):
        standing = replace(standing, audit_passed=False, why=violation, replayed_n=0)
    weights = dict(zip((f"weight/{name}" for name in parts[0].coefficients), runs.pop("weights").T, strict=True))
    if not public and standing.guarantee in UNPROTECTED:
        weights, intervals = {}, {}
    curves = {name: _curve(np.concatenate([part.curves[name] for part in parts])) for name in parts[0].curves}
    tried = audit is not None and audit.passed is not None and total.private
    verdict = {"audit": {"passed": audit.passed, "violations": list(audit.violations)}} if audit is not None and tried else {}
    detail = DetailInMemory(
        cell.record_config,
        {**ledger.as_dict(cell.settings.epsilon), **verdict},
        {**runs, **weights},
        curves,
        parts[0].clipped,
        intervals,
    )
    tags = {
        **cell_tags(provenance, standing),
        **_interval_tags(made, cell.inference.covers, metrics.get(INTERVAL_FLOORED)),
    }
    known = {name: value for name, value in metrics.items() if value is not None}
    return CellRecord("run", params, tags, known, primary, key=cell.key, detail=detail)


def summaries(values: Mapping[str, np.ndarray], repeat: np.ndarray) -> dict[str, float]:
    """Return every suffix of every metric, over the runs that have a finite value."""
    groups: dict[bytes, list[str]] = {}
    masks = {name: np.isfinite(np.asarray(array, dtype=float)) for name, array in values.items()}
    for name, mask in masks.items():
        groups.setdefault(mask.tobytes(), []).append(name)  # metrics with the same runs are one table: quantiles are slow
    result: dict[str, dict[str, float]] = {}
    for names in groups.values():
        finite = masks[names[0]]
        if finite.any():
            table = np.stack([np.asarray(values[name], dtype=float)[finite] for name in names])
            result |= zip(names, _statistics(table, repeat[finite]), strict=True)
    return {f"{name}_{suffix}": value for name in values if name in result for suffix, value in result[name].items()}


def _statistics(table: np.ndarray, repeat: np.ndarray) -> list[dict[str, float]]:
    """Return the summaries of each row of a table (metrics, runs); those that are not finite are left out."""
    with np.errstate(over="ignore", invalid="ignore"):  # the square of a very large error overflows
        p20, median, p80 = np.quantile(table, [0.2, 0.5, 0.8], axis=1)
        columns = {"median": median, "mean": table.mean(axis=1), "p20": p20, "p80": p80}
        if table.shape[1] > 1:
            columns["std"] = table.std(axis=1, ddof=1)
        means = _by_repeat(table, repeat)
        if (count := means.shape[1]) > 1:
            # folds of one repeat share training rows, so the interval is over the repeats' means
            from scipy.special import stdtrit

            reach = float(stdtrit(count - 1, (1 + CONFIDENCE) / 2)) * means.std(axis=1, ddof=1) / math.sqrt(count)
            centre = means.mean(axis=1)
            columns |= {"ci_low": centre - reach, "ci_high": centre + reach}
    rows = [{suffix: float(columns[suffix][index]) for suffix in SUFFIXES if suffix in columns} for index in range(len(table))]
    return [{suffix: value for suffix, value in row.items() if math.isfinite(value)} for row in rows]


def _curve(values: np.ndarray) -> dict[str, np.ndarray]:
    """Return the summaries of a curve over the runs that have one, at even steps from 0 to 1."""
    finite = values[np.isfinite(values).all(axis=1)]
    x = np.linspace(0, 1, values.shape[1])
    if not len(finite):
        return {"x": x}
    p20, median, p80 = np.quantile(finite, [0.2, 0.5, 0.8], axis=0)
    return {"x": x, "median": median, "mean": finite.mean(axis=0), "p20": p20, "p80": p80}


def _by_repeat(table: np.ndarray, repeat: np.ndarray) -> np.ndarray:
    """Return the means over the folds of each repeat, whose runs are adjacent: (metrics, repeats)."""
    starts = np.flatnonzero(np.r_[True, repeat[1:] != repeat[:-1]])
    return np.asarray(np.add.reduceat(table, starts, axis=1) / np.diff(np.r_[starts, len(repeat)]))


def _model_numbers(runs: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return how many weights are not zero on average, and which penalties were chosen, where the runs have these columns."""
    counts, penalties = (runs.get(name, np.empty(0)) for name in (NONZERO, PENALTY))
    finite = counts[np.isfinite(counts)]
    numbers = {NONZERO: float(finite.mean())} if finite.size else {}
    if penalties.size:
        ends = {f"{PENALTY}_min": float(penalties.min()), f"{PENALTY}_max": float(penalties.max())}
        numbers |= {PENALTY: float(np.median(penalties)), **ends}
    return numbers


def _interval_tags(parts: Sequence[CellIntervals], covers: Covers, floored: float | None) -> dict[str, str]:
    """Return what the cell's intervals cover and how they were made, or why there are none."""
    if not parts:
        return {}
    tags = {INTERVALS: "\n".join([*parts[0].sentences, *([floor_sentence(floored)] if floored else [])])}
    if method := parts[0].method:
        tags |= {INTERVAL_METHOD: method, INTERVAL_COVERS: covers}
    return tags


def _explosion(runs: Mapping[str, np.ndarray], primary: str) -> dict[str, float | None]:
    """Return how many runs explode and how far, so that a report of thousands of cells need not read their runs."""
    if f"reference/mean_predictor/{primary}" not in runs:
        return {}
    found = explosion_of(runs, primary)
    largest = found.largest if found and math.isfinite(found.largest) else None
    return {EXPLODING: found.count / found.runs if found else 0.0, LARGEST_EXPLOSION: largest}


def _health(runs: Mapping[str, np.ndarray], parts: Sequence[BlockResult]) -> dict[str, float]:
    """Return rates from 0 to 1, and the notes of the fit."""
    words = {"repaired": "repaired", "diverged": "diverged", "failed": "failed_test"}
    rates = {name: float((runs["status"] == word).mean()) for name, word in words.items()}
    everywhere = [name for name in parts[0].health if all(name in part.health for part in parts)]
    events = {name: float(np.concatenate([part.health[name] for part in parts]).mean()) for name in everywhere}
    notes = {name: float(value) for name, value in parts[0].notes.items()}
    return {f"health/{name}": value for name, value in {"not_positive_definite": 0.0, **rates, **events, **notes}.items()}
