"""How all figures look: colours that colour-blind readers tell apart, shapes that survive grey print, axes, layout, saving."""

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from matplotlib import rc_context, rc_params_from_file
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullLocator

# Okabe and Ito 2008, without the yellow that is hard to see on paper
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKS = ("o", "s", "D", "^", "v", "P", "X", "<")
LINES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (4, 1.5, 1, 1.5)), (0, (2, 1.5)), (0, (6, 1.5, 1, 1.5, 1, 1.5)))
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "||||", "----", "++++")
REFERENCE_LINES = ("--", ":", "-.", (0, (1, 4)))
GREY = "#555555"
SETTINGS = rc_params_from_file(Path(__file__).with_name("report.mplstyle"), use_default_template=False)
LEFT, RIGHT, ABOVE, BELOW = 0.86, 0.14, 0.3, 0.5
"""Inches around the axes of every panel, for tick labels, the axis labels and the panel's title."""
CHARACTER_WIDTH = 0.066
"""Approximate width in inches of a character at the size of ticks and legends."""
MAX_LINEAR_RATIO = 20
"""An axis is logarithmic if the ratio of its largest to its smallest number exceeds this."""
MAX_NAMED_VALUES = 16
"""With more values of x than this, the axis has round numbers instead of the values."""

Which = Literal["x", "y"]


@dataclass(frozen=True)
class CurveStyle:
    """How a curve is drawn, the same in all figures of a sweep."""

    colour: str
    mark: str
    line: Any
    hatch: str

    def handle(self, label: str, *, hollow: bool, line: Any = None) -> Line2D:
        """Return the entry of a line in the legend."""
        face = "white" if hollow else self.colour
        return Line2D([], [], color=self.colour, marker=self.mark, linestyle=line or self.line, markerfacecolor=face, label=label)

    def box(self, *, hollow: bool) -> dict[str, Any]:
        """Return how a box is filled: its hatch tells it apart in grey."""
        face = "white" if hollow else to_rgba(self.colour, 0.45)
        return {"facecolor": face, "edgecolor": self.colour, "hatch": self.hatch, "linewidth": 1.0}

    def patch(self, label: str, *, hollow: bool) -> Patch:
        """Return the entry of a box in the legend."""
        return Patch(**self.box(hollow=hollow), label=label)


def curve_styles(curves: Mapping[str, tuple[str, str]]) -> dict[str, CurveStyle]:
    """Return the style of each curve, given its mechanism, which sets the colour, and what else it is, which sets the shape.

    If only one of the two varies, it sets both. The numbers of colours, marks and lines have no common factor, so the styles
    repeat late.
    """
    mechanisms, others = (list(dict.fromkeys(pair[which] for pair in curves.values())) for which in (0, 1))
    styles = {}
    for name, (mechanism, other) in curves.items():
        colour, shape = mechanisms.index(mechanism), others.index(other)
        if len(mechanisms) == 1:
            colour = shape
        elif len(others) == 1:
            shape = colour
        styles[name] = CurveStyle(COLOURS[colour % len(COLOURS)], *(kind[shape % len(kind)] for kind in (MARKS, LINES, HATCHES)))
    return styles


def styled() -> Any:
    """Return a context in which matplotlib has this style; nothing global is changed."""
    return rc_context(SETTINGS)


def sheet(panels: int, alone: tuple[float, float], among: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    """Return an empty figure with its panels; ``alone`` and ``among`` are the inches of a single panel and of one of many."""
    columns = {1: 1, 2: 2, 4: 2, 7: 4, 8: 4}.get(panels, 3)
    rows = -(-panels // columns)
    width, height = alone if panels == 1 else among
    figure = Figure(figsize=(columns * (LEFT + width + RIGHT), rows * (ABOVE + height + BELOW)))
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes in grid[panels:]:
        axes.remove()
    return figure, grid[:panels]


def finish(figure: Figure, handles: Sequence[Artist], title: str, foot: str) -> Figure:
    """Add a title above, a legend and a line of explanation below: the figure grows by what they need, so nothing is covered."""
    width, height = figure.get_size_inches()
    rows, columns = _shape(figure)
    above = ABOVE + 0.15 * max(axes.get_title().count("\n") for axes in figure.axes)
    labels = [str(handle.get_label()) for handle in handles]
    per_line = max(1, int((width - 0.2) / (max(map(len, labels), default=1) * CHARACTER_WIDTH + 0.62)))
    lines = -(-len(labels) // per_line)
    below = 0.165 * lines + 0.14 if labels else 0.0
    titles, feet = textwrap.wrap(title, int(width / 0.088)), textwrap.wrap(foot, int(width / 0.0575))
    head, tail = 0.19 * len(titles) + 0.08, 0.14 * len(feet) + 0.08
    total = head + rows * (above - ABOVE) + height + below + tail
    figure.set_size_inches(width, total)
    figure.subplots_adjust(
        left=LEFT / width,
        right=1 - RIGHT / width,
        top=1 - (head + above) / total,
        bottom=(tail + below + BELOW) / total,
        wspace=(LEFT + RIGHT) / (width / columns - LEFT - RIGHT),
        hspace=(above + BELOW) / (height / rows - ABOVE - BELOW),
    )
    figure.text(0.5, 1 - 0.07 / total, "\n".join(titles), ha="center", va="top", fontsize=10, fontweight="bold")
    figure.text(0.5, 0.06 / total, "\n".join(feet), ha="center", va="bottom", fontsize=7, color="#333333", linespacing=1.25)
    if labels:
        place = (0.5, (tail + below - 0.02) / total)
        figure.legend(handles=list(handles), ncols=-(-len(labels) // lines), loc="upper center", bbox_to_anchor=place)
    return figure


def save(figure: Figure, stem: Path) -> None:
    """Save as PNG and PDF, the same bytes for the same figure."""
    figure.savefig(stem.with_suffix(".png"))
    figure.savefig(stem.with_suffix(".pdf"), metadata={"CreationDate": None})


def annotate(axes: Axes, text: str, point: tuple[float, float], offset: tuple[float, float], **more: Any) -> None:
    """Write a few characters next to a point; ``offset`` is in typographic points."""
    axes.annotate(text, point, offset, textcoords="offset points", zorder=5, **{"fontsize": 7, **more})


def name_panel(axes: Axes, title: str, y_label: str) -> None:
    """Set a panel's title and the label of its vertical axis, in as many lines as they need."""
    width, height = _inches(axes)
    fit = int((width - LEFT + RIGHT) / 0.072)
    # with y given, matplotlib does not search for a free place, which takes long
    axes.set_title("\n".join(line for part in title.split("\n") for line in textwrap.wrap(part, fit)), y=1.0)
    fits = (height - ABOVE - BELOW) / 0.068
    lines = [y_label] if len(y_label) <= fits else y_label.replace(" (", "\n(").split("\n")
    axes.set_ylabel("\n".join(lines if max(map(len, lines)) <= fits else textwrap.wrap(y_label, len(y_label) // 2 + 4)))


def _inches(axes: Axes) -> tuple[float, float]:
    """Return width and height of a panel with what is around its axes."""
    figure: Any = axes.figure
    (width, height), (rows, columns) = figure.get_size_inches(), _shape(figure)
    return width / columns, height / rows


def _shape(figure: Any) -> Any:
    return figure.axes[0].get_gridspec().get_geometry()


def scale(
    axes: Axes,
    which: Which,
    values: Sequence[float],
    *,
    ends: Iterable[float] = (),
    levels: Sequence[float] = (),
    signed: bool = False,
    log: bool = False,
    whole: bool = False,
) -> int:
    """Set a logarithmic scale if asked for, or if a linear one would show the outliers alone; return how many ends are cut.

    All values and levels are visible. The ends of bands may at most double what the values need, because with few repeats they
    lie anywhere; with ``whole``, a logarithmic scale makes room for them. If all values are positive, nothing below zero is
    shown, unless they are ``signed``.
    """
    finite_ends = [end for end in ends if math.isfinite(end)]
    _set_limits(axes, which, values, finite_ends, levels, signed=signed, log=log)
    if whole and _outside(axes, which, finite_ends):
        _set_limits(axes, which, [*values, *finite_ends], (), levels, signed=signed, log=True)
    if which == "x" and axes.get_xscale() == "linear":
        low, high = axes.get_xlim()
        ticks(axes, which, [float(value) for value in MaxNLocator(5).tick_values(low, high) if low <= value <= high])
    return _outside(axes, which, finite_ends)


def _set_limits(
    axes: Axes, which: Which, values: Iterable[float], ends: Sequence[float], levels: Sequence[float], *, signed: bool, log: bool
) -> None:
    finite = sorted(value for value in values if math.isfinite(value))
    if not finite:
        return
    low, high, typical = finite[0], finite[-1], sorted(map(abs, finite))[len(finite) // 2]
    positive = low > 0
    axis, set_scale = (axes.xaxis, axes.set_xscale) if which == "x" else (axes.yaxis, axes.set_yscale)
    if positive and (log or high / low > MAX_LINEAR_RATIO):
        set_scale("log")
    elif low <= 0 < typical and typical * (1 if log else MAX_LINEAR_RATIO) < max(-low, high):
        set_scale("symlog", linthresh=typical)
    logarithmic, transform = axis.get_scale() == "log", axis.get_transform()
    visible = [*finite, *(level for level in levels if level > 0 or not logarithmic)]
    floor = -math.inf if not positive or (signed and not logarithmic) else 0.0
    low, high = (float(place) for place in transform.transform([min(visible), max(visible)]))
    if low < high:
        bands = [float(place) for place in transform.transform([end for end in ends if end > floor] or [min(visible)])]
        bottom, top = max(min(low, *bands), 2 * low - high), min(max(high, *bands), 2 * high - low)
        margin = 0.05 * (top - bottom)
        limits = [float(limit) for limit in transform.inverted().transform([bottom - margin, top + margin])]
        axes.set(**{f"{which}lim": tuple(limits)})
    if logarithmic:
        ticks(axes, which, _round_numbers(*_limits(axes, which)))


def _limits(axes: Axes, which: Which) -> tuple[float, float]:
    return axes.get_xlim() if which == "x" else axes.get_ylim()


def _outside(axes: Axes, which: Which, values: Sequence[float]) -> int:
    low, high = _limits(axes, which)
    return sum(not low <= value <= high for value in values)


def _round_numbers(low: float, high: float) -> list[float]:
    """Return round numbers for a logarithmic axis, at most about seven."""
    if high / low < 5:
        numbers = [float(value) for value in MaxNLocator(5).tick_values(low, high)]
    else:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        digits = (1, 2, 5) if high / low < 100 else (1,)
        numbers = [digit * 10.0**power for power in range(first, last + 1, -(-(last - first) // 7)) for digit in digits]
    return [value for value in numbers if low <= value <= high]


def ticks(axes: Axes, which: Which, values: Sequence[float], labels: Sequence[str] | None = None) -> None:
    """Label these values of an axis; on the horizontal one only those whose labels neither touch nor leave the figure."""
    names = labels or [f"{value:g}" for value in values]
    labelled = list(range(len(values)))
    if which == "x" and values:
        width = _inches(axes)[0] - LEFT - RIGHT
        places = [width * inside(axes, value, None)[0] for value in values]
        halves = [len(name) / 2 * CHARACTER_WIDTH for name in names]
        fitting = [index for index in labelled if places[index] + halves[index] <= width + RIGHT] or labelled
        labelled = fitting[:1]
        for index in fitting[1:]:
            if places[index] - places[labelled[-1]] > halves[index] + halves[labelled[-1]] + 0.05:
                labelled.append(index)
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_ticks([values[index] for index in labelled], labels=[names[index] for index in labelled])
    axis.set_minor_locator(NullLocator())


def inside(axes: Axes, x: float, y: float | None) -> tuple[float, float]:
    """Return where a point is on its axes, from (0, 0) to (1, 1)."""
    point = (x, axes.get_ylim()[0] if y is None else y)
    across, up = axes.transLimits.transform(axes.transScale.transform(point))
    return float(across), float(up)
