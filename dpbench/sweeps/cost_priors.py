"""Priors: how long kinds of work took on another machine. scripts/costs.py measured them, and they ship as a CSV file."""

import csv
import hashlib
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

Piece = Literal["cell", "attack", "references", "audit"]

FILE = Path(__file__).with_name("cost_priors.csv")
UNKNOWN_SECONDS = 0.01
"""What a piece of work is taken to last if nothing like it was ever measured."""
SHORTEST_SECONDS = 1e-6
MAX_GROWTH = {"rows": 1.0, "columns": 3.0}
"""The largest power of a table's size with which seconds are taken to grow beyond the sizes that were measured."""


@dataclass(frozen=True)
class TableSize:
    """What the cost of a cell depends on in its table."""

    rows: int
    columns: int
    """The dimension of the model's weights."""


@dataclass(frozen=True)
class MeasuredSize:
    """The measured seconds of one kind of work on one size of table."""

    size: TableSize
    seconds: float
    """Those that do not depend on the number of runs."""
    seconds_per_run: float

    def total(self, runs: int) -> float:
        return max(SHORTEST_SECONDS, self.seconds + runs * self.seconds_per_run)


class Priors:
    """Predicts seconds from measured points, between sizes by their logarithms."""

    def __init__(self, points: Mapping[tuple[Piece, str, str], Sequence[MeasuredSize]]) -> None:
        self._points = points
        self._cache: dict[tuple[Piece, str, str, TableSize, int], float] = {}

    def seconds(self, piece: Piece, name: str, model: str, size: TableSize, runs: int) -> float:
        """Return the predicted seconds of a component's work.

        A component that was never measured is taken for a typical one on the model, or else on any model.
        """
        key = piece, name, model, size, runs
        if key not in self._cache:
            curves = self._similar(piece, name, model)
            seconds = [_interpolated(points, size, runs) for points in curves]
            self._cache[key] = statistics.median(seconds) if seconds else UNKNOWN_SECONDS
        return self._cache[key]

    def _similar(self, piece: Piece, name: str, model: str) -> list[Sequence[MeasuredSize]]:
        """Return the points of this name and model, or of those that are most like them."""
        if (points := self._points.get((piece, name, model))) is not None:
            return [points]
        of_piece = {key[1:]: points for key, points in self._points.items() if key[0] == piece}
        same_name = [points for (other, _), points in of_piece.items() if other == name]
        same_model = [points for (_, other), points in of_piece.items() if other == model]
        return same_name or same_model or list(of_piece.values())


def _interpolated(points: Sequence[MeasuredSize], size: TableSize, runs: int) -> float:
    """Return the seconds at a size: first between the numbers of columns at each number of rows, then between these."""
    by_rows: dict[int, dict[float, float]] = defaultdict(dict)
    for point in points:
        by_rows[point.size.rows][math.log(point.size.columns)] = math.log(point.total(runs))
    columns = math.log(size.columns)
    at_columns = {math.log(rows): _at_columns(rows, by_rows, columns) for rows in by_rows}
    return math.exp(_on_line(at_columns, math.log(size.rows), MAX_GROWTH["rows"]))


def _at_columns(rows: int, by_rows: Mapping[int, Mapping[float, float]], columns: float) -> float:
    """Return the value at a number of columns. With one measured number alone, it grows as with the nearest number of rows."""
    line = by_rows[rows]
    several = [other for other in by_rows if len(by_rows[other]) > 1]
    if len(line) > 1 or not several:
        return _on_line(line, columns, MAX_GROWTH["columns"])
    nearest = by_rows[min(several, key=lambda other: abs(math.log(other / rows)))]
    ((measured, value),) = line.items()
    grown, start = (_on_line(nearest, place, MAX_GROWTH["columns"]) for place in (columns, measured))
    return value + grown - start


def _on_line(line: Mapping[float, float], x: float, max_slope: float) -> float:
    """Return the value at x between the two nearest known ones; beyond the known ones the slope is bounded."""
    known = sorted(line)
    if len(known) == 1:
        return line[known[0]]
    right = min(max(sum(place < x for place in known), 1), len(known) - 1)
    low, high = known[right - 1], known[right]
    slope = (line[high] - line[low]) / (high - low)
    if low <= x <= high:
        return line[low] + slope * (x - low)
    start = low if x < low else high
    return line[start] + min(max(slope, 0.0), max_slope) * (x - start)


@cache
def shipped_priors() -> Priors:
    """Return the priors that ship with dpbench."""
    return read_priors(FILE.read_text(encoding="utf-8").splitlines())


@cache
def priors_digest() -> str:
    """Return a digest of the shipped file: measured times are kept as ratios to it."""
    return hashlib.sha256(FILE.read_bytes()).hexdigest()[:12]


def read_priors(lines: Iterable[str]) -> Priors:
    """Return the priors of a file that scripts/costs.py wrote."""
    points: dict[tuple[Piece, str, str], list[MeasuredSize]] = defaultdict(list)
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        size = TableSize(int(row["rows"]), int(row["columns"]))
        piece: Piece = row["what"]  # type: ignore[assignment]  # the script writes no other word
        points[piece, row["name"], row["model"]].append(MeasuredSize(size, float(row["seconds"]), float(row["seconds_per_run"])))
    return Priors(dict(points))
