"""The forest plot: the interval of each coefficient, without privacy and by each mechanism, next to each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dpbench.records.cell_record import CellRecord
from dpbench.records.names import INTERCEPT
from dpbench.report.figures import style
from dpbench.report.figures.axes import character_width, scale
from dpbench.report.figures.lines import add_handle, foot, legend
from dpbench.report.figures.panels import FigureData
from dpbench.report.figures.sheet import Sheet
from dpbench.report.formatting import listed, plural
from dpbench.report.interval_texts import has_intervals, interval_sentences
from dpbench.report.labels import problem_title

MAX_CURVES = 6
MAX_PANELS = 4
MAX_COEFFICIENTS = 24
MAX_INTERVALS = 110
"""Of a panel: with more curves it has fewer coefficients."""
MAX_EPSILON = 1.0
"""The figure shows the largest ε up to this one."""
CURVES = ("epsilon", "inference.method", "inference.draws")
"""Parameters that make no panel."""
LINE_HEIGHT = 0.085
"""Inches from one interval to the next below it."""
MAX_COLUMN_HEIGHT = 6.0
"""Inches of all panels in a column of a paper, if there are several."""
MIN_LINES = 8
"""A panel is at least as high as this many lines need."""
MAX_NAME_LENGTH = {"": 28, "_column": 16}
"""Characters of a coefficient's name, by the format of the page."""
MAX_WIDTHS = 5
"""The axis goes on for this many of the narrowest intervals' widths, or as far as they all reach, on either side."""

REFERENCE = "without privacy"
TRUTH = "what is to be covered"

Intervals = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Forest:
    """What the figure shows: the cells of each panel at one ε."""

    data: FigureData
    panels: Sequence[Sequence[CellRecord]]
    epsilon: float
    hidden_panels: int
    hidden_curves: int

    @property
    def cells(self) -> list[CellRecord]:
        return [cell for cells in self.panels for cell in cells]

    @property
    def title(self) -> str:
        return f"Intervals of the coefficients at ε = {self.epsilon:g}"

    @property
    def text(self) -> str:
        """The caption: what an interval is, what the cells recorded of theirs, and what is left out."""
        reference = any(_ends(cell.detail.intervals, slopes([cell]), "reference_") is not None for cell in self.cells)
        public = all(cell.table_is_public for cell in self.cells)
        why = "the fit without privacy has no standard errors" if public else "the table is private"
        missing = "" if reference else f"The non-private intervals are not recorded: {why}."
        parts = (("curve", self.hidden_curves), ("panel", self.hidden_panels), ("coefficient", self.hidden_coefficients))
        omitted = listed(plural(count, f"more {what}") for what, count in parts if count)
        return " ".join(
            filter(
                None,
                [
                    "What one release prints: the intervals of each cell's first run, without the intercept.",
                    *interval_sentences(self.cells, self.data.curve_name),
                    missing,
                    f"Left out: {omitted}." if any(count for _, count in parts) else "",
                ],
            )
        )

    @property
    def coefficients(self) -> int:
        """How many coefficients a panel has room for."""
        curves = max(len(cells) for cells in self.panels)
        return min(MAX_COEFFICIENTS, MAX_INTERVALS // (curves + 1))

    @property
    def hidden_coefficients(self) -> int:
        """How many coefficients the panel with the most of them leaves out."""
        return max(max(len(slopes(cells)) for cells in self.panels) - self.coefficients, 0)


def forest_of(data: FigureData) -> Forest | None:
    """Return the private cells that have intervals at the figure's ε, the ranked ones first; None if there are none."""
    measured = [cell for cell in data.fits if cell.private and has_intervals(cell)]
    levels = sorted({cell.epsilon for cell in measured if cell.epsilon is not None})
    if not levels:
        return None
    epsilon = max((level for level in levels if level <= MAX_EPSILON), default=levels[0])
    # methods stand side by side; what else makes intervals differ, such as the level, makes panels
    keys = dict.fromkeys((*data.spec.panels, data.spec.x))
    data = data.with_panels(*(key for key in keys if key not in CURVES and not key.startswith("mechanism.")))
    # the interval of each coefficient of the first run may be infinite, which is recorded as none
    shown = [cell for cell in measured if cell.epsilon == epsilon and _ends(cell.detail.intervals, slopes([cell])) is not None]
    curves = data.curves(sorted(shown, key=lambda cell: not cell.ranked))
    names = list(curves)[:MAX_CURVES]
    panels = data.by_panel([cell for cell in shown if data.curve_name(cell) in names])
    if not panels:
        return None
    return Forest(data, panels[:MAX_PANELS], epsilon, max(len(panels) - MAX_PANELS, 0), len(curves) - len(names))


def slopes(cells: Sequence[CellRecord]) -> list[str]:
    """Return the names of the coefficients, without the intercept."""
    return [name for name in cells[0].detail.intervals if name != INTERCEPT]


def draw_forest(forest: Forest) -> Figure:
    """Draw one panel per problem and one row per coefficient: the non-private interval above those of the mechanisms."""
    data, limit = forest.data, MAX_NAME_LENGTH[forest.data.page.suffix]
    names = [slopes(cells)[: forest.coefficients] for cells in forest.panels]
    lines = [len(cells) + 2 for cells in forest.panels]
    heights = [LINE_HEIGHT * max(count * len(group), MIN_LINES) for count, group in zip(lines, names, strict=True)]
    height = max(heights)
    fit = max(1, int(MAX_COLUMN_HEIGHT / height)) if data.page.width else MAX_PANELS
    panels = forest.panels[:fit]
    longest = min(limit, max(len(name) for group in names for name in group))
    page = replace(data.page, left=longest * character_width() + 0.16, height=1.0)
    columns = 1 if page.width or len(names) == 1 else 2
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    of_rows = [max(heights[start : start + columns]) for start in range(0, len(panels), columns)]
    sheet = Sheet.of(page, [len(row) for row in rows], alone=(4.6, height), among=(3.4, height), heights=of_rows)
    handles: dict[str, Artist] = {}
    drawings = list(zip(sheet.axes, panels, names, strict=False))
    cut = [_draw_panel(data, axes, cells, group, handles) for axes, cells, group in drawings]
    for axes, cells, group in drawings:
        sheet.name(axes, problem_title(cells[0], data.spec.panels), "coefficient, on the scaled columns", "")
        axes.set_yticks(range(len(group)), [_shortened(name, limit) for name in group])
    texts = ["Each interval is that of one run, with a mark at the estimate that it belongs to."]
    texts += ["Arrows: it goes on."] if any(cut) else []
    texts += [f"{plural(len(forest.panels) - len(panels), 'more panel')} in the wide figure."] if fit < len(forest.panels) else []
    return sheet.finish(legend(handles, data), forest.title, foot([cell for cells in panels for cell in cells], *texts))


def _shortened(name: str, limit: int) -> str:
    return name if len(name) <= limit else f"{name[: limit - 1]}…"


def _draw_panel(
    data: FigureData, axes: Axes, cells: Sequence[CellRecord], names: Sequence[str], handles: dict[str, Artist]
) -> bool:
    """Draw the intervals of a problem, and return whether some are cut at the axis."""
    tables = [cell.detail.intervals for cell in cells]
    reference = next((ends for table in tables if (ends := _ends(table, names, "reference_")) is not None), None)
    truth = next((values for table in tables if (values := _column(table, names, "truth")) is not None), None)
    drawn = [(cell, ends) for cell in cells if (ends := _ends(cell.detail.intervals, names)) is not None]
    if drawn or reference is not None:
        _scale(axes, [*([] if reference is None else [reference]), *(ends for _, ends in drawn)], truth)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.axvline(0.0, color="#999999", linewidth=0.8, zorder=1)
    for border in range(1, len(names)):
        axes.axhline(border - 0.5, color=style.SETTINGS["grid.color"], linewidth=0.6, zorder=0)
    step = 1 / (len(cells) + 2)
    places = np.arange(len(names), dtype=float)
    look: dict[str, Any] = {"color": "#8C8C8C", "linewidth": 2.6}
    cut = False
    if reference is not None:
        cut |= _draw_intervals(axes, places - 0.5 + step, reference, look)
        add_handle(handles, REFERENCE, Line2D([], [], label=REFERENCE, **look))
    for index, (cell, ends) in enumerate(drawn):
        name = data.curve_name(cell)
        mark = data.styles[name]
        at = places - 0.5 + (index + 2) * step
        cut |= _draw_intervals(axes, at, ends, {"color": mark.colour, "linewidth": 1.2})
        marks: dict[str, Any] = {
            "markersize": 3.2,
            "linestyle": "",
            "zorder": 4,
            **mark.marks(hollow=not cell.ranked),
            "markeredgewidth": 0.6,
        }
        estimates = _column(cell.detail.intervals, names, "estimate")
        middles = ends.mean(axis=1) if estimates is None else estimates  # older records have no estimates
        axes.plot(np.where(_inside(axes, middles), middles, np.nan), at, **marks)
        add_handle(handles, name, mark.handle(name, hollow=not cell.ranked, line="-"), hollow=not cell.ranked)
    if truth is not None:
        axes.vlines(truth, places - 0.5 + step / 2, places + 0.5 - step / 2, color="black", linewidth=0.9, zorder=5)
        add_handle(handles, TRUTH, Line2D([], [], label=TRUTH, linestyle="", marker="|", markersize=9, markeredgecolor="black"))
    return cut


def _column(table: Intervals, names: Sequence[str], key: str) -> np.ndarray | None:
    """Return a number of each coefficient; None where none is recorded."""
    values = np.array([table.get(name, {}).get(key, np.nan) for name in names])
    return values if np.isfinite(values).any() else None


def _ends(table: Intervals, names: Sequence[str], prefix: str = "") -> np.ndarray | None:
    """Return both ends of the interval of each coefficient: (coefficients, 2)."""
    low, high = (_column(table, names, f"{prefix}{end}") for end in ("low", "high"))
    return None if low is None or high is None else np.stack([low, high], axis=1)


def _scale(axes: Axes, intervals: Sequence[np.ndarray], truth: np.ndarray | None) -> None:
    """Show all of the first intervals, which are the non-private ones or else the narrowest, and others as far as these allow.

    So a mechanism whose intervals are very wide does not make dots of the others.
    """
    widths = [float(np.nanmedian(ends[:, 1] - ends[:, 0])) for ends in intervals]
    base = int(np.argmin(widths))
    known = np.concatenate([[0.0], intervals[base].ravel(), [] if truth is None else truth])
    low, high = float(np.nanmin(known)), float(np.nanmax(known))
    reach = max(high - low, MAX_WIDTHS * widths[base])
    everything = np.concatenate([known, *(ends.ravel() for ends in intervals)])
    ends = [max(float(np.nanmin(everything)), low - reach), min(float(np.nanmax(everything)), high + reach)]
    scale(axes, "x", [low, high, *ends], signed=True)


def _inside(axes: Axes, values: np.ndarray) -> np.ndarray:
    low, high = axes.get_xlim()
    return (low <= values) & (values <= high)


def _draw_intervals(axes: Axes, places: np.ndarray, ends: np.ndarray, look: Mapping[str, Any]) -> bool:
    """Draw an interval at each place, with an arrow where it goes on beyond the axis; return whether there is one."""
    low, high = axes.get_xlim()
    seen = np.clip(ends, low, high)
    axes.hlines(places, seen[:, 0], seen[:, 1], **{"zorder": 3, **look})
    for beyond, end, mark in ((ends[:, 0] < low, low, "<"), (ends[:, 1] > high, high, ">")):
        arrows: dict[str, Any] = {
            "color": look["color"],
            "marker": mark,
            "markersize": 3,
            "linestyle": "",
            "clip_on": False,
            "zorder": 5,
        }
        axes.plot(np.full(beyond.sum(), end), places[beyond], **arrows)
    return bool((ends < low).any() or (ends > high).any())
