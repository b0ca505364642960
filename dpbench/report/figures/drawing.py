"""Curves over x, and what every form of figure has: references, legend, the line below."""

from __future__ import annotations

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
from dpbench.records.figure_spec import FigureSpec
from dpbench.report import labels as naming
from dpbench.report.figures import scales, style
from dpbench.report.figures.points import Panel, PlottedPoint, curves, levels, points
from dpbench.report.figures.style import CurveStyle
from dpbench.report.wording import listed

MOST_PANELS = 9
WRITTEN = 14
"""Up to so many points on a panel each has its ε beside it, above that the ends of the curves."""
HOLLOW = "Hollow: not private, unproven or leaking."
CUT = "are cut at the axis."
TOGETHER = 0.01
"""Marks nearer to each other than this share of the axis look like one."""
COINCIDE = "Where curves coincide their marks lie on each other."
BANDS = {"quantiles": "Bands: 20-80 % of the runs.", "confidence": "Bands: 95 % interval of the mean.", None: ""}


def lines(
    shown: Sequence[Panel],
    plot: FigureSpec,
    looks: Mapping[str, CurveStyle],
    title: str,
    *,
    written: str = "",
    joined: bool = True,
    about: str | None = None,
) -> Figure:
    """Curves over x, one set of axes a panel; ``written`` is a parameter whose value stands beside each point."""
    figure, grid = style.sheet(len(shown), alone=(4.6, 3.0), among=(3.1, 2.4))
    handles: dict[str, Artist] = {}
    said: dict[str, None] = {}
    for axes, panel in zip(grid, shown, strict=True):
        said |= dict.fromkeys(_lines(axes, panel, plot, looks, handles, written=written, joined=joined))
    rows = [row for panel in shown for row in panel.rows]
    return style.finish(figure, ordered(handles, looks), title, foot(rows, band(plot) if about is None else about, *said))


def band(plot: FigureSpec) -> str:
    """What the shaded bands are."""
    return "" if plot.statistic == "variance" else BANDS[plot.band]


def ordered(handles: Mapping[str, Artist], looks: Mapping[str, CurveStyle]) -> list[Artist]:
    """The curves in the order of the sweep, then the references."""
    names = list(dict.fromkeys([*(name for name in looks if name in handles), *handles]))
    for name, text in naming.shortened(names).items():
        handles[name].set_label(text)
    return [handles[name] for name in names]


def foot(rows: Sequence[CellRecord], *sentences: str) -> str:
    """What the picture says of itself, wherever it is shown."""
    hollow = HOLLOW if not all(row.ranked for row in rows) else ""
    drawn = [row.params["dataset"] for row in rows if row.synthetic]
    synthetic = f"SYNTHETIC data: {listed(drawn)}." if drawn else ""
    return " ".join(filter(None, [synthetic, *sentences, hollow]))


def _lines(
    axes: Axes,
    panel: Panel,
    plot: FigureSpec,
    looks: Mapping[str, CurveStyle],
    handles: dict[str, Artist],
    *,
    written: str,
    joined: bool,
) -> list[str]:
    """Draw a panel, and answer with what must be said of it."""
    found = {name: points(rows, panel.metric, plot) for name, rows in curves(panel.rows, plot).items()}
    everything = [point for some in found.values() for point in some]
    at = places([point.x for point in everything])
    for name, some in found.items():
        here = [point for point in some if point.x is not None]
        if here:
            _curve(axes, here, [at[point.x] for point in here], looks[name], joined=joined)
        else:
            level = float(np.median([point.y for point in some]))
            axes.axhline(level, color=looks[name].colour, linestyle=looks[name].line, linewidth=1.3)
        hollow = not any(point.row.ranked for point in some)
        handles.setdefault(name, looks[name].handle(name, hollow=hollow, line=None if joined else ""))
    across = references(axes, panel, plot, at, handles)
    ends = [end for point in everything for end in (point.low, point.high)]
    y, signed, cut = [point.y for point in everything], not panel.metric.startswith("utility/"), 0
    if panel.share:
        top = max(0.05, *y)
        axes.set_ylim(-0.03 * top, 1.03 * top)
    else:
        whole = plot.band == "quantiles"
        cut = scales.scale(axes, "y", y, ends=ends, levels=across, signed=signed, log="y" in plot.log, whole=whole)
    _along(axes, plot, at)
    if written:
        _write(axes, [[point for point in some if point.x is not None] for some in found.values()], at, written)
    style.title(axes, panel.title)
    axes.set_xlabel(naming.label_of(plot.x))
    named = "share of the runs" if panel.share else naming.label_of(panel.metric)
    style.label_y(axes, f"variance of the {named}" if plot.statistic == "variance" else named)
    bands = "Bands" if joined and plot.x in panel.rows[0].params else "Bars"
    return [f"{bands} {CUT}"] * bool(cut) + [COINCIDE] * (joined and _coincide(axes, list(found.values()), at))


def _coincide(axes: Axes, found: Sequence[Sequence[PlottedPoint]], at: Mapping[float | str | None, float]) -> bool:
    """Whether marks of two curves cannot be told apart."""
    marks = [[scales.inside(axes, at[point.x], point.y) for point in some if point.x is not None] for some in found]
    return any(
        abs(x - other_x) < TOGETHER and abs(y - other_y) < TOGETHER
        for one, other in combinations(marks, 2)
        for x, y in one
        for other_x, other_y in other
    )


def places(values: Sequence[float | str | None]) -> dict[float | str | None, float]:
    """Numbers stand where they are; with a text among them, all stand side by side."""
    known = [value for value in dict.fromkeys(values) if value is not None]
    if all(isinstance(value, float) for value in known):
        return {value: float(value) for value in known}
    return {value: float(index) for index, value in enumerate(known)}


def _curve(axes: Axes, here: Sequence[PlottedPoint], x: Sequence[float], look: CurveStyle, *, joined: bool) -> None:
    y, low, high = ([getattr(point, name) for point in here] for name in ("y", "low", "high"))
    if joined:
        axes.plot(x, y, color=look.colour, linestyle=look.line, linewidth=1.4, zorder=3)
    for ranked, face, size in ((True, look.colour, 5.0), (False, "white", 6.5)):  # hollow marks are a rim around filled ones
        some = [index for index, point in enumerate(here) if point.row.ranked is ranked]
        if some:
            marks: dict[str, Any] = {"color": look.colour, "marker": look.mark, "markerfacecolor": face, "markersize": size}
            axes.plot(
                [x[index] for index in some], [y[index] for index in some], linestyle="", zorder=4.5 if ranked else 4, **marks
            )
    if all(map(math.isnan, low)):
        return
    if joined and len(x) > 1 and all(left < right for left, right in pairwise(x)):
        axes.fill_between(x, low, high, color=look.colour, alpha=0.15, linewidth=0, zorder=2)
    else:
        axes.vlines(x, low, high, color=look.colour, alpha=0.5, linewidth=1.2, zorder=2)


def references(
    axes: Axes, panel: Panel, plot: FigureSpec, at: Mapping[float | str | None, float], handles: dict[str, Artist]
) -> list[float]:
    """Draw the level lines of a panel, and answer with where they are."""
    across = {**{naming.reference(name): over for name, over in levels(panel, plot).items()}, **panel.across}
    for index, (text, over) in enumerate(across.items()):
        drawn: dict[str, Any] = {
            "color": style.GREY,
            "linestyle": style.REFERENCE_LINES[index % len(style.REFERENCE_LINES)],
            "linewidth": 1.0,
        }
        steps = sorted((at.get(x, 0.0), level) for x, level in over.items())
        if len({level for _, level in steps}) == 1:
            axes.axhline(steps[0][1], **drawn)
        else:
            axes.plot([x for x, _ in steps], [level for _, level in steps], **drawn)
        handles.setdefault(text, Line2D([], [], label=text, **drawn))
    return [level for over in across.values() for level in over.values()]


def _along(axes: Axes, plot: FigureSpec, at: Mapping[float | str | None, float]) -> None:
    names = sorted(at.items(), key=lambda item: item[1])
    x = [place for _, place in names]
    if any(isinstance(value, str) for value in at):
        scales.ticks(axes, "x", x, [text_of(value) for value, _ in names])
        return
    scales.scale(axes, "x", x, log="x" in plot.log)
    if "/" not in plot.x and len(x) <= scales.NAMED:
        scales.ticks(axes, "x", x)


def text_of(value: float | str | None) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _write(axes: Axes, found: Sequence[Sequence[PlottedPoint]], at: Mapping[float | str | None, float], key: str) -> None:
    """Its parameter beside each point, or beside those at the ends of the curves where there are many; none over another."""
    few = sum(map(len, found)) <= WRITTEN
    taken: list[tuple[float, float]] = []
    for here in found:
        for index, point in enumerate(here):
            across, up = scales.inside(axes, at[point.x], point.y)
            told = key != "epsilon" or point.row.private  # what is not private has no ε
            free = all(abs(across - x) > 0.07 or abs(up - y) > 0.05 for x, y in taken)
            if told and free and (few or index in (0, len(here) - 1)):
                taken.append((across, up))
                shift, side = ((-4, 4), "right") if across > 0.9 else ((4, 4), "left")
                style.beside(axes, point.row.params.get(key, ""), (at[point.x], point.y), shift, ha=side, color=style.GREY)
