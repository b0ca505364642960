"""The sheet of a figure: its panels in rows, the title above, the legend and a line of explanation below."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpbench.report.figures.axes import character_width, inches

Size = tuple[float, float]


@dataclass(frozen=True)
class PageFormat:
    """Where a figure is printed. Lengths are inches."""

    suffix: str
    """The end of the file's name."""
    kinds: tuple[str, ...]
    """The formats of the file."""
    left: float
    """Around the axes of every panel: for the label and the ticks of the vertical axis …"""
    right: float
    above: float
    below: float
    width: float | None = None
    """The width of the whole figure; without one, the figure is as wide as its panels."""
    height: float = 1.0
    """The height of panels, as a multiple of what a figure asks for."""
    max_rows: int | None = None
    """More rows of panels than this do not fit a page: then the excess has no panels."""
    title: bool = True
    """Whether the title is drawn into the figure."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of matplotlib that differ from report.mplstyle."""

    def columns(self, panels: int) -> int:
        """Return how many panels stand next to each other, if the longest row has this many."""
        return min(panels, 2) if self.width else {4: 2, 7: 4, 8: 4}.get(panels, min(panels, 3))


WIDE = PageFormat("", ("png", "pdf"), left=0.86, right=0.14, above=0.3, below=0.5)
"""A figure of the report: as wide as its panels need."""
COLUMN = PageFormat(
    "_column", ("pdf",), left=0.64, right=0.1, above=0.24, below=0.42, width=3.3, height=0.5, max_rows=4, title=False,
    settings={
        "font.size": 7, "axes.titlesize": 7.5, "axes.labelsize": 7.5, "xtick.labelsize": 7, "ytick.labelsize": 7,
        "legend.fontsize": 7, "axes.linewidth": 0.6, "xtick.major.size": 2.5, "ytick.major.size": 2.5, "axes.labelpad": 2.0,
        "legend.handlelength": 2.8, "lines.linewidth": 1.0, "lines.markersize": 3.6,
        "legend.columnspacing": 0.8, "legend.handletextpad": 0.4,
    },
)  # fmt: skip
"""The same figure for a column of a paper, which has the title in its own caption."""
SCREEN = replace(WIDE, kinds=("png",))
"""A figure of the page alone: PDFs take three times as long, most of it for embedding fonts."""
FORMATS = (WIDE, COLUMN)


@dataclass(frozen=True)
class Sheet:
    """A figure with its axes, row by row."""

    page: PageFormat
    figure: Figure
    rows: Sequence[Sequence[Axes]]

    @property
    def axes(self) -> list[Axes]:
        return [axes for row in self.rows for axes in row]

    @classmethod
    def of(
        cls,
        page: PageFormat,
        rows: Sequence[int],
        alone: tuple[float, float],
        among: tuple[float, float],
        *,
        square: bool = False,
        heights: Sequence[float] = (),
    ) -> "Sheet":
        """Return empty panels, given their number in each row; ``alone`` and ``among``: a panel's width and height.

        With ``heights``, each row has a height of its own instead.
        """
        columns = max(rows)
        width, height = alone if columns == 1 else among
        if page.width:
            width, height = page.width / columns - page.left - page.right, height * page.height
            if columns > 1:  # only the first panel of a row has a labelled axis
                width = (page.width - page.left - columns * page.right) / columns
            height = width if square else height
        height = fmean(heights) if heights else height
        figure = Figure()
        grid = figure.subplots(len(rows), columns, squeeze=False, gridspec_kw={"height_ratios": list(heights) or None})
        total = page.width or columns * (page.left + width + page.right)
        figure.set_size_inches(total, len(rows) * (page.above + height + page.below))
        for axes_row, count in zip(grid, rows, strict=True):
            for axes in axes_row[count:]:
                axes.remove()
        sheet = cls(page, figure, [list(axes_row[:count]) for axes_row, count in zip(grid, rows, strict=True)])
        sheet._place(height, page.above, page.below, 0.0, 0.0)
        return sheet

    def _place(self, height: float, above: float, below: float, head: float, tail: float) -> None:
        """Give every panel its place, in inches: what it needs above and below, and what all panels need at the two ends.

        The height is the mean over the rows, which is what matplotlib measures the space between them by.
        """
        page, (width, _) = self.page, self.figure.get_size_inches()
        rows, columns = self.axes[0].get_gridspec().get_geometry()  # type: ignore[union-attr]
        gap = page.right if page.width else page.left + page.right
        total = head + rows * (above + height + below) + tail
        self.figure.set_size_inches(width, total)
        panel = (width - page.left - page.right - (columns - 1) * gap) / columns
        self.figure.subplots_adjust(
            left=page.left / width,
            right=1 - page.right / width,
            top=1 - (head + above) / total,
            bottom=(tail + below) / total,
            wspace=gap / panel,
            hspace=(above + below) / height,
        )

    def name(self, axes: Axes, title: str, x_label: str, y_label: str) -> None:
        """Set a panel's title and the labels of its axes, in as many lines as they need."""
        width, height = inches(axes)
        fit = int((width + 2 * self.page.right) / (1.2 * character_width()))
        lines = [line for part in title.split("\n") for line in _wrapped(_with_breaks(part, fit), fit)]
        # with y given, matplotlib does not search for a free place, which takes long
        axes.set_title("\n".join(lines), y=1.0)
        axes.set_xlabel("\n".join(_wrapped(x_label, max(fit, 12))))
        if self.page.width and not any(row[0] is axes for row in self.rows):
            axes.tick_params(labelleft=False)  # the panels of a row share their scale
            return
        fits = int((height + self.page.above) / (1.03 * character_width()))
        lines = [y_label] if len(y_label) <= fits else y_label.replace(" (", "\n(").split("\n")
        axes.set_ylabel("\n".join(lines if max(map(len, lines)) <= fits else _wrapped(y_label, len(y_label) // 2 + 4)))

    def finish(self, handles: Sequence[Artist], title: str, foot: str) -> Figure:
        """Add the title, the legend and the line of explanation: the figure grows by what they need, so nothing is covered."""
        figure, page, letter = self.figure, self.page, character_width()
        width = figure.get_size_inches()[0]
        height = fmean(inches(row[0])[1] for row in self.rows)
        size = letter / 0.066  # against the font of the wide format
        above = page.above + 0.15 * size * max(axes.get_title().count("\n") for axes in figure.axes)
        under = page.below + 0.15 * size * max(axes.get_xlabel().count("\n") for axes in figure.axes)
        labels = [str(handle.get_label()) for handle in handles]
        per_line = max(1, int((width - 0.2) / (max(map(len, labels), default=1) * letter + 0.6 * size)))
        lines = -(-len(labels) // per_line)
        below = (0.152 * lines + 0.12) * size if labels else 0.0
        titles, feet = _wrapped(title, int(width / 0.088)), _wrapped(foot, int(width / (0.0575 * size)))
        head, tail = (0.19 * len(titles) + 0.08) * page.title, (0.14 * len(feet) + 0.08) * size
        self._place(height, above, under, head, tail + below)
        total = figure.get_size_inches()[1]
        if page.title:
            figure.text(0.5, 1 - 0.07 / total, "\n".join(titles), ha="center", va="top", fontsize=10, fontweight="bold")
        look: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": 7 * size, "color": "#333333", "linespacing": 1.25}
        figure.text(0.5, 0.06 / total, "\n".join(feet), **look)
        if labels:
            place = (0.5, (tail + below - 0.02) / total)
            figure.legend(handles=list(handles), ncols=-(-len(labels) // lines), loc="upper center", bbox_to_anchor=place)
        return figure


def _wrapped(text: str, fit: int) -> list[str]:
    return textwrap.wrap(text, fit, break_on_hyphens=False)


def _with_breaks(text: str, fit: int) -> str:
    """Let words that are too long for a line break after their equals sign."""
    return " ".join(word.replace("=", "= ") if len(word) > fit else word for word in text.split(" "))


def annotate(axes: Axes, text: str, point: tuple[float, float], offset: tuple[float, float], **more: Any) -> None:
    """Write a few characters next to a point; ``offset`` is in typographic points."""
    axes.annotate(text, point, offset, textcoords="offset points", zorder=5, **{"fontsize": 7, **more})
