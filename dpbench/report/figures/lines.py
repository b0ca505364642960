"""Curves over x, and what every kind of figure has: references, the legend's order, the line of explanation below."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dpbench.records.cell_record import CellRecord
from dpbench.report.figures import style
from dpbench.report.figures.axes import MAX_NAMED_VALUES, inside, scale, ticks
from dpbench.report.figures.hover import Mark, marks
from dpbench.report.figures.panels import FigureData, Panel, Point, Position, in_rows, positions
from dpbench.report.figures.sheet import Sheet, annotate
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


@dataclass(frozen=True)
class _Content:
    """What a panel shows."""

    axes: Axes
    panel: Panel
    curves: Mapping[str, Sequence[Point]]
    levels: Mapping[str, Mapping[Position, float]]

    @property
    def points(self) -> list[Point]:
        return [point for curve in self.curves.values() for point in curve]

    @property
    def placed(self) -> list[list[Point]]:
        """The points of each curve that have a place along the axis."""
        return [[point for point in curve if point.x is not None] for curve in self.curves.values()]


def draw_lines(
    data: FigureData, panels: Sequence[Panel], title: str, *, annotated: str = "", joined: bool = True
) -> tuple[Figure, tuple[Mark, ...]]:
    """Draw curves over x, one set of axes per panel, and return the figure with its points.

    ``annotated`` is a parameter whose value is written next to each point.
    """
    rows = in_rows(panels, data.page)
    sheet = Sheet.of(data.page, [len(row) for row in rows], alone=(4.6, 3.0), among=(3.1, 2.4))
    handles: dict[str, Artist] = {}
    remarks: dict[str, None] = {}
    drawn: list[_Content] = []
    for axes_row, row in zip(sheet.rows, rows, strict=True):
        contents = [_content(data, axes, panel) for axes, panel in zip(axes_row, row, strict=True)]
        drawn += contents
        remarks |= dict.fromkeys(_draw_row(data, sheet, contents, handles, annotated=annotated, joined=joined))
    cells = [cell for panel in panels for cell in panel.cells]
    bands = f"{'Bars' if annotated else 'Bands'}: {band_text(data)}." if band_text(data) else ""
    numbers = f"Next to the points: {label_of(annotated)}." if annotated else ""
    figure = sheet.finish(legend(handles, data), title, foot(cells, bands, numbers, *remarks))
    return figure, marks(point for content in drawn for point in _values(data, content))


def _values(data: FigureData, content: _Content) -> Iterator[tuple[Axes, float, float, str]]:
    """Yield each point of a panel with its values in words."""
    panel = content.panel
    at = positions([point.x for point in content.points])
    for name, curve in content.curves.items():
        for point in curve:
            if point.x is None:
                continue
            ends = "" if math.isnan(point.low) else f" ({band_text(data)}: {point.low:.4g} to {point.high:.4g})"
            epsilon = f" at ε = {point.cell.epsilon:g}" if panel.x != "epsilon" and point.cell.epsilon is not None else ""
            where = f"{data.label(panel.x)} = {position_text(point.x)}"
            yield content.axes, at[point.x], point.y, f"{name}{epsilon}, {where}: {point.y:.4g}{ends}"


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


def _content(data: FigureData, axes: Axes, panel: Panel) -> _Content:
    curves = {name: data.points(cells, panel) for name, cells in data.curves(panel.cells).items()}
    return _Content(axes, panel, curves, reference_levels(data, panel))


def _draw_row(
    data: FigureData, sheet: Sheet, contents: Sequence[_Content], handles: dict[str, Artist], *, annotated: str, joined: bool
) -> list[str]:
    """Draw the panels of a row on one scale, and return what must be said about them."""
    panel = contents[0].panel
    points = [point for content in contents for point in content.points]
    at = positions([point.x for point in points])
    remarks = []
    for content in contents:
        for name, curve in content.curves.items():
            _draw_curve(content, curve, at, data.styles[name], joined=joined)
            if any(not content.panel.excess or point.y > 0 for point in curve):
                hollow = not any(point.cell.ranked for point in curve)
                add_handle(
                    handles, name, data.styles[name].handle(name, hollow=hollow, line=None if joined else ""), hollow=hollow
                )
    for content in contents:
        if _scale_y(data, content.axes, contents):
            remarks.append(f"{'Bands' if joined and panel.x in panel.cells[0].params else 'Bars'} are cut at the axis.")
        _scale_x(data, content.axes, panel, at)
        draw_levels(content.axes, content.levels, at, handles)
    for content in contents:
        axes = content.axes
        sheet.name(axes, content.panel.title, data.label(panel.x), _y_label(data, content.panel))
        if annotated:
            _annotate(axes, content.placed, at, annotated)
        if content.panel.excess and _mark_nothing_lost(data, content, at):
            remarks.append("Triangles at the lower end: no more than the non-private fit.")
        elif joined and _coincide(axes, content.placed, at):
            remarks.append("Where curves coincide, their marks overlap.")
    return remarks


def _y_label(data: FigureData, panel: Panel) -> str:
    if panel.share or panel.excess:
        return "share of the runs" if panel.share else "excess over the non-private fit"
    label = data.label(panel.metric)
    return f"variance of the {label}" if data.spec.statistic == "variance" else label


def _scale_y(data: FigureData, axes: Axes, contents: Sequence[_Content]) -> int:
    """Give a panel the scale of its row, and return how many ends of bands are cut."""
    panel, points = contents[0].panel, [point for content in contents for point in content.points]
    y = [point.y for point in points if not panel.excess or point.y > 0]
    if panel.share:
        top = max(0.05, *y)
        axes.set_ylim(-0.03 * top, 1.03 * top)
        return 0
    ends = [end for point in points for end in (point.low, point.high) if not panel.excess or end > 0]
    levels = [level for content in contents for values in content.levels.values() for level in values.values()]
    signed, whole = not panel.metric.startswith("utility/"), data.spec.band == "quantiles"
    log = "y" in data.spec.log or panel.excess
    return scale(axes, "y", y, ends=ends, levels=levels, signed=signed, log=log, whole=whole) * (not panel.excess)


def _mark_nothing_lost(data: FigureData, content: _Content, at: Mapping[Position, float]) -> bool:
    """Draw a triangle at the lower end of the axis for each point at or below zero, and return whether there is one.

    A point without a place along the axis stands for a level, which begins at the left edge: so does its triangle.
    """
    (left, _), (low, _) = content.axes.get_xlim(), content.axes.get_ylim()
    points = [(point, data.styles[name]) for name, curve in content.curves.items() for point in curve if point.y <= 0]
    for point, look in points:
        x = left if point.x is None else at[point.x]
        content.axes.plot([x], [low], color=look.colour, marker="v", markersize=3.5, linestyle="", clip_on=False, zorder=5)
    return bool(points)


def _coincide(axes: Axes, curves: Sequence[Sequence[Point]], at: Mapping[Position, float]) -> bool:
    """Return whether marks of two curves cannot be told apart."""
    marks = [[inside(axes, at[point.x], point.y) for point in curve] for curve in curves]
    return any(
        max(abs(x - other_x), abs(y - other_y)) < MIN_MARK_DISTANCE
        for one, other in combinations(marks, 2)
        for x, y in one
        for other_x, other_y in other
    )


def _draw_curve(
    content: _Content, curve: Sequence[Point], at: Mapping[Position, float], look: CurveStyle, *, joined: bool
) -> None:
    axes, points = content.axes, [point for point in curve if point.x is not None]
    if not points:
        level = float(np.median([point.y for point in curve]))
        axes.axhline(level, color=look.colour, linestyle=look.line)
        return
    x = [at[point.x] for point in points]
    y, low, high = ([getattr(point, name) for point in points] for name in ("y", "low", "high"))
    if content.panel.excess:  # a logarithmic axis has no place for the others
        y = [value if value > 0 else math.nan for value in y]
    if joined:
        axes.plot(x, y, color=look.colour, linestyle=look.line, zorder=3)
    # hollow marks are larger and below, so that they show as a rim around filled ones
    full_size = float(rcParams["lines.markersize"])
    for ranked, size, order in ((True, full_size, 4.5), (False, 1.3 * full_size, 4.0)):
        members = [index for index, point in enumerate(points) if point.cell.ranked is ranked]
        if members:
            marks = {"linestyle": "", "markersize": size, "zorder": order, **look.marks(hollow=not ranked)}
            axes.plot([x[index] for index in members], [y[index] for index in members], **marks)
    if all(map(math.isnan, low)):
        return
    if joined and len(x) > 1 and all(left < right for left, right in pairwise(x)):
        axes.fill_between(x, low, high, color=look.colour, alpha=0.15, linewidth=0, zorder=2)
    else:
        axes.vlines(x, low, high, color=look.colour, alpha=0.5, linewidth=1.2, zorder=2)


def reference_levels(data: FigureData, panel: Panel) -> dict[str, Mapping[Position, float]]:
    """Return the level lines of a panel by their labels: values over x."""
    return {**{reference(name): values for name, values in data.references(panel).items()}, **panel.levels}


def draw_levels(
    axes: Axes, levels: Mapping[str, Mapping[Position, float]], at: Mapping[Position, float], handles: dict[str, Artist]
) -> None:
    """Draw the level lines that the scale of a panel shows."""
    low, high = axes.get_ylim()
    for text, values in levels.items():
        look = style.reference_style(text)
        steps = sorted((at.get(x, 0.0), level) for x, level in values.items())
        if not any(low <= level <= high for _, level in steps):
            continue
        if len({level for _, level in steps}) == 1:
            axes.axhline(steps[0][1], **look)
        else:
            axes.plot([x for x, _ in steps], [level for _, level in steps], **look)
        add_handle(handles, text, Line2D([], [], label=text, **look))


def add_handle(handles: dict[str, Artist], name: str, handle: Artist, *, hollow: bool = False) -> None:
    """Add an entry to the legend: a filled one replaces a hollow one of another panel."""
    if name not in handles or not hollow:
        handles[name] = handle


def _scale_x(data: FigureData, axes: Axes, panel: Panel, at: Mapping[Position, float]) -> None:
    names = sorted(at.items(), key=lambda item: item[1])
    x = [place for _, place in names]
    if any(isinstance(value, str) for value in at):
        axes.set_xlim(x[0] - 0.3, x[-1] + 0.3)
        ticks(axes, "x", x, [position_text(value) for value, _ in names])
        return
    scale(axes, "x", x, log="x" in data.spec.log)
    if "/" not in panel.x and len(x) <= MAX_NAMED_VALUES:
        ticks(axes, "x", x, [position_text(value) for value, _ in names])


def position_text(value: Position) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _annotate(axes: Axes, curves: Sequence[Sequence[Point]], at: Mapping[Position, float], key: str) -> None:
    """Write a parameter next to each point, or, if there are many, next to the ends of the curves; no text covers another."""
    few = sum(map(len, curves)) <= MAX_ANNOTATED_POINTS
    taken: list[tuple[float, float]] = []
    for curve in curves:
        for index, point in enumerate(curve):
            across, up = inside(axes, at[point.x], point.y)
            free = all(abs(across - x) > MIN_TEXT_DISTANCE[0] or abs(up - y) > MIN_TEXT_DISTANCE[1] for x, y in taken)
            wanted = key != "epsilon" or point.cell.private  # without privacy there is no ε
            if wanted and free and (few or index in (0, len(curve) - 1)):
                taken.append((across, up))
                offset, side = ((-4, 4), "right") if across > 0.9 else ((4, 4), "left")
                annotate(axes, point.cell.params.get(key, ""), (at[point.x], point.y), offset, ha=side, color=style.GREY)
