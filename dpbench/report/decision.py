"""The decision that a sweep supports: for each problem and ε the best mechanism, what privacy costs, and which row to pick.

A *pick* is the best cell at the smallest ε at which privacy costs little. A sweep without such an ε picks where it costs least.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpbench.records.cell_record import CellRecord, label
from dpbench.records.names import INTERVAL_METHOD
from dpbench.report.formatting import listed, number
from dpbench.report.leaderboards import MOST_RUNS, Board, Group, Level, lost_everything, nothing_to_learn, share_lost

ACCEPTABLE_LOSS = 0.1
"""Privacy costs little up to this share of the way from the fit without privacy to always predicting the mean."""
MAX_FAILED_SHARE = 0.01
"""A pick, and what `choose` calls safe, loses everything in at most this share of the runs, where anything does."""
EXACT_BELOW = 11.0
"""Percentages below this have a decimal: next to the acceptable loss, a whole number could say the opposite."""
MAX_NAMES = 3
"""A row names this many mechanisms that are as good as the best, and counts the others."""
COVERAGE = "inference/coverage_mean"
WIDTH_RATIO = "inference/width_ratio_median"
OVERLAP = "inference/overlap_mean"
MIN_OVERLAP = 0.25
"""Intervals that overlap less with those without privacy are about something else: their widths are not compared."""


@dataclass(frozen=True)
class Decision:
    """One row of the decision table: a problem at one accounted ε, and the cells that may be compared there."""

    board: Board
    level: Level
    group: Group
    """Without cells that have an error if none may be ranked."""

    @property
    def best(self) -> CellRecord | None:
        """The cell with the lowest error; None if none may be ranked."""
        return self.group.best if self.group.cells else None

    @property
    def lost(self) -> float | None:
        """The share of the way from the fit without privacy to the mean predictor that the best cell loses."""
        return share_lost(self.best) if self.best else None

    @property
    def failed(self) -> float:
        """The share of the best cell's runs that lost everything."""
        return self.best.failed_share if self.best else 0.0

    @property
    def epsilon(self) -> str:
        """The accounted ε, with the δ at which it holds and with what distinguishes the group."""
        if not math.isfinite(self.level.accounted):
            return "infinite"
        deltas = listed((f"{delta:g}" for delta in self._deltas), "or")
        marks = ", ".join(filter(None, [f"δ = {deltas}" if self._deltas else "", self._mark]))
        return f"{self.level.accounted:g}" + (f" ({marks})" if marks else "")

    @property
    def _deltas(self) -> list[float]:
        return sorted({place.delta for place in self.group.places if place.delta})

    @property
    def _mark(self) -> str:
        return ", ".join(part for part in self.group.mark.split(", ") if part and not part.startswith("δ"))

    @property
    def verdict(self) -> str:
        """The best mechanism, or those between which nothing decides."""
        best, contest = self.best, self.group.contest
        if best is None:
            return self._unranked
        if nothing_to_learn(best):
            return "none: the features tell nothing"
        if lost_everything(best):
            return f"none: {label(best)} lost everything in {percent(self.failed)} of its runs"
        if contest is None or contest.winner is not None:
            return label(best)
        if contest.undecided:
            cells = (best, *(comparison.second for comparison in contest.undecided))
            return f"not decided: {listed(map(_with_error, sorted(cells, key=_error)), most=MAX_NAMES)}"
        return f"practically the same: {_names(best, *contest.practically_same)}"

    @property
    def _unranked(self) -> str:
        """Return why no cell may be ranked."""
        if self.group.places and all(place.cell.ranked for place in self.group.places):
            return "none: no run gave a finite error"
        cells = [place.cell for place in self.level.others]
        reasons = listed((f"{label(cell)} is {cell.guarantee}" for cell in cells), most=MAX_NAMES)
        return f"none: {reasons}"

    @property
    def intervals(self) -> str:
        """How wide the coefficients' intervals are against those without privacy, and how often they cover if that is known."""
        cell = self.best
        if cell is None or INTERVAL_METHOD not in cell.tags or WIDTH_RATIO not in cell.metrics:
            return "none"
        if cell.metrics.get(OVERLAP, 1.0) < MIN_OVERLAP:
            return f"elsewhere: the overlap with those without privacy is {cell.metrics[OVERLAP]:.2g}"
        covered = f", {100 * cell.metrics[COVERAGE]:.0f} % cover" if COVERAGE in cell.metrics else ""
        return f"{float(f'{cell.metrics[WIDTH_RATIO]:.2g}'):,g} times as wide{covered}"


def _error(cell: CellRecord) -> float:
    error = cell.error()
    return math.inf if error is None else error


def _with_error(cell: CellRecord) -> str:
    return f"{label(cell)} ({number(cell.error(), '–')})"


def _names(*cells: CellRecord) -> str:
    return listed(sorted(map(label, cells)), most=MAX_NAMES)


def decisions(board: Board) -> list[Decision]:
    """Return the rows of one problem: one for each accounted ε and group of cells that may be compared.

    An ε at which nothing may be ranked has a row that says so; what no ε covers has one only if there is no other.
    """
    rows = []
    for level in board.levels:
        if level.groups:
            rows += [Decision(board, level, group) for group in level.groups]
        elif math.isfinite(level.accounted):
            rows.append(Decision(board, level, Group(())))
    return rows or [Decision(board, board.levels[0], Group(()))]


def pick(rows: Sequence[Decision]) -> Decision | None:
    """Return the row of one problem that a reader would pick; None if no private fit beats the mean predictor.

    A row whose proof was replayed comes before one with a claim, and among those one of which hardly any run lost everything.
    """
    useful = [row for row in rows if row.best is not None and row.lost is not None and row.lost < 1 and row.failed <= MOST_RUNS]
    useful = [row for row in useful if row.best is not None and row.best.sound] or useful
    useful = [row for row in useful if row.failed <= MAX_FAILED_SHARE] or useful
    cheap = [row for row in useful if (row.lost or 0.0) <= ACCEPTABLE_LOSS]
    if cheap:
        return min(cheap, key=lambda row: (row.level.accounted, row.lost or 0.0))
    return min(useful, key=lambda row: row.lost or 0.0, default=None)


def percent(share: float | None, missing: str = "–") -> str:
    """Return a share as a percentage with about two digits; what would round to zero has no minus sign."""
    if share is None:
        return missing
    value = round(100 * share, 1) + 0.0  # adding 0.0 makes -0.0 a plain zero
    return f"{value:,.0f} %" if abs(value) >= EXACT_BELOW else f"{value:.1f} %"
