"""From cells to what is drawn: which cells make a panel and a curve, and where their numbers stand on its axes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dpbench.records.cell_record import CellRecord
from dpbench.records.preset import FigureSpec
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.figures.style import CurveStyle, curve_styles
from dpbench.report.formatting import group_by
from dpbench.report.labels import REFERENCES, label_of, problem_title, setting

Position = float | str | None
"""Where a cell stands along an axis: a number, the text of a parameter that is none, or nowhere."""
BAND_ENDS = {"quantiles": ("p20", "p80"), "confidence": ("ci_low", "ci_high")}
MAX_PANELS = 9
MAX_CURVES = 21
"""More than three times the number of colours cannot be told apart: general figures omit the others and say so."""


@dataclass(frozen=True)
class Panel:
    """Cells that share axes, and the metric that they show."""

    title: str
    cells: tuple[CellRecord, ...]
    metric: str
    share: bool = False
    """Whether the metric is a share of the runs, with an axis from 0."""
    levels: Mapping[str, Mapping[Position, float]] = field(default_factory=dict)
    """Level lines besides the references, by name: values over x."""


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

    @classmethod
    def general(cls, sweep: SweepRecord) -> "FigureData":
        """Return what the figures that any sweep can have share: panels for each problem, curves for each mechanism."""
        fits = without_attacks(sweep.done)
        usual = ("model", "dataset", "epsilon", "mechanism")
        keys = [key for key in varying(fits) if key not in usual and not key.startswith("mechanism.")]
        options = [key for key in keys if "." in key]
        numeric = [key for key in options if all(isinstance(position(cell, key), float) for cell in fits if key in cell.params)]
        # along ε, or, if there is a single ε, along the first option with numbers that the sweep varied
        x = "epsilon" if "epsilon" in varying(fits) or not numeric else numeric[0]
        panels = ("model", "dataset", *(key for key in keys if key != x))
        data = cls._of(sweep, sweep.done, fits, FigureSpec(x=x, panels=panels))
        styles = dict(list(data.styles.items())[:MAX_CURVES])
        cells = tuple(cell for cell in data.cells if data.curve_name(cell) in styles)
        return replace(data, cells=cells, styles=styles, hidden=len(data.styles) - len(styles))

    @classmethod
    def of_preset(cls, sweep: SweepRecord, spec: FigureSpec) -> "FigureData":
        """Return what a figure shows that a preset describes."""
        attacks = any(name.startswith("attack/") for name in spec.y)
        cells = sweep.done if attacks else without_attacks(sweep.done)
        return cls._of(sweep, cells, cells, replace(spec, x="") if spec.form == "roc" else spec)

    @classmethod
    def _of(cls, sweep: SweepRecord, cells: Sequence[CellRecord], fits: Sequence[CellRecord], spec: FigureSpec) -> "FigureData":
        """Add all that tells cells apart to the curves, so that no curve has two values at one position."""
        known = {*spec.curves, *spec.panels, spec.x}
        if spec.x and not any(spec.x in cell.params for cell in fits):
            known.add("epsilon")  # along a metric, a curve goes through the values of ε
        more = [key for key in varying(fits) if key not in known and not key.startswith("mechanism.")]
        data = cls(sweep, tuple(cells), replace(spec, curves=(*spec.curves, *more)), {})
        mechanisms = data.showing(curves=("mechanism",))
        rest = [key for key in data.spec.curves if key != "mechanism"]
        others = [" ".join(cell.params.get(key, "") for key in rest) for cell in fits]
        parts = {data.curve_name(cell): (mechanisms.curve_name(cell), other) for cell, other in zip(fits, others, strict=True)}
        return replace(data, styles=curve_styles(parts))

    def showing(self, **spec: Any) -> "FigureData":
        """Return the same cells and styles with other fields of the figure's spec."""
        return replace(self, spec=replace(self.spec, **spec))

    @cached_property
    def fits(self) -> tuple[CellRecord, ...]:
        """The cells that have an error, each fit once."""
        return tuple(cell for cell in without_attacks(self.cells) if cell.error() is not None)

    def label(self, name: str) -> str:
        return label_of(name, self.sweep)

    def curve_name(self, cell: CellRecord) -> str:
        """Return the mechanism with the options that the sweep varied, and what else makes a curve."""
        used = (*self.spec.panels, self.spec.x, *self.spec.curves)
        options = [key for key in cell.params if key.startswith("mechanism.") and key not in used]
        parts = [setting(key, cell.params[key]) for key in self.spec.curves if key in cell.params]
        text = ", ".join(setting(key, cell.params[key]) for key in options)
        if text and self.spec.curves[:1] == ("mechanism",):
            return ", ".join([f"{parts[0]} ({text})", *parts[1:]])
        return ", ".join(filter(None, [*parts, text]))

    def curves(self, cells: Sequence[CellRecord]) -> dict[str, list[CellRecord]]:
        return group_by(cells, self.curve_name)

    def by_panel(self, cells: Sequence[CellRecord]) -> list[list[CellRecord]]:
        return list(group_by(cells, lambda cell: tuple(cell.params.get(key) for key in self.spec.panels)).values())

    def panels(self, cells: Sequence[CellRecord]) -> list[Panel]:
        """Return the cells of each panel that have one of the figure's metrics."""
        panels = []
        for group in self.by_panel(cells):
            for metric in self.spec.y or (f"utility/{group[0].primary}",):
                if measured := tuple(cell for cell in group if self.value(cell, metric) is not None):
                    panels.append(Panel(problem_title(group[0], self.spec.panels), measured, metric))
                    break
        return panels

    def value(self, cell: CellRecord, metric: str) -> float | None:
        if self.spec.statistic != "variance":
            return cell.metric(metric, self.spec.statistic)
        deviation = cell.metrics.get(f"{metric}_std")
        return None if deviation is None else deviation**2

    def points(self, cells: Sequence[CellRecord], metric: str) -> list[Point]:
        """Return a curve's points from left to right; if x is a metric, from the smallest ε to the largest."""
        points = [self._point(cell, metric) for cell in cells]
        if self.spec.x not in cells[0].params:
            return sorted(points, key=lambda point: point.cell.epsilon)
        numeric = all(isinstance(point.x, float) for point in points)
        return sorted(points, key=lambda point: float(point.x or 0.0)) if numeric else points

    def _point(self, cell: CellRecord, metric: str) -> Point:
        y, low, high = self.value(cell, metric), math.nan, math.nan
        if self.spec.band is not None and self.spec.statistic != "variance":
            low, high = (cell.metrics.get(f"{metric}_{end}", math.nan) for end in BAND_ENDS[self.spec.band])
        return Point(cell, position(cell, self.spec.x), math.nan if y is None else y, low, high)

    def references(self, panel: Panel) -> dict[str, dict[Position, float]]:
        """Return the references over x, except those that differ between curves: they belong to a single one."""
        owner, _, metric = panel.metric.partition("/")
        usual = tuple(f"reference/{name}/{metric}" for name in REFERENCES) if owner == "utility" else ()
        references = {}
        for name in usual if self.spec.references is None else self.spec.references:
            values: dict[Position, set[float]] = {}
            for cell in panel.cells:
                x = position(cell, self.spec.x) if self.spec.x in cell.params else 0.0  # along a metric it is one level
                if (level := self.value(cell, name)) is not None and x is not None:
                    values.setdefault(x, set()).add(float(f"{level:.6g}"))
            if values and all(len(levels) == 1 for levels in values.values()):
                references[name] = {x: levels.pop() for x, levels in values.items()}
        return references


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
