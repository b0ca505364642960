"""From rows to what is drawn: which rows make a curve and a panel, and where their numbers stand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dpbench.records.cell_record import CellRecord
from dpbench.records.figure_spec import FigureSpec
from dpbench.report import labels as naming

ENDS = {"quantiles": ("p20", "p80"), "confidence": ("ci_low", "ci_high")}


@dataclass(frozen=True)
class Panel:
    """Rows that share axes, and the metric that they show."""

    title: str
    rows: tuple[CellRecord, ...]
    metric: str
    share: bool = False
    """Whether it is a share of the runs, with an axis from 0."""
    across: Mapping[str, Mapping[float | str | None, float]] = field(default_factory=dict)
    """Further level lines by their names, over x."""


@dataclass(frozen=True)
class PlottedPoint:
    """A cell on a panel: NaN where it has no such number, and no place where it has no such x."""

    row: CellRecord
    x: float | str | None
    y: float
    low: float
    high: float


def named(rows: Sequence[CellRecord], plot: FigureSpec) -> FigureSpec:
    """The plot with all that tells its cells apart among its curves, so that no curve has two values at one place."""
    known = (*plot.curves, *plot.panels, plot.x)
    along = () if not plot.x or any(plot.x in row.params for row in rows) else ("epsilon",)
    more = [key for key in varying(rows) if key not in (*known, *along) and not key.startswith("mechanism.")]
    return replace(plot, curves=(*plot.curves, *more))


def varying(rows: Sequence[CellRecord]) -> list[str]:
    """The parameters with more than one value."""
    keys = dict.fromkeys(key for row in rows for key in row.params)
    return [key for key in keys if len({row.params.get(key) for row in rows}) > 1]


def once(rows: Sequence[CellRecord]) -> list[CellRecord]:
    """Without the cells that differ by their attack alone: they are the same fits."""
    found: dict[tuple[tuple[str, str], ...], CellRecord] = {}
    for row in rows:
        fitted = ((key, value) for key, value in row.params.items() if key.partition(".")[0] != "attack")
        found.setdefault(tuple(fitted), row)
    return list(found.values())


def label(row: CellRecord, plot: FigureSpec) -> str:
    """The name of the row's curve: its mechanism with the options that the sweep varied, and what else makes a curve."""
    used = (*plot.panels, plot.x)
    options = [key for key in row.params if key.startswith("mechanism.") and key not in (*used, *plot.curves)]
    parts = [naming.setting(key, row.params[key]) for key in plot.curves if key in row.params]
    own = ", ".join(naming.setting(key, row.params[key]) for key in options)
    if own and plot.curves[:1] == ("mechanism",):
        parts[0] += f" ({own})"
    elif own:
        parts.append(own)
    return ", ".join(parts)


def parts(rows: Sequence[CellRecord], plot: FigureSpec) -> dict[str, tuple[str, str]]:
    """Of each curve its mechanism, with options, and what else makes it a curve of its own."""
    alone = replace(plot, curves=("mechanism",))
    rest = [key for key in plot.curves if key != "mechanism"]
    return {label(row, plot): (label(row, alone), " ".join(row.params.get(key, "") for key in rest)) for row in rows}


def curves(rows: Sequence[CellRecord], plot: FigureSpec) -> dict[str, list[CellRecord]]:
    """The rows of each curve, in the order of the sweep."""
    found: dict[str, list[CellRecord]] = {}
    for row in rows:
        found.setdefault(label(row, plot), []).append(row)
    return found


def panels(rows: Sequence[CellRecord], plot: FigureSpec) -> list[Panel]:
    """The rows of each panel that have one of the plot's metrics."""
    found: dict[tuple[str | None, ...], list[CellRecord]] = {}
    for row in rows:
        found.setdefault(tuple(row.params.get(key) for key in plot.panels), []).append(row)
    made = []
    for here in found.values():
        names = plot.y or (f"utility/{here[0].primary}",)
        metric = next((name for name in names if any(_number(row, name, plot) is not None for row in here)), None)
        if metric is not None:
            some = tuple(row for row in here if _number(row, metric, plot) is not None)
            made.append(Panel(naming.problem_title(here[0], plot.panels), some, metric))
    return made


def points(rows: Sequence[CellRecord], metric: str, plot: FigureSpec) -> list[PlottedPoint]:
    """A curve's points from left to right; where x is a metric, from the smallest ε to the largest."""
    found = [_point(row, metric, plot) for row in rows]
    if all(plot.x in row.params for row in rows) and all(isinstance(point.x, float) for point in found):
        return sorted(found, key=lambda point: point.x if isinstance(point.x, float) else 0.0)
    return sorted(found, key=lambda point: point.row.epsilon) if plot.x not in rows[0].params else found


def _point(row: CellRecord, metric: str, plot: FigureSpec) -> PlottedPoint:
    y = _number(row, metric, plot)
    low = high = math.nan
    if plot.band is not None and plot.statistic != "variance":
        low, high = (row.metrics.get(f"{metric}_{end}", math.nan) for end in ENDS[plot.band])
    return PlottedPoint(row, place(row, plot.x), math.nan if y is None else y, low, high)


def place(row: CellRecord, x: str) -> float | str | None:
    """Where a cell stands: a number, the text of a parameter that is none, or nowhere."""
    text = row.params.get(x)
    if text is None:
        return row.metric(x)
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def levels(panel: Panel, plot: FigureSpec) -> dict[str, dict[float | str | None, float]]:
    """The references over x: none that differs between the curves, and so belongs to one of them."""
    owner, _, metric = panel.metric.partition("/")
    usual = tuple(f"reference/{name}/{metric}" for name in naming.REFERENCES) if owner == "utility" else ()
    found = {}
    for name in usual if plot.references is None else plot.references:
        at: dict[float | str | None, set[float]] = {}
        for row in panel.rows:
            if (level := _number(row, name, plot)) is not None and (x := _along(row, plot)) is not None:
                at.setdefault(x, set()).add(float(f"{level:.6g}"))
        if at and all(len(values) == 1 for values in at.values()):
            found[name] = {x: values.pop() for x, values in at.items()}
    return found


def _along(row: CellRecord, plot: FigureSpec) -> float | str | None:
    """Where a reference belongs: along a metric it is a level."""
    return place(row, plot.x) if plot.x in row.params else 0.0


def _number(row: CellRecord, metric: str, plot: FigureSpec) -> float | None:
    if plot.statistic != "variance":
        return row.metric(metric, plot.statistic)
    deviation = row.metrics.get(f"{metric}_std")
    return None if deviation is None else deviation**2
