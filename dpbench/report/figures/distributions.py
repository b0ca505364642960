"""The runs themselves: box plots of a metric, and ROC curves over the runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cbook import boxplot_stats
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dpbench.records.cell_record import CellRecord
from dpbench.report.figures import style
from dpbench.report.figures.axes import scale, ticks
from dpbench.report.figures.lines import BANDS, add_handle, draw_levels, foot, legend, position_text, reference_levels
from dpbench.report.figures.panels import MAX_PANELS, FigureData, Panel, Position, in_rows, position, positions
from dpbench.report.figures.sheet import Sheet
from dpbench.report.formatting import plural
from dpbench.report.labels import problem_title

MAX_VALUES = 12
"""Values of x that have boxes."""
MAX_BOXES = 48
"""Boxes on a panel: more would be too thin to be seen."""
MAX_FIGURE_BOXES = 240
"""Boxes on a figure: more would take too long to draw."""
MIN_BOX_HEIGHT = 0.1
"""Boxes shorter than this fraction of the axis are too flat to read."""


def draw_boxes(data: FigureData, title: str) -> Figure | None:
    """Draw box plots of the runs, curves side by side at each x, or at as many values of x as fit."""
    panels = data.panels(data.cells)[:MAX_PANELS]
    chosen = {id(panel): _fitting_cells(data, panel, len(panels)) for panel in panels}
    if not panels:
        return None
    width = max(3.1, min(5.2, 0.16 * max(map(len, chosen.values())) + 1.0))
    rows = in_rows(panels, data.page)
    sheet = Sheet.of(data.page, [len(row) for row in rows], alone=(max(4.6, width), 3.0), among=(width, 2.6))
    handles: dict[str, Artist] = {}
    boxes = cut = 0
    for axes_row, row in zip(sheet.rows, rows, strict=True):
        drawings = [_draw_panel(data, axes, panel, chosen[id(panel)], handles) for axes, panel in zip(axes_row, row, strict=True)]
        boxes += sum(len(drawing.ends) for drawing in drawings)
        cut += _finish_row(data, sheet, drawings, handles)
    if not boxes:
        return None
    text = "Boxes: quartiles and median of the runs; whiskers: 1.5 times the box; dots: runs beyond."
    text += f" {plural(cut, 'run')} beyond the axis: triangles at its end." if cut else ""
    return sheet.finish(legend(handles, data), title, foot([cell for cells in chosen.values() for cell in cells], text))


@dataclass(frozen=True)
class _Drawing:
    """A panel whose boxes are drawn, and what its scale needs."""

    axes: Axes
    panel: Panel
    x: list[Position]
    ends: list[tuple[float, float]]
    """The ends of the whiskers of each box."""
    outliers: list[tuple[float, float, str]]
    """Runs beyond the whiskers: their place, their value and their colour."""
    levels: Mapping[str, Mapping[Position, float]]


def _fitting_cells(data: FigureData, panel: Panel, panels: int) -> list[CellRecord]:
    """Return the cells at some values of x, evenly picked, so that the boxes stay wide enough to be seen."""
    x = _sorted_positions(data, panel.cells)
    curves = len(data.curves(panel.cells))
    fit = max(2, min(MAX_VALUES, MAX_BOXES // curves, MAX_FIGURE_BOXES // (curves * panels)))
    picked = {x[index] for index in np.linspace(0, len(x) - 1, min(fit, len(x))).round().astype(int)} if x else set()
    return [cell for cell in panel.cells if position(cell, data.spec.x) in picked]


def _sorted_positions(data: FigureData, cells: Sequence[CellRecord]) -> list[Position]:
    at = positions([position(cell, data.spec.x) for cell in cells])
    return sorted(at, key=lambda value: at[value])


def _draw_panel(data: FigureData, axes: Axes, panel: Panel, cells: Sequence[CellRecord], handles: dict[str, Artist]) -> _Drawing:
    """Draw the boxes of a panel."""
    x = _sorted_positions(data, cells)
    group = {value: float(index) for index, value in enumerate(x)}
    curves = data.curves(cells)
    step = 0.82 / len(curves)
    drawing = _Drawing(axes, panel, x, [], [], reference_levels(data, panel))
    for index, (name, members) in enumerate(curves.items()):
        look, shift = data.styles[name], (index - (len(curves) - 1) / 2) * step
        for ranked in (True, False):
            runs = {id(cell): _finite_runs(cell, panel.metric) for cell in members if cell.ranked is ranked}
            if full := [cell for cell in members if len(runs.get(id(cell), ()))]:
                stats = [boxplot_stats(runs[id(cell)])[0] for cell in full]
                centres = [group[position(cell, data.spec.x)] + shift for cell in full]
                _draw_boxes(axes, stats, centres, step * 0.8, look, hollow=not ranked)
                drawing.ends.extend((float(box["whislo"]), float(box["whishi"])) for box in stats)
                drawing.outliers.extend(
                    (at, float(run), look.colour) for at, box in zip(centres, stats, strict=True) for run in box["fliers"]
                )
                add_handle(handles, name, look.patch(name, hollow=not ranked), hollow=not ranked)
    return drawing


def _finish_row(data: FigureData, sheet: Sheet, drawings: Sequence[_Drawing], handles: dict[str, Artist]) -> int:
    """Give the panels of a row one scale, and return how many runs lie beyond it."""
    whiskers = [both for drawing in drawings for both in drawing.ends]
    values = [end for both in whiskers for end in both]
    outliers = [run for drawing in drawings for _, run, _ in drawing.outliers]
    levels = [level for drawing in drawings for over_x in drawing.levels.values() for level in over_x.values()]
    log, cut = "y" in data.spec.log or _flat(whiskers), 0
    for drawing in drawings:
        axes, panel, x = drawing.axes, drawing.panel, drawing.x
        cut = scale(axes, "y", values, ends=outliers, levels=levels, signed=True, log=log)
        draw_levels(axes, drawing.levels, {value: float(index) for index, value in enumerate(x)}, handles)
        _mark_cut_runs(axes, drawing.outliers)
        axes.set_xlim(-0.5, len(x) - 0.5)
        ticks(axes, "x", list(range(len(x))), list(map(position_text, x)))
        axes.grid(visible=False, axis="x")
        for border in range(1, len(x)):
            axes.axvline(border - 0.5, color=style.SETTINGS["grid.color"], linewidth=0.6, zorder=0)
        sheet.name(axes, panel.title, data.label(data.spec.x), data.label(panel.metric))
    return cut


def _flat(ends: Sequence[tuple[float, float]]) -> bool:
    """Return whether most boxes would be dashes on a linear axis."""
    if not ends:
        return False
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    return float(np.median([high - low for low, high in ends])) < MIN_BOX_HEIGHT * (high - low)


def _mark_cut_runs(axes: Axes, runs: Sequence[tuple[float, float, str]]) -> None:
    """Draw a triangle at the end of the axis for each run beyond it."""
    low, high = axes.get_ylim()
    for x, run, colour in runs:
        if not low <= run <= high:
            end, mark = (high, "^") if run > high else (low, "v")
            axes.plot([x], [end], color=colour, marker=mark, markersize=3.5, linestyle="", clip_on=False, zorder=5)


def _finite_runs(cell: CellRecord, metric: str) -> np.ndarray:
    runs = np.asarray(cell.detail.runs.get(metric, ()), dtype=float)
    return np.asarray(runs[np.isfinite(runs)])


def _draw_boxes(
    axes: Axes, stats: Sequence[Any], centres: Sequence[float], width: float, look: style.CurveStyle, *, hollow: bool
) -> None:
    colour = {"color": look.colour}
    dots = {"markeredgecolor": look.colour, "markerfacecolor": look.colour}
    parts: dict[str, Any] = {"boxprops": look.box(hollow=hollow), "whiskerprops": colour, "capprops": colour, "flierprops": dots}
    axes.bxp(stats, centres, widths=width, patch_artist=True, manage_ticks=False, **parts)


def draw_roc(data: FigureData, title: str) -> Figure | None:
    """Draw the mean or median curve over the runs with the band of its runs, and the diagonal that guessing gives."""
    middle = "median" if data.spec.statistic == "median" else "mean"
    names = {id(cell): _curve_name(data, cell, middle) for cell in data.cells}
    panels = data.by_panel([cell for cell in data.cells if names[id(cell)]])[:MAX_PANELS]
    if not panels:
        return None
    columns = data.page.columns(len(panels))
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    sheet = Sheet.of(data.page, [len(row) for row in rows], alone=(3.8, 3.8), among=(3.1, 3.1), square=True)
    handles: dict[str, Artist] = {}
    guessing = style.reference_style("guessing")
    for axes, cells in zip(sheet.axes, panels, strict=True):
        axes.plot([0, 1], [0, 1], **guessing)
        for cell in cells:
            curve, text = cell.detail.curves[names[id(cell)]], data.curve_name(cell)
            look = data.styles[text]
            axes.plot(curve["x"], curve[middle], color=look.colour, linestyle=look.line)
            every = max(1, len(curve["x"]) // 8)
            marks = {"linestyle": "", **look.marks(hollow=not cell.ranked)}
            axes.plot(curve["x"][every // 2 :: every], curve[middle][every // 2 :: every], **marks)
            if data.spec.band == "quantiles" and "p20" in curve:
                axes.fill_between(curve["x"], curve["p20"], curve["p80"], color=look.colour, alpha=0.15, linewidth=0)
            add_handle(handles, text, look.handle(text, hollow=not cell.ranked), hollow=not cell.ranked)
        axes.set(xlim=(0, 1), ylim=(0, 1.02), aspect="equal")
        problem, y_label = problem_title(cells[0], data.spec.panels), data.label(names[id(cells[0])])
        sheet.name(axes, problem, "false positive rate", y_label)
    handles["guessing"] = Line2D([], [], label="guessing", **guessing)
    band = f"Bands: {BANDS['quantiles']}." if data.spec.band == "quantiles" else ""
    return sheet.finish(legend(handles, data), title, foot([cell for cells in panels for cell in cells], band))


def _curve_name(data: FigureData, cell: CellRecord, middle: str) -> str:
    """Return the first curve of the figure's spec that a cell has; an empty name if it has none."""
    curves = cell.detail.curves
    name = next((name for name in data.spec.y or tuple(curves) if "x" in curves.get(name, {})), "")
    return name if middle in curves.get(name, {}) else ""
