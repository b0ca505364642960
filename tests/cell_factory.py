"""The one factory of cell records for tests: everything has a default, and what a test is about is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np

from dpbench.records.budget_free import BUDGET_KEYS
from dpbench.records.cell_record import CellRecord, DetailInMemory, State
from dpbench.records.cell_tags import guarantee_of
from dpbench.records.metric_info import MetricInfo
from dpbench.records.sweep_record import SweepRecord

PARAMS = {"mechanism": "fm", "model": "linear", "dataset": "wine", "attack": "none", "epsilon": "0.8"}
PARAMS |= {"delta": "1e-06", "splits": "50 x 5-fold"}
METRIC_INFO = (
    MetricInfo("utility/rmse", "root mean square error (scaled target)", "", "lower", "scaled target"),
    MetricInfo("attack/advantage", "attack advantage", "", headline=True),
    MetricInfo("attack/control/imputation/advantage", "control: imputation", "", headline=True),
    MetricInfo("attack/control/majority/advantage", "control: majority", "", headline=True),
    MetricInfo("attack/gap", "train - test", "", headline=True),
)


def make_cell(
    mechanism: str = "fm",
    error: Any = 0.2,
    epsilon: float = 0.8,
    *,
    spread: float = 0.01,
    repeats: int = 12,
    private: bool = True,
    sound: bool | None = None,
    leaks: Mapping[str, str] | None = None,
    synthetic: bool = False,
    params: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    metrics: Mapping[str, float] | None = None,
    runs: Mapping[str, Any] | None = None,
    curves: Mapping[str, Any] | None = None,
    without: Sequence[str] = (),
    state: State = "run",
    reason: str = "",
) -> CellRecord:
    """Make a cell with an error: a number that its runs scatter around, one row of folds for each repeat, or None.

    ``without`` names metrics that it does not have; ``leaks`` maps their names to the reasons.
    """
    sound = private if sound is None else sound
    leaks = leaks or {}
    if np.ndim(error):
        table = np.asarray(error, dtype=float)
        table = table[:, None] if table.ndim == 1 else table
        (repeats, folds), values = table.shape, table.ravel()
        error = float(np.nanquantile(table, 0.5)) if np.isfinite(table).any() else None
    else:
        folds = 2
        scatter = np.random.default_rng(crc32(mechanism.encode())).permutation(np.linspace(-1, 1, repeats * folds))
        values = scatter * spread + (np.nan if error is None else error)
    numbers: dict[str, float] = {"reference/no_privacy/rmse_median": 0.15, "reference/mean_predictor/rmse_median": 0.1772}
    numbers |= {"privacy/epsilon_accounted": epsilon} if private else {}
    if error is not None:
        shifts = {"median": 0.0, "mean": 0.0, "p20": -1.0, "p80": 1.0, "ci_low": -0.5, "ci_high": 0.5}
        numbers |= {f"utility/rmse_{name}": error + shift * spread for name, shift in shifts.items()}
    numbers |= metrics or {}
    index = {"repeat": np.repeat(np.arange(repeats), folds), "fold": np.tile(np.arange(folds), repeats)}
    counts = {name: np.full(repeats * folds, 50) for name in ("n_train", "n_test")}
    cost = {"kind": "pure", "epsilon": epsilon} if private else {"kind": "none"}
    entry = {"query": "sums", "noise": "laplace", "scale": 2 / epsilon, "cost": cost, "sound": sound, "proof": "Lemma 1"}
    ledger = {"neighbours": "replace_one", "entries": [entry]}
    ledger["leaks"] = [{"what": what, "why": why} for what, why in leaks.items()]
    standing = {"sound": sound, "private": private, "synthetic": synthetic}
    names = {f"dpbench.{name}": str(value).lower() for name, value in standing.items()}
    names |= {"dpbench.leaks": ",".join(leaks), "dpbench.version": "9.9", "dpbench.numpy": "2.0", **(tags or {})}
    if guarantee_of(names) == "claimed" and "dpbench.guarantee" not in names:
        names["dpbench.guarantee"] = "sound"
    return CellRecord(
        state,
        {**PARAMS, "mechanism": mechanism, "epsilon": f"{epsilon:g}", **(params or {})},
        names,
        {name: number for name, number in numbers.items() if name not in without},
        "rmse",
        reason,
        detail=DetailInMemory(
            {"seed": 7}, ledger, {**index, **counts, "utility/rmse": values, **(runs or {})} if repeats else {}, curves or {}
        ),
    )


def make_sweep(cells: Sequence[CellRecord], command: str = "python -m dpbench -m epsilon=0.8", **more: Any) -> SweepRecord:
    """Make the record of a sweep of these cells, whose metrics are described."""
    return SweepRecord(tuple(cells), command, **{"metric_info": {info.name: info for info in METRIC_INFO}, **more})


def unbudgeted(cell: CellRecord) -> CellRecord:
    """The record of a cell whose mechanism uses no budget."""
    return replace(cell, params={key: text for key, text in cell.params.items() if key not in BUDGET_KEYS})
