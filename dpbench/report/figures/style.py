"""The one style of all figures: colours that colour-blind readers tell apart, shapes that grey print does, sizes, saving."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

# Okabe and Ito 2008, without the yellow that paper swallows
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKS = ("o", "s", "D", "^", "v", "P", "X", "<")
LINES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (4, 1.5, 1, 1.5)), (0, (2, 1.5)), (0, (6, 1.5, 1, 1.5, 1, 1.5)))
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "||||", "----", "++++")
REFERENCE_LINES = ("--", ":", "-.", (0, (1, 4)))
GREY = "#555555"
DPI = 150
SETTINGS: Any = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.5,
    "legend.fontsize": 8,
}
LEFT, RIGHT, ABOVE, BELOW = 0.86, 0.14, 0.3, 0.5
"""Inches around the axes of every panel: tick labels and the axis's label, the panel's title."""
CHARACTER = 0.066
"""About how many inches a character takes at the size of ticks and legends."""


@dataclass(frozen=True)
class CurveStyle:
    """How a curve is drawn, the same in all figures of a sweep."""

    colour: str
    mark: str
    line: Any
    hatch: str

    def handle(self, label: str, *, hollow: bool, line: Any = None) -> Line2D:
        """Its entry in the legend."""
        face = "white" if hollow else self.colour
        return Line2D([], [], color=self.colour, marker=self.mark, linestyle=line or self.line, markerfacecolor=face, label=label)

    def patch(self, label: str, *, hollow: bool) -> Patch:
        """Its entry in the legend of boxes."""
        return Patch(**self.face(hollow=hollow), label=label)

    def face(self, *, hollow: bool) -> dict[str, Any]:
        """A box: its hatch tells it apart in grey."""
        light = "white" if hollow else (*(int(self.colour[at : at + 2], 16) / 255 for at in (1, 3, 5)), 0.45)
        return {"facecolor": light, "edgecolor": self.colour, "hatch": self.hatch, "linewidth": 1.0}


def looks(curves: Mapping[str, tuple[str, str]]) -> dict[str, CurveStyle]:
    """A look for each curve, given its mechanism and what else it is: the colour is the mechanism's, the shape the rest's.

    Where only one of the two varies it decides both. The numbers of colours, marks and lines have no common factor, so that no
    two of the looks soon agree.
    """
    mechanisms, others = (list(dict.fromkeys(pair[which] for pair in curves.values())) for which in (0, 1))
    found = {}
    for name, (mechanism, other) in curves.items():
        colour, shape = mechanisms.index(mechanism), others.index(other)
        if len(mechanisms) == 1:
            colour = shape
        elif len(others) == 1:
            shape = colour
        found[name] = CurveStyle(COLOURS[colour % len(COLOURS)], *(kind[shape % len(kind)] for kind in (MARKS, LINES, HATCHES)))
    return found


def styled() -> Any:
    """The style for as long as the context lasts; nothing global is changed."""
    return rc_context(SETTINGS)


def sheet(panels: int, alone: tuple[float, float], among: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    """An empty figure with its panels: how many inches wide and high one is that stands alone, or among others."""
    columns = {1: 1, 2: 2, 4: 2, 7: 4, 8: 4}.get(panels, 3)
    rows = -(-panels // columns)
    width, height = alone if panels == 1 else among
    figure = Figure(figsize=(columns * (LEFT + width + RIGHT), rows * (ABOVE + height + BELOW)))
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in list(grid.flat)[panels:]:
        axes.remove()
    return figure, list(grid.flat)[:panels]


def finish(figure: Figure, handles: Sequence[Artist], title: str, foot: str) -> Figure:
    """Title above, one legend and a line of explanation below: the figure grows by what they need, so nothing is covered."""
    width, height = figure.get_size_inches()
    rows, columns = _shape(figure)
    above = ABOVE + 0.15 * max(axes.get_title().count("\n") for axes in figure.axes)
    inner = (width / columns - LEFT - RIGHT, height / rows - ABOVE - BELOW)
    labels = [str(handle.get_label()) for handle in handles]
    beside = max(1, int((width - 0.2) / (max(map(len, labels), default=1) * CHARACTER + 0.62)))
    lines = -(-len(labels) // beside)
    below = 0.165 * lines + 0.14 if labels else 0.0
    titles = textwrap.wrap(title, int(width / 0.088))
    feet = textwrap.wrap(foot, int(width / 0.0575))
    head, tail = 0.19 * len(titles) + 0.08, 0.14 * len(feet) + 0.08
    total = head + rows * (above - ABOVE) + height + below + tail
    figure.set_size_inches(width, total)
    figure.subplots_adjust(
        left=LEFT / width,
        right=1 - RIGHT / width,
        top=1 - (head + above) / total,
        bottom=(tail + below + BELOW) / total,
        wspace=(LEFT + RIGHT) / inner[0],
        hspace=(above + BELOW) / inner[1],
    )
    figure.text(0.5, 1 - 0.07 / total, "\n".join(titles), ha="center", va="top", fontsize=10, fontweight="bold")
    figure.text(0.5, 0.06 / total, "\n".join(feet), ha="center", va="bottom", fontsize=7, color="#333333", linespacing=1.25)
    if labels:
        at = (0.5, (tail + below - 0.02) / total)
        figure.legend(
            handles=list(handles),
            loc="upper center",
            bbox_to_anchor=at,
            ncols=-(-len(labels) // lines),
            frameon=False,
            borderaxespad=0,
            handlelength=2.6,
            columnspacing=1.2,
            labelspacing=0.35,
        )
    return figure


def save(figure: Figure, stem: Path) -> None:
    """As PNG and PDF, the same bytes for the same picture."""
    figure.savefig(stem.with_suffix(".png"), dpi=DPI)
    figure.savefig(stem.with_suffix(".pdf"), metadata={"CreationDate": None})


def beside(axes: Axes, text: str, place: tuple[float, float], points: tuple[float, float], **more: Any) -> None:
    """A few characters beside a point, so many points away."""
    axes.annotate(text, place, points, textcoords="offset points", zorder=5, **{"fontsize": 7, **more})


def title(axes: Axes, text: str) -> None:
    """A panel's title, in as many lines as it needs. Where it stands is said, since matplotlib takes long to look for it."""
    fit = int((inches(axes)[0] - LEFT + RIGHT) / 0.072)
    axes.set_title("\n".join(line for part in text.split("\n") for line in textwrap.wrap(part, fit)), y=1.0)


def label_y(axes: Axes, text: str) -> None:
    """The vertical axis in words, in two lines where one would be longer than the panel is high."""
    fit = (inches(axes)[1] - ABOVE - BELOW) / 0.068
    lines = [text] if len(text) <= fit else text.replace(" (", "\n(").split("\n")
    axes.set_ylabel("\n".join(lines if max(map(len, lines)) <= fit else textwrap.wrap(text, len(text) // 2 + 4)))


def inches(axes: Axes) -> tuple[float, float]:
    """Width and height of a panel with what is around its axes."""
    figure: Any = axes.figure
    (width, height), (rows, columns) = figure.get_size_inches(), _shape(figure)
    return width / columns, height / rows


def _shape(figure: Any) -> tuple[int, int]:
    """Rows and columns of panels."""
    rows, columns = figure.axes[0].get_gridspec().get_geometry()
    return rows, columns
