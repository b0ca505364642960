"""Curves over x, and what every kind of figure has: references, the legend's order, the line of explanation below."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dpbench.records.cell_record import CellRecord
from dpbench.report.figures import style
from dpbench.report.figures.panels import FigureData, Panel, Point, Position, positions
from dpbench.report.figures.style import CurveStyle
from dpbench.report.formatting import listed
from dpbench.report.labels import label_of, reference, shortened

MAX_ANNOTATED_POINTS = 14
"""With more points on a panel, only those at the ends of the curves are annotated."""
MIN_MARK_DISTANCE = 0.01
"""Marks closer to each other than this share of the axis look like one."""
MIN_TEXT_DISTANCE = (0.07, 0.05)
"""Annotations closer than these shares of the axes would overlap."""
BANDS = {"quantiles": "20-80 % of the runs", "confidence": "95 % interval of the mean"}


def draw_lines(data: FigureData, panels: Sequence[Panel], title: str, *, annotated: str = "", joined: bool = True) -> Figure:
    """Draw curves over x, one set of axes per panel; ``annotated`` is a parameter whose value is written next to each point."""
    figure, grid = style.sheet(len(panels), alone=(4.6, 3.0), among=(3.1, 2.4))
    handles: dict[str, Artist] = {}
    remarks: dict[str, None] = {}
    for axes, panel in zip(grid, panels, strict=True):
        remarks |= dict.fromkeys(_draw_panel(data, axes, panel, handles, annotated=annotated, joined=joined))
    cells = [cell for panel in panels for cell in panel.cells]
    bands = f"{'Bars' if annotated else 'Bands'}: {band_text(data)}." if band_text(data) else ""
    numbers = f"Next to the points: {label_of(annotated)}." if annotated else ""
    return style.finish(figure, legend(handles, data), title, foot(cells, bands, numbers, *remarks))


def band_text(data: FigureData) -> str:
    """Return what the shaded bands are; an empty text if there are none."""
    return BANDS[data.spec.band] if data.spec.band and data.spec.statistic != "variance" else ""


def legend(handles: Mapping[str, Artist], data: FigureData) -> list[Artist]:
    """Return the curves in the order of the sweep, then the references."""
    names = list(dict.fromkeys([*(name for name in data.styles if name in handles), *handles]))
    for name, text in shortened(names).items():
        handles[name].set_label(text)
    return [handles[name] for name in names]


def foot(cells: Sequence[CellRecord], *sentences: str) -> str:
    """Return what a figure says about itself wherever it is shown."""
    generated = [cell.params["dataset"] for cell in cells if cell.synthetic]
    synthetic = f"SYNTHETIC data: {listed(generated, most=6)}." if generated else ""
    hollow = "" if all(cell.ranked for cell in cells) else "Hollow: not private, unproven or leaking."
    return " ".join(filter(None, [synthetic, *sentences, hollow]))


def _draw_panel(
    data: FigureData, axes: Axes, panel: Panel, handles: dict[str, Artist], *, annotated: str, joined: bool
) -> list[str]:
    """Draw a panel, and return what must be said about it."""
    curves = {name: data.points(cells, panel.metric) for name, cells in data.curves(panel.cells).items()}
    points = [point for curve in curves.values() for point in curve]
    at = positions([point.x for point in points])
    for name, curve in curves.items():
        look = data.styles[name]
        if placed := [point for point in curve if point.x is not None]:
            _draw_curve(axes, placed, [at[point.x] for point in placed], look, joined=joined)
        else:
            level = float(np.median([point.y for point in curve]))
            axes.axhline(level, color=look.colour, linestyle=look.line, linewidth=1.3)
        hollow = not any(point.cell.ranked for point in curve)
        handles.setdefault(name, look.handle(name, hollow=hollow, line=None if joined else ""))
    levels = draw_references(data, axes, panel, at, handles)
    y, cut = [point.y for point in points], 0
    if panel.share:
        top = max(0.05, *y)
        axes.set_ylim(-0.03 * top, 1.03 * top)
    else:
        ends = [end for point in points for end in (point.low, point.high)]
        signed, whole = not panel.metric.startswith("utility/"), data.spec.band == "quantiles"
        cut = style.scale(axes, "y", y, ends=ends, levels=levels, signed=signed, log="y" in data.spec.log, whole=whole)
    _scale_x(data, axes, at)
    placed_curves = [[point for point in curve if point.x is not None] for curve in curves.values()]
    if annotated:
        _annotate(axes, placed_curves, at, annotated)
    label = "share of the runs" if panel.share else data.label(panel.metric)
    style.name_panel(axes, panel.title, f"variance of the {label}" if data.spec.statistic == "variance" else label)
    axes.set_xlabel(data.label(data.spec.x))
    bands = "Bands" if joined and data.spec.x in panel.cells[0].params else "Bars"
    remarks = [f"{bands} are cut at the axis."] if cut else []
    return [*remarks, "Where curves coincide, their marks overlap."] if joined and _coincide(axes, placed_curves, at) else remarks


def _coincide(axes: Axes, curves: Sequence[Sequence[Point]], at: Mapping[Position, float]) -> bool:
    """Return whether marks of two curves cannot be told apart."""
    marks = [[style.inside(axes, at[point.x], point.y) for point in curve] for curve in curves]
    return any(
        max(abs(x - other_x), abs(y - other_y)) < MIN_MARK_DISTANCE
        for one, other in combinations(marks, 2)
        for x, y in one
        for other_x, other_y in other
    )


def _draw_curve(axes: Axes, points: Sequence[Point], x: Sequence[float], look: CurveStyle, *, joined: bool) -> None:
    y, low, high = ([getattr(point, name) for point in points] for name in ("y", "low", "high"))
    if joined:
        axes.plot(x, y, color=look.colour, linestyle=look.line, linewidth=1.4, zorder=3)
    # hollow marks are larger and below, so that they show as a rim around filled ones
    for ranked, face, size, order in ((True, look.colour, 5.0, 4.5), (False, "white", 6.5, 4.0)):
        members = [index for index, point in enumerate(points) if point.cell.ranked is ranked]
        marks: dict[str, Any] = {"color": look.colour, "marker": look.mark, "markerfacecolor": face, "markersize": size}
        if members:
            axes.plot([x[index] for index in members], [y[index] for index in members], linestyle="", zorder=order, **marks)
    if all(map(math.isnan, low)):
        return
    if joined and len(x) > 1 and all(left < right for left, right in pairwise(x)):
        axes.fill_between(x, low, high, color=look.colour, alpha=0.15, linewidth=0, zorder=2)
    else:
        axes.vlines(x, low, high, color=look.colour, alpha=0.5, linewidth=1.2, zorder=2)


def draw_references(
    data: FigureData, axes: Axes, panel: Panel, at: Mapping[Position, float], handles: dict[str, Artist]
) -> list[float]:
    """Draw the level lines of a panel, and return their values."""
    levels = {**{reference(name): values for name, values in data.references(panel).items()}, **panel.levels}
    for index, (text, values) in enumerate(levels.items()):
        line = style.REFERENCE_LINES[index % len(style.REFERENCE_LINES)]
        look: dict[str, Any] = {"color": style.GREY, "linestyle": line, "linewidth": 1.0}
        steps = sorted((at.get(x, 0.0), level) for x, level in values.items())
        if len({level for _, level in steps}) == 1:
            axes.axhline(steps[0][1], **look)
        else:
            axes.plot([x for x, _ in steps], [level for _, level in steps], **look)
        handles.setdefault(text, Line2D([], [], label=text, **look))
    return [level for values in levels.values() for level in values.values()]


def _scale_x(data: FigureData, axes: Axes, at: Mapping[Position, float]) -> None:
    names = sorted(at.items(), key=lambda item: item[1])
    x = [place for _, place in names]
    if any(isinstance(value, str) for value in at):
        style.ticks(axes, "x", x, [position_text(value) for value, _ in names])
        return
    style.scale(axes, "x", x, log="x" in data.spec.log)
    if "/" not in data.spec.x and len(x) <= style.MAX_NAMED_VALUES:
        style.ticks(axes, "x", x)


def position_text(value: Position) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _annotate(axes: Axes, curves: Sequence[Sequence[Point]], at: Mapping[Position, float], key: str) -> None:
    """Write a parameter next to each point, or, if there are many, next to the ends of the curves; no text covers another."""
    few = sum(map(len, curves)) <= MAX_ANNOTATED_POINTS
    taken: list[tuple[float, float]] = []
    for curve in curves:
        for index, point in enumerate(curve):
            across, up = style.inside(axes, at[point.x], point.y)
            free = all(abs(across - x) > MIN_TEXT_DISTANCE[0] or abs(up - y) > MIN_TEXT_DISTANCE[1] for x, y in taken)
            wanted = key != "epsilon" or point.cell.private  # without privacy there is no ε
            if wanted and free and (few or index in (0, len(curve) - 1)):
                taken.append((across, up))
                offset, side = ((-4, 4), "right") if across > 0.9 else ((4, 4), "left")
                style.annotate(axes, point.cell.params.get(key, ""), (at[point.x], point.y), offset, ha=side, color=style.GREY)
