"""Run a recorded cell again, from its record alone, and say which of its numbers came out the same."""

import math
from dataclasses import dataclass

import numpy as np

from dpbench.base.errors import Refused
from dpbench.cells.summaries import record_of
from dpbench.cells.unit_runner import last_runner, run_unit
from dpbench.records.cell_record import CellRecord
from dpbench.records.names import DIGEST_KEY
from dpbench.sweeps.plan import plan_cells, refuse_pruned
from dpbench.sweeps.resolution import resolve_record

WALL_CLOCK = "time/"
"""Begins the names of numbers that no two runs share."""


@dataclass(frozen=True)
class Drift:
    """A column of ``runs.parquet`` whose values came out differently."""

    column: str
    difference: float
    """The largest relative difference; infinite for texts, missing columns, and where only one of the two values is finite."""
    runs: int
    """How many runs differ."""


@dataclass(frozen=True)
class Reproduction:
    """A recorded cell, and what became of it when it ran again."""

    recorded: CellRecord
    rerun: CellRecord
    columns: tuple[str, ...]
    """The columns of ``runs.parquet`` that were compared."""
    drifts: tuple[Drift, ...]
    """Those of the primary metric first, then the largest."""

    @property
    def same(self) -> bool:
        return self.rerun.done and not self.drifts

    @property
    def versions(self) -> dict[str, tuple[str, str]]:
        """The versions that differ: the recorded one, then the one that ran now."""
        before, now = _versions(self.recorded), _versions(self.rerun)
        pairs = {part: (before.get(part, ""), now.get(part, "")) for part in {**now, **before}}
        if "versions" not in self.recorded.detail.config:  # recorded before the versions were: the key covers all of them
            pairs = {part: pair for part, pair in pairs.items() if pair[0]} | {"key": (self.recorded.key, self.rerun.key)}
        return {part: pair for part, pair in pairs.items() if pair[0] != pair[1]}


def reproduce(recorded: CellRecord) -> Reproduction:
    """Run a finished cell again as its record says, and compare every number of its runs. Nothing is written."""
    if recorded.secure:
        raise Refused("A cell with secure noise cannot be reproduced: its noise came from the operating system, not from a seed.")
    config, before = recorded.detail.config, recorded.detail.runs
    if not config or not before:
        raise Refused(f"The run {recorded.run_id} cannot be reproduced, because its files are not where they were recorded.")
    plan = plan_cells([resolve_record(config, recorded.params)])
    refuse_pruned(plan)
    last_runner.clear()  # a sweep of this process may have left this very cell's fit there
    (planned,) = plan.cells
    results = [result for unit in plan.units() for result in run_unit(unit)]
    rerun = record_of(planned.cell, results, planned.params, planned.provenance, planned.primary)
    columns = tuple(name for name in before if not name.startswith(WALL_CLOCK))
    after = rerun.detail.runs
    drifts = [_drift(name, before[name], after.get(name)) for name in columns] if rerun.done else []
    primary = f"utility/{planned.primary}"
    order = sorted(filter(None, drifts), key=lambda drift: (drift.column != primary, -drift.difference))
    return Reproduction(recorded, rerun, columns, tuple(order))


def _drift(column: str, before: np.ndarray, after: np.ndarray | None) -> Drift | None:
    """Return how a column differs; None if every value is the same, NaN included."""
    if after is None or len(after) != len(before):
        return Drift(column, math.inf, len(before))
    numbers = before.dtype.kind in "iufb" and after.dtype.kind in "iufb"
    different = before != after
    if numbers:
        different &= ~(np.isnan(before) & np.isnan(after))
    if not different.any():
        return None
    if not numbers:
        return Drift(column, math.inf, int(different.sum()))
    one, other = before[different].astype(float), after[different].astype(float)
    finite = np.isfinite(one) & np.isfinite(other)
    largest = np.maximum(np.abs(one), np.abs(other))
    # each is divided first: the difference of very large numbers may overflow
    scaled = [np.divide(values, largest, out=np.zeros(len(values)), where=finite) for values in (one, other)]
    relative = np.where(finite, np.abs(scaled[0] - scaled[1]), math.inf)
    return Drift(column, float(relative.max()), int(different.sum()))


def _versions(record: CellRecord) -> dict[str, str]:
    """Return every version that decides a record's bits: those in its tags, and the code and data in its configuration."""
    recorded = record.detail.config.get("versions", {})
    named = {part if part == "data" else f"code of the {part}": text for part, text in recorded.items() if part != "dpbench"}
    return {**record.versions, **named, "digest key": record.tags.get(DIGEST_KEY, "")}
