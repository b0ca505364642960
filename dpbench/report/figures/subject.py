"""What the figures of one sweep share: the cells, the look of every curve, and what their captions say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from matplotlib.figure import Figure

from dpbench.records.cell_record import CellRecord
from dpbench.records.cell_record import label as rows_label
from dpbench.records.figure_spec import FigureSpec
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.figures import style
from dpbench.report.figures.drawing import MOST_PANELS, lines
from dpbench.report.figures.points import Panel, label, named, once, parts, place, varying
from dpbench.report.figures.style import CurveStyle
from dpbench.report.wording import listed

MOST_CURVES = 21
"""More than three times the colours cannot be told apart: general figures leave the others out and say so."""
QUICK = "A quick run, with few repeats: a first look only."


@dataclass(frozen=True)
class CaptionedFigure:
    """A figure, and what is said of it."""

    name: str
    title: str
    caption: str
    figure: Figure


@dataclass(frozen=True)
class FigureContext:
    """What the figures of one sweep share: its cells, and the look of every curve."""

    sweep: SweepRecord
    cells: tuple[CellRecord, ...]
    """The finished cells."""
    plot: FigureSpec
    looks: Mapping[str, CurveStyle]
    hidden: int = 0
    """How many curves are left out."""

    @classmethod
    def of(cls, sweep: SweepRecord) -> FigureContext:
        """For the general figures."""
        fits = once(sweep.done)
        x = _along(fits)
        beside = [key for key in varying(fits) if key not in ("model", "dataset", "epsilon", x) and not _owned(key)]
        plot = named(fits, FigureSpec(x=x, panels=("model", "dataset", *beside)))
        looks = style.looks(parts(fits, plot))
        kept = dict(list(looks.items())[:MOST_CURVES])
        cells = tuple(row for row in sweep.done if label(row, plot) in kept)
        return cls(sweep, cells, plot, kept, len(looks) - len(kept))

    @classmethod
    def as_asked(cls, sweep: SweepRecord, plot: FigureSpec) -> FigureContext:
        """For a figure that a preset describes."""
        attacked = any(name.startswith("attack/") for name in plot.y)
        cells = tuple(sweep.done if attacked else once(sweep.done))
        plot = named(cells, replace(plot, x="") if plot.form == "roc" else plot)
        return cls(sweep, cells, plot, style.looks(parts(cells, plot)))

    @cached_property
    def rows(self) -> tuple[CellRecord, ...]:
        """The cells that have an error, each fit once."""
        return tuple(row for row in once(self.cells) if row.metric(f"utility/{row.primary}") is not None)

    @property
    def several(self) -> bool:
        return len(self.looks) > 1

    def picture(
        self, name: str, title: str, says: str, rows: Sequence[CellRecord], figure: Figure, *, cut: int = 0
    ) -> CaptionedFigure:
        """With the caption: what is shown, over how many runs, what is hollow and why, what is synthetic."""
        hollow: dict[str, list[str]] = {}
        for row in rows:
            if not row.ranked:
                hollow.setdefault(row.guarantee, []).append(rows_label(row))
        reasons = "; ".join(f"{listed(names)} ({why})" for why, names in hollow.items())
        drawn = list(dict.fromkeys(row.params["dataset"] for row in rows if row.synthetic))
        sentences = [
            says,
            f"Hollow: {reasons}." if reasons else "",
            f"SYNTHETIC data: {', '.join(drawn)}." if drawn else "",
            f"The first {MOST_PANELS} of {cut} panels." if cut > MOST_PANELS else "",
            f"The first {len(self.looks)} of {len(self.looks) + self.hidden} curves." if self.hidden else "",
            QUICK if self.sweep.quick else "",
        ]
        return CaptionedFigure(name, title, " ".join(filter(None, sentences)), figure)

    def lines(
        self,
        name: str,
        title: str,
        says: str,
        plot: FigureSpec,
        shown: Sequence[Panel],
        *,
        written: str = "",
        joined: bool = True,
        about: str | None = None,
    ) -> CaptionedFigure:
        few = shown[:MOST_PANELS]
        rows = [row for panel in few for row in panel.rows]
        figure = lines(few, plot, self.looks, title, written=written, joined=joined, about=about)
        return self.picture(name, title, says, rows, figure, cut=len(shown))


def _along(rows: Sequence[CellRecord]) -> str:
    """What general figures run along: ε, or where there is one ε alone the first number that the sweep varied."""
    own = [key for key in varying(rows) if "." in key and not _owned(key)]
    numbers = [key for key in own if all(isinstance(place(row, key), float) for row in rows if key in row.params)]
    return "epsilon" if len({row.params["epsilon"] for row in rows}) > 1 or not numbers else numbers[0]


def _owned(key: str) -> bool:
    """Whether a parameter is a mechanism's, and so a part of its name."""
    return key.partition(".")[0] == "mechanism"


def runs(rows: Sequence[CellRecord]) -> str:
    """How many runs a cell has, in words."""
    splits = list(dict.fromkeys(row.params["splits"] for row in rows))
    count = len(rows[0].detail.runs.get("repeat", ())) if len(splits) == 1 else 0
    return f"{count} runs ({splits[0]})" if count else f"runs of {listed(splits)}"
