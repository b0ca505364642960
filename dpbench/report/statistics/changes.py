"""What became of the cells of a sweep in another one: which are better, worse, or practically the same on the same splits.

A pair of cells has the same parameters, seed, splits and dataset. Its errors are compared repeat by repeat, as two mechanisms of
one sweep are (:mod:`dpbench.report.statistics.paired`); all pairs are tested, so Holm's correction counts all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dpbench.base.one_thread import one_thread
from dpbench.records.cell_record import CellRecord
from dpbench.report.statistics.paired import PRACTICAL_SHARE, Comparison, compare, distance, holm

Verdict = Literal["same", "better", "worse", "undecided", "failed", "refuted", "other guarantee", "other data", "new", "gone"]
REGRESSIONS = ("worse", "failed", "refuted")
"""Verdicts that a change of a mechanism must not have."""
GUARANTEE_LEVELS = {"sound": 2, "claimed": 1}
"""How much a guarantee is worth: a claimed one has a proof but no audit. All others are worth nothing."""


@dataclass(frozen=True)
class Change:
    """A cell of two sweeps, or of one of them, and what became of it."""

    verdict: Verdict
    before: CellRecord | None
    after: CellRecord | None
    why: str = ""
    """What changed apart from the error."""
    comparison: Comparison | None = None
    """The errors of the two; None where something else decided."""

    @property
    def cell(self) -> CellRecord:
        """The newer of the two records."""
        cell = self.after or self.before
        assert cell is not None
        return cell


def changes(before: Sequence[CellRecord], after: Sequence[CellRecord]) -> list[Change]:
    """Return what became of every cell that is not pruned: first those of the second sweep, then those that are gone."""
    old, new = ({_identity(cell): cell for cell in cells if cell.state != "pruned"} for cells in (before, after))
    with one_thread():  # the products are small: waiting for a second thread takes ten times as long
        pairs = [_change(old.get(key), cell) for key, cell in new.items()]
    compared = [change.comparison for change in pairs if change.comparison is not None]
    corrected = iter(holm(compared, len(compared)))
    judged = [change if change.comparison is None else _judged(change, next(corrected)) for change in pairs]
    return judged + [Change("gone", cell, None) for key, cell in old.items() if key not in new]


def _identity(cell: CellRecord) -> str:
    """Return what two cells have in common if their runs are about the same problem on the same splits."""
    config = cell.detail.config
    return repr((sorted(cell.params.items()), [config.get(key) for key in ("seed", "splits", "dataset")]))


def _change(before: CellRecord | None, after: CellRecord) -> Change:
    """Return the change of a cell, with the comparison of its errors where nothing else decides."""
    if before is None:
        return Change("new", None, after)
    if not after.done:
        return (
            Change("failed", before, after, after.reason) if before.done else Change("same", before, after, "It failed before.")
        )
    if not before.done:
        return Change("new", before, after, "It failed before.")
    if after.refuted and not before.refuted:
        return Change("refuted", before, after, after.guarantee_why)
    guarantees = "" if before.guarantee == after.guarantee else f"Its guarantee was {before.guarantee} and is {after.guarantee}."
    if GUARANTEE_LEVELS.get(after.guarantee, 0) < GUARANTEE_LEVELS.get(before.guarantee, 0):
        return Change("worse", before, after, guarantees)
    if after.accounted > before.accounted:
        return Change("worse", before, after, f"Its accounted ε was {before.accounted:g} and is {after.accounted:g}.")
    one, other = (cell.detail.config.get("versions", {}).get("data") for cell in (before, after))
    if one is not None and other is not None and one != other:
        return Change("other data", before, after, "Its table is not the same one.")
    lost, lost_before = _lost_runs(after), _lost_runs(before)
    if lost > lost_before:
        return Change("worse", before, after, f"{lost} of its runs have no finite error, {lost_before} had none before.")
    threshold = PRACTICAL_SHARE * (distance(before) or 0.0)
    return Change("undecided", before, after, guarantees, compare(before, after, threshold))


def _judged(change: Change, comparison: Comparison) -> Change:
    """Return the change with its verdict, which the corrected comparison decides."""
    verdict: Verdict = "undecided"
    if comparison.separated:
        verdict = "worse" if comparison.difference.value > 0 else "better"
    elif change.why:
        verdict = "other guarantee"
    elif comparison.practically_same:
        verdict = "same"
    return replace(change, verdict=verdict, comparison=comparison)


def _lost_runs(cell: CellRecord) -> int:
    """Return how many runs of a cell have no finite error."""
    errors = cell.detail.runs.get(f"utility/{cell.primary}", np.empty(0))
    return int((~np.isfinite(errors)).sum())
