"""From cells to what is drawn: which cells make a panel and a curve, and where their numbers stand on its axes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from matplotlib.figure import Figure

from dpbench.records.budget_free import spread
from dpbench.records.cell_record import CellRecord
from dpbench.records.names import EXCESS
from dpbench.records.preset import FigureSpec
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.figures.axes import inside, scale
from dpbench.report.figures.sheet import WIDE, PageFormat
from dpbench.report.figures.style import CurveStyle, curve_styles
from dpbench.report.formatting import group_by
from dpbench.report.labels import REFERENCES, label_of, problem_title, setting

Position = float | str | None
"""Where a cell stands along an axis: a number, the text of a parameter that is none, or nowhere."""
BAND_ENDS = {"quantiles": ("p20", "p80"), "confidence": ("ci_low", "ci_high")}
MAX_PANELS = 9
MAX_CURVES = 21
"""More curves cannot be told apart: general figures omit the others and say so."""
MIN_COINCIDENCE = 0.02
"""A point closer to the non-private fit than this share of the axis coincides with it …"""
MIN_COINCIDENT_SHARE = 0.5
"""… and if at least this share of a private curve's points do, panels of the excess are added."""
ROUNDING = 1e-12
"""A smaller difference from the non-private fit is rounding."""
EXCESS_PREFIX = f"utility/{EXCESS}"


@dataclass(frozen=True)
class Panel:
    """Cells that share axes, and the metric that they show."""

    title: str
    cells: tuple[CellRecord, ...]
    metric: str
    x: str
    apart: bool = False
    """Whether it holds the curves that a preset sets apart."""
    share: bool = False
    """Whether the metric is a share of the runs, with an axis from 0."""
    levels: Mapping[str, Mapping[Position, float]] = field(default_factory=dict)
    """Level lines besides the references, by name: values over x."""

    @property
    def excess(self) -> bool:
        """Whether it shows the excess over the non-private fit, on a logarithmic axis."""
        return self.metric.startswith(EXCESS_PREFIX)

    @property
    def row(self) -> tuple[str, str, bool]:
        """What panels must share to stand in one row, on one scale."""
        return ("share of the runs" if self.share else self.metric, self.x, self.apart)


@dataclass(frozen=True)
class Point:
    """A cell on a panel; NaN if it has no such number."""

    cell: CellRecord
    x: Position
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class FigureData:
    """Cells, what is shown of them, and the style of every curve."""

    sweep: SweepRecord
    cells: tuple[CellRecord, ...]
    spec: FigureSpec
    styles: Mapping[str, CurveStyle]
    hidden: int = 0
    """How many curves are omitted."""
    page: PageFormat = WIDE

    @classmethod
    def general(cls, sweep: SweepRecord, page: PageFormat = WIDE) -> "FigureData":
        """Return what the figures that any sweep can have share: panels for each problem, curves for each mechanism."""
        done = spread(sweep.done)
        fits = without_attacks(done)
        usual = ("model", "dataset", "epsilon", "mechanism")
        keys = [key for key in varying(fits) if key not in usual and not key.startswith("mechanism.")]
        options = [key for key in keys if "." in key]
        numeric = [key for key in options if all(isinstance(position(cell, key), float) for cell in fits if key in cell.params)]
        # along ε, or, if there is a single ε, along the first option with numbers that the sweep varied
        x = "epsilon" if "epsilon" in varying(fits) or not numeric else numeric[0]
        panels = ("model", "dataset", *(key for key in keys if key != x))
        data = cls._of(sweep, done, fits, FigureSpec(x=x, panels=panels))
        styles = dict(list(data.styles.items())[:MAX_CURVES])
        cells = tuple(cell for cell in data.cells if data.curve_name(cell) in styles)
        return replace(data, cells=cells, styles=styles, hidden=len(data.styles) - len(styles), page=page)

    @classmethod
    def of_preset(cls, sweep: SweepRecord, spec: FigureSpec, page: PageFormat = WIDE) -> "FigureData":
        """Return what a figure shows that a preset describes."""
        attacks = any(name.startswith("attack/") for name in spec.y)
        done = spread(sweep.done)
        cells = done if attacks else without_attacks(done)
        data = cls._of(sweep, cells, cells, replace(spec, x="") if spec.form == "roc" else spec)
        return replace(data, page=page)

    @classmethod
    def _of(cls, sweep: SweepRecord, cells: Sequence[CellRecord], fits: Sequence[CellRecord], spec: FigureSpec) -> "FigureData":
        """Add all that tells cells apart to the curves, so that no curve has two values at one position."""
        if spec.x == "epsilon" and not any(cell.epsilon for cell in fits):
            spec = replace(spec, x="mechanism")  # none of them uses a budget
        known = {*spec.curves, *spec.panels, spec.x}
        if spec.x and not any(spec.x in cell.params for cell in fits):
            known.add("epsilon")  # along a metric, a curve goes through the values of ε
        more = [key for key in varying(fits) if key not in known and not key.startswith("mechanism.")]
        data = cls(sweep, tuple(cells), replace(spec, curves=(*spec.curves, *more)), {})
        rest = [key for key in data.spec.curves if key != "mechanism"]
        parts = {}
        for cell in fits:
            other = " ".join(cell.params.get(key, "") for key in rest)
            parts[data.curve_name(cell)] = (cell.params["mechanism"], data.options(cell), other)
        return replace(data, styles=curve_styles(parts))

    def showing(self, **spec: Any) -> "FigureData":
        """Return the same cells and styles with other fields of the figure's spec."""
        return replace(self, spec=replace(self.spec, **spec))

    def with_panels(self, *panels: str) -> "FigureData":
        """Return the same cells where these parameters make panels, and whatever else varies, except ε, makes curves."""
        data = self._of(self.sweep, self.cells, self.fits, FigureSpec(panels=panels))
        return replace(data, page=self.page)

    @cached_property
    def fits(self) -> tuple[CellRecord, ...]:
        """The cells that have an error, each fit once."""
        return tuple(cell for cell in without_attacks(self.cells) if cell.error() is not None)

    def label(self, name: str) -> str:
        return label_of(name, self.sweep)

    def curve_name(self, cell: CellRecord) -> str:
        """Return the mechanism with the options that the sweep varied, and what else makes a curve."""
        parts = [setting(key, cell.params[key]) for key in self.spec.curves if key in cell.params]
        text = self.options(cell)
        if text and self.spec.curves[:1] == ("mechanism",):
            return ", ".join([f"{parts[0]} ({text})", *parts[1:]])
        return ", ".join(filter(None, [*parts, text]))

    def options(self, cell: CellRecord) -> str:
        """Return the options of the mechanism that the sweep varied, without those that make panels or the axis."""
        used = (*self.spec.panels, self.spec.x, *self.spec.curves)
        options = [key for key in cell.params if key.startswith("mechanism.") and key not in used]
        return ", ".join(setting(key, cell.params[key]) for key in options)

    def curves(self, cells: Sequence[CellRecord]) -> dict[str, list[CellRecord]]:
        return group_by(cells, self.curve_name)

    def by_panel(self, cells: Sequence[CellRecord]) -> list[list[CellRecord]]:
        return list(group_by(cells, lambda cell: tuple(cell.params.get(key) for key in self.spec.panels)).values())

    def panels(self, cells: Sequence[CellRecord]) -> list[Panel]:
        """Return the cells of each panel that have one of the figure's metrics; curves that are set apart come below."""
        panels = []
        for group in self.by_panel(cells):
            for metric in self.spec.y or (f"utility/{group[0].primary}",):
                if measured := [cell for cell in group if self.value(cell, metric) is not None]:
                    title = problem_title(group[0], self.spec.panels)
                    for apart, members in group_by(measured, self._apart).items():
                        name = ", ".join(filter(None, [title, *apart]))
                        panels.append(Panel(name, tuple(members), metric, self.spec.x, bool(apart)))
                    break
        return panels

    def _apart(self, cell: CellRecord) -> tuple[str, ...]:
        """Return what sets a cell apart from the others of its panel, as text for the panel's title."""
        pairs = [text.partition("=") for text in self.spec.apart]
        return tuple(setting(key, value) for key, _, value in pairs if cell.params.get(key) == value)

    def with_excess(self, panels: Sequence[Panel]) -> list[Panel]:
        """Add the excess over the non-private fit to each row of panels that needs it."""
        wanted: list[Panel] = []
        for row in group_by(panels, lambda panel: panel.row).values():
            wanted += row
            info = self.sweep.metric_info.get(row[0].metric)
            higher_is_better = info is not None and info.better == "higher"  # then an excess is a gain
            errors = row[0].metric.startswith("utility/") and self.spec.statistic != "variance" and not higher_is_better
            if errors and (any(map(self._coincides, row)) if self.spec.excess is None else self.spec.excess):
                wanted += filter(None, map(self._excess, row))
        fits = self.page.max_rows is None or len(in_rows(wanted, self.page)) <= self.page.max_rows
        return wanted if fits else list(panels)

    def _coincides(self, panel: Panel) -> bool:
        """Return whether a private curve can hardly be told from the non-private fit."""
        level = f"reference/no_privacy/{panel.metric.removeprefix('utility/')}"
        points = self.points(panel.cells, panel)
        levels = [level for values in self.references(panel).values() for level in values.values()]
        ends = [end for point in points for end in (point.low, point.high)]
        axes = Figure().subplots()
        scale(axes, "y", [point.y for point in points], ends=ends, levels=levels, log="y" in self.spec.log)
        for curve in self.curves([cell for cell in panel.cells if cell.private]).values():
            pairs = [(point.y, self.value(point.cell, level)) for point in self.points(curve, panel)]
            known = [[inside(axes, 0.5, height)[1] for height in (y, fit)] for y, fit in pairs if fit is not None]
            if sum(abs(y - fit) < MIN_COINCIDENCE for y, fit in known) >= max(1, MIN_COINCIDENT_SHARE * len(known)):
                return True
        return False

    def _excess(self, panel: Panel) -> Panel | None:
        """Return the panel of the excess, without the curves that are the non-private fit itself; None if nothing is above it."""
        metric = panel.metric.replace("utility/", EXCESS_PREFIX, 1)
        curves = [[(cell, self.value(cell, metric)) for cell in cells] for cells in self.curves(panel.cells).values()]
        other = [curve for curve in curves if any(value is not None and abs(value) > ROUNDING for _, value in curve)]
        cells = tuple(cell for curve in other for cell, value in curve if value is not None)
        values = [value for curve in other for _, value in curve if value is not None]
        return replace(panel, cells=cells, metric=metric) if any(value > 0 for value in values) else None

    def value(self, cell: CellRecord, metric: str) -> float | None:
        if self.spec.statistic != "variance":
            return cell.metric(metric, self.spec.statistic)
        deviation = cell.metrics.get(f"{metric}_std")
        return None if deviation is None else deviation**2

    def points(self, cells: Sequence[CellRecord], panel: Panel) -> list[Point]:
        """Return a curve's points from left to right; if x is a metric, from the smallest ε to the largest."""
        points = [self._point(cell, panel) for cell in cells]
        if panel.x not in cells[0].params:
            return sorted(points, key=lambda point: point.cell.epsilon or 0.0)
        numeric = all(isinstance(point.x, float) for point in points)
        return sorted(points, key=lambda point: float(point.x or 0.0)) if numeric else points

    def _point(self, cell: CellRecord, panel: Panel) -> Point:
        y, low, high = self.value(cell, panel.metric), math.nan, math.nan
        if self.spec.band is not None and self.spec.statistic != "variance":
            low, high = (cell.metrics.get(f"{panel.metric}_{end}", math.nan) for end in BAND_ENDS[self.spec.band])
        return Point(cell, position(cell, panel.x), math.nan if y is None else y, low, high)

    def references(self, panel: Panel) -> dict[str, dict[Position, float]]:
        """Return the references over x, except those that differ between curves: they belong to a single one."""
        owner, _, metric = panel.metric.partition("/")
        if panel.excess:
            return {}
        usual = tuple(f"reference/{name}/{metric}" for name in REFERENCES) if owner == "utility" else ()
        references = {}
        for name in usual if self.spec.references is None else self.spec.references:
            values: dict[Position, set[float]] = {}
            for cell in panel.cells:
                x = position(cell, panel.x) if panel.x in cell.params else 0.0  # along a metric it is one level
                if (level := self.value(cell, name)) is not None and x is not None:
                    values.setdefault(x, set()).add(float(f"{level:.6g}"))
            if values and all(len(levels) == 1 for levels in values.values()):
                references[name] = {x: levels.pop() for x, levels in values.items()}
        return references


def in_rows(panels: Sequence[Panel], page: PageFormat) -> list[list[Panel]]:
    """Return the panels row by row: those of a row share their scale."""
    groups = list(group_by(panels, lambda panel: panel.row).values())
    columns = page.columns(max(map(len, groups), default=1))
    return [group[start : start + columns] for group in groups for start in range(0, len(group), columns)]


def varying(cells: Sequence[CellRecord]) -> list[str]:
    """Return the parameters with more than one value."""
    keys = dict.fromkeys(key for cell in cells for key in cell.params)
    return [key for key in keys if len({cell.params.get(key) for cell in cells}) > 1]


def without_attacks(cells: Sequence[CellRecord]) -> list[CellRecord]:
    """Return each fit once: cells that differ by their attack alone are the same fits."""
    fits = group_by(cells, lambda cell: tuple(item for item in cell.params.items() if item[0].partition(".")[0] != "attack"))
    return [same[0] for same in fits.values()]


def position(cell: CellRecord, x: str) -> Position:
    """Return where a cell stands along a parameter or a metric."""
    text = cell.params.get(x)
    if text is None:
        return cell.metric(x)
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def positions(values: Sequence[Position]) -> dict[Position, float]:
    """Return the coordinate of each value: numbers are their own; with a text among them, all stand side by side."""
    known = [value for value in dict.fromkeys(values) if value is not None]
    numeric = all(isinstance(value, float) for value in known)
    return {value: float(value if numeric else index) for index, value in enumerate(known)}
