"""The runs themselves: box plots of a metric, and ROC curves over the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cbook import boxplot_stats
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dpbench.records.cell_record import CellRecord
from dpbench.records.figure_spec import FigureSpec
from dpbench.report import labels as naming
from dpbench.report.figures import scales, style
from dpbench.report.figures.drawing import BANDS, MOST_PANELS, foot, ordered, places, references, text_of
from dpbench.report.figures.points import Panel, curves, label, panels, place
from dpbench.report.figures.style import CurveStyle

MOST_VALUES = 12
"""So many values of ε at most have boxes."""
MOST_BOXES = 48
"""On a panel: more would be too thin to be seen."""
ALL_BOXES = 240
"""On a figure: more would take longer to draw than they are worth."""
FLAT = 0.1
"""Of the axis: a box with its whiskers that takes less is a dash."""


def boxes(rows: Sequence[CellRecord], plot: FigureSpec, looks: Mapping[str, CurveStyle], title: str) -> Figure | None:
    """Box plots of the runs, curves side by side at each x, or at as many of them as fit."""
    shown = panels(rows, plot)[:MOST_PANELS]
    chosen = [(panel, _chosen(panel, plot, len(shown))) for panel in shown]
    size = (max(3.1, min(5.2, 0.16 * max((len(cells) for _, cells in chosen), default=0) + 1.0)), 2.6)
    figure, grid = style.sheet(len(shown), alone=(max(4.6, size[0]), 3.0), among=size)
    handles: dict[str, Artist] = {}
    found = beyond = 0
    for axes, (panel, cells) in zip(grid, chosen, strict=True):
        drawn, cut = _boxes(axes, panel, cells, plot, looks, handles)
        found, beyond = found + drawn, beyond + cut
    if not found:
        return None
    used = [row for _, cells in chosen for row in cells]
    text = "Boxes: quartiles and median of the runs; whiskers: 1.5 times the box; dots: runs beyond."
    if beyond:
        text += f" {beyond} run{'s' * (beyond > 1)} beyond the axis: triangles at its end."
    return style.finish(figure, ordered(handles, looks), title, foot(used, text))


def _chosen(panel: Panel, plot: FigureSpec, among: int) -> list[CellRecord]:
    """The cells at some of the places, evenly picked, so that the boxes stay wide enough to be seen."""
    at = sorted(places([place(row, plot.x) for row in panel.rows]).items(), key=lambda item: item[1])
    names = len(curves(panel.rows, plot))
    fit = max(2, min(MOST_VALUES, MOST_BOXES // names, ALL_BOXES // (names * among)))
    kept = {at[index][0] for index in np.linspace(0, len(at) - 1, min(fit, len(at))).round().astype(int)} if at else set()
    return [row for row in panel.rows if place(row, plot.x) in kept]


def _boxes(
    axes: Axes,
    panel: Panel,
    cells: Sequence[CellRecord],
    plot: FigureSpec,
    looks: Mapping[str, CurveStyle],
    handles: dict[str, Artist],
) -> tuple[int, int]:
    """Draw a panel; answers how many boxes it has, and how many runs lie beyond its axis."""
    at = sorted(places([place(row, plot.x) for row in cells]).items(), key=lambda item: item[1])
    group = {x: index for index, (x, _) in enumerate(at)}
    found = curves(cells, plot)
    step = 0.82 / len(found)
    ends: list[tuple[float, float]] = []
    beyond: list[tuple[float, float, str]] = []
    for index, (name, some) in enumerate(found.items()):
        for ranked in (True, False):
            here = [(row, _finite(row, panel.metric)) for row in some if row.ranked is ranked]
            full = [(row, runs) for row, runs in here if len(runs)]
            if not full:
                continue
            centres = [group[place(row, plot.x)] + (index - (len(found) - 1) / 2) * step for row, _ in full]
            stats = [boxplot_stats(runs)[0] for _, runs in full]
            _draw(axes, stats, centres, step * 0.8, looks[name], hollow=not ranked)
            ends += [(float(one["whislo"]), float(one["whishi"])) for one in stats]
            colour = looks[name].colour
            beyond += [(x, float(run), colour) for x, one in zip(centres, stats, strict=True) for run in one["fliers"]]
            handles.setdefault(name, looks[name].patch(name, hollow=not ranked))
    levels = references(axes, panel, plot, {x: float(index) for x, index in group.items()}, handles)
    values = [end for both in ends for end in both]
    log = "y" in plot.log or _flat(ends)
    cut = scales.scale(axes, "y", values, ends=[run for _, run, _ in beyond], levels=levels, signed=True, log=log)
    _at_the_end(axes, beyond)
    axes.set_xlim(-0.5, len(group) - 0.5)
    scales.ticks(axes, "x", list(range(len(group))), list(map(text_of, group)))
    axes.grid(visible=False, axis="x")
    for border in range(1, len(group)):
        axes.axvline(border - 0.5, color="#E4E4E4", linewidth=0.6, zorder=0)
    style.title(axes, panel.title)
    axes.set_xlabel(naming.label_of(plot.x))
    style.label_y(axes, naming.label_of(panel.metric))
    return len(ends), cut


def _flat(ends: Sequence[tuple[float, float]]) -> bool:
    """Whether on a linear axis most boxes would be dashes."""
    if not ends:
        return False
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    return float(np.median([high - low for low, high in ends])) < FLAT * (high - low)


def _at_the_end(axes: Axes, runs: Sequence[tuple[float, float, str]]) -> None:
    """A triangle at the end of the axis for each run that lies beyond it."""
    low, high = axes.get_ylim()
    for x, run, colour in runs:
        if not low <= run <= high:
            end, mark = (high, "^") if run > high else (low, "v")
            axes.plot([x], [end], color=colour, marker=mark, markersize=3.5, linestyle="", clip_on=False, zorder=5)


def _finite(row: CellRecord, metric: str) -> np.ndarray:
    runs: np.ndarray = np.asarray(row.detail.runs.get(metric, ()), dtype=float)
    return np.compress(np.isfinite(runs), runs)


def _draw(axes: Axes, stats: Sequence[Any], centres: Sequence[float], width: float, look: CurveStyle, *, hollow: bool) -> None:
    colour = look.colour
    axes.bxp(
        stats,
        centres,
        widths=width,
        patch_artist=True,
        manage_ticks=False,
        boxprops=look.face(hollow=hollow),
        medianprops={"color": "black", "linewidth": 1.3},
        whiskerprops={"color": colour},
        capprops={"color": colour},
        flierprops={"marker": ".", "markersize": 2.5, "markeredgecolor": colour, "markerfacecolor": colour},
    )


def roc(rows: Sequence[CellRecord], plot: FigureSpec, looks: Mapping[str, CurveStyle], title: str) -> Figure | None:
    """The mean or median curve over the runs, with the band of its runs, and the diagonal that guessing gives."""
    found: dict[tuple[str | None, ...], list[tuple[CellRecord, str]]] = {}
    for row in rows:
        name = next((name for name in plot.y or tuple(row.detail.curves) if "x" in row.detail.curves.get(name, {})), None)
        if name is not None and _middle(plot) in row.detail.curves[name]:
            found.setdefault(tuple(row.params.get(key) for key in plot.panels), []).append((row, name))
    if not found:
        return None
    shown = list(found.values())[:MOST_PANELS]
    figure, grid = style.sheet(len(shown), alone=(3.8, 3.8), among=(3.1, 3.1))
    handles: dict[str, Artist] = {}
    for axes, here in zip(grid, shown, strict=True):
        axes.plot([0, 1], [0, 1], color=style.GREY, linestyle=":", linewidth=1)
        for row, name in here:
            curve, text = row.detail.curves[name], label(row, plot)
            look = looks[text]
            line = look.line if row.ranked else ":"
            axes.plot(curve["x"], curve[_middle(plot)], color=look.colour, linestyle=line, linewidth=1.5)
            every = max(1, len(curve["x"]) // 8)
            face = look.colour if row.ranked else "white"
            marks: dict[str, Any] = {"color": look.colour, "marker": look.mark, "markerfacecolor": face, "markersize": 4.5}
            axes.plot(curve["x"][every // 2 :: every], curve[_middle(plot)][every // 2 :: every], linestyle="", **marks)
            if plot.band == "quantiles" and "p20" in curve:
                axes.fill_between(curve["x"], curve["p20"], curve["p80"], color=look.colour, alpha=0.15, linewidth=0)
            handles.setdefault(text, look.handle(text, hollow=not row.ranked, line=line))
        axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="false positive rate", aspect="equal")
        style.title(axes, naming.problem_title(here[0][0], plot.panels))
        style.label_y(axes, naming.label_of(here[0][1]) if here[0][1] in naming.LABELS else "true positive rate")
    handles["guessing"] = Line2D([], [], color=style.GREY, linestyle=":", linewidth=1, label="guessing")
    used = [row for here in shown for row, _ in here]
    about = BANDS["quantiles"] if plot.band == "quantiles" else ""
    return style.finish(figure, ordered(handles, looks), title, foot(used, about))


def _middle(plot: FigureSpec) -> str:
    return "median" if plot.statistic == "median" else "mean"
