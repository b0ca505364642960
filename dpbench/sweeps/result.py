"""The result of a sweep in Python: frames, the answer in sentences, a plot and the report."""

from __future__ import annotations

import html
import math
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.base.errors import Omissions, Refused
from dpbench.base.terminal import say_prose
from dpbench.base.user_path import user_path
from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.formatting import number, plural
from dpbench.report.labels import setting, with_scale
from dpbench.report.leaderboards import share_lost
from dpbench.report.summary import SweepSummary

if TYPE_CHECKING:
    import pandas

REFERENCE_LINES = {"no_privacy": "--", "mean_only": ":"}
MAX_NOTEBOOK_ROWS = 30
"""A notebook shows the first and the last rows of a longer frame."""
TRUTH_VALUES = {"true": True, "false": False}


@dataclass(frozen=True, repr=False)
class Result:
    """The cells of a sweep, in the order of the command. A notebook shows the answer and the frame."""

    sweep: SweepRecord
    _summary: SweepSummary | None = field(default=None, compare=False)

    @property
    def summary(self) -> SweepSummary:
        """The leaderboards and comparisons, as the report has them."""
        return self._summary or SweepSummary(self.sweep)

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """One row per cell with short names: what was run, its error and references, its guarantee, and the keys that vary.

        ``error`` is the median of ``metric`` over the runs, between its 20 % and 80 % quantiles ``error_p20`` and ``error_p80``.
        ``no_privacy`` and ``mean_only`` are the same metric of the non-private fit and of the mean predictor. ``lost`` is the
        share of the way between them that is lost.
        """
        import pandas

        cells = self.sweep.cells
        values: dict[str, set[str | None]] = {}
        for key in dict.fromkeys(key for cell in cells for key in cell.params):
            values[key] = {cell.params.get(key) for cell in cells}
        rows = [_row(cell) for cell in cells]
        varying = [key for key, found in values.items() if len(found) > 1 and not any(key in row for row in rows)]
        for row, cell in zip(rows, cells, strict=True):
            row.update({key: cell.params.get(key) for key in varying})
        frame = pandas.DataFrame(rows)
        for key in varying:
            frame[key] = _typed(frame[key])
        return frame

    @cached_property
    def full(self) -> pandas.DataFrame:
        """One row per cell with all of its parameters, tags and metrics, by their public names (docs/records.md).

        Tags that are true or false are booleans; a cell that did not run has none of them.
        """
        import pandas

        cells = self.sweep.cells
        rows = [{"state": cell.state, "reason": cell.reason, **cell.params, **cell.tags, **cell.metrics} for cell in cells]
        frame = pandas.DataFrame(rows)
        for column in ("epsilon", "delta"):  # of a mechanism without a budget they are missing
            frame[column] = pandas.to_numeric(frame[column]) if column in frame else math.nan
        for column in {tag for cell in cells for tag in cell.tags}:
            if frame[column].dropna().isin(TRUTH_VALUES).all():
                frame[column] = frame[column].map(TRUTH_VALUES).astype("boolean")
        return frame

    @property
    def answer(self) -> str:
        """What a reader may conclude, in sentences."""
        return "\n".join(self.summary.headlines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the median error of each mechanism against ε, and return the matplotlib axes.

        The bands reach from the 20 % to the 80 % quantile of the runs; the grey lines are the two references.
        """
        from matplotlib import axes as matplotlib_axes
        from matplotlib import pyplot

        from dpbench.report.figures.axes import ticks

        if not isinstance(ax, matplotlib_axes.Axes | None):
            raise Refused(f"ax must be matplotlib axes, on which the plot is drawn, or None. Got {ax!r} instead.")
        done = self.frame[self.frame["error"].notna()]
        if done.empty:
            raise Refused(
                "A plot needs at least one cell with a result. None of this sweep's has one; their reasons are in .frame."
            )
        axes = pyplot.subplots(layout="constrained")[1] if ax is None else ax
        fixed = {"epsilon", "epsilon_accounted", "delta"}
        keys = [key for key in ("dataset", "model", *self._varying(done)) if key not in fixed and done[key].nunique() > 1]
        problems = done.groupby(["dataset", "model", "metric"], sort=False, dropna=False)
        for (dataset, model, _), problem in problems:
            for names, cells in problem.groupby(["mechanism", *keys], sort=False, dropna=False):
                points = cells.dropna(subset=["epsilon"]).sort_values("epsilon")
                if len(points):
                    label = ", ".join([names[0], *(setting(key, str(name)) for key, name in zip(keys, names[1:], strict=True))])
                    (line,) = axes.plot(points["epsilon"], points["error"], marker="o", label=label)
                    band = (points["error_p20"], points["error_p80"])
                    axes.fill_between(points["epsilon"], *band, color=line.get_color(), alpha=0.15, linewidth=0)
            of_problem = f": {dataset}, {model}" if len(problems) > 1 else ""
            for reference, style in REFERENCE_LINES.items():
                label = reference.replace("_", " ") + of_problem
                axes.axhline(problem[reference].median(), linestyle=style, color="grey", label=label)
        axes.set(xscale="log", xlabel="ε", ylabel=f"median {self._metrics}")
        ticks(axes, "x", sorted(done["epsilon"].dropna().unique()))
        axes.legend()
        return axes

    def report(self, folder: str | os.PathLike[str] = "report") -> Path:
        """Write the report, a page with its figures and tables, into a folder, and return the path of the page."""
        from dpbench.report.report_files import ReportFolder

        omissions = Omissions()
        page, *_ = ReportFolder(user_path(os.fspath(folder))).write(self.sweep, omissions)
        for sentence in omissions.sentences:
            say_prose(sentence, error=True)
        return page

    def _varying(self, frame: pandas.DataFrame) -> list[str]:
        return [column for column in frame if column not in _COLUMNS]

    def __len__(self) -> int:
        return len(self.sweep.cells)

    def __repr__(self) -> str:
        return f"Result of {plural(len(self), 'cell')}\n{self.answer}"

    def _repr_html_(self) -> str:
        sentences = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.summary.headlines)
        hidden = {"metric", "sound", "ranked"} | ({"state", "reason"} if not self.frame["reason"].any() else set())
        shown = self.frame.drop(columns=sorted(hidden)).dropna(axis="columns", how="all")
        formats = {**dict.fromkeys(("error", "error_p20", "error_p80", "no_privacy", "mean_only"), number), "lost": _percent}
        table = shown.to_html(
            index=False, border=0, na_rep="", max_rows=MAX_NOTEBOOK_ROWS, float_format="{:.4g}".format, formatters=formats
        )
        error = f"error: median {html.escape(self._metrics)}" if self.sweep.done else "no result"
        return f"<p><b>{plural(len(self), 'cell')}</b>, {error}</p><ul>{sentences}</ul>{table}"

    @property
    def _metrics(self) -> str:
        """The metrics that are errors of this sweep, and whether they are measured on the scaled target."""
        return ", ".join(dict.fromkeys(with_scale(cell, self.sweep) for cell in self.sweep.done))


def _percent(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:.1f} %"  # adding zero takes the sign from -0.0


def _typed(values: pandas.Series) -> pandas.Series:
    """Return the values of a key as numbers or booleans, if all of them are."""
    import pandas

    if values.isin(TRUTH_VALUES).all():
        return values.map(TRUTH_VALUES).astype(bool)
    try:
        return pandas.to_numeric(values)
    except ValueError:
        return values


def _row(cell: CellRecord) -> dict[str, Any]:
    """Return the columns that every cell has; numbers that it does not have are NaN."""
    names = {name: cell.params.get(name) for name in ("dataset", "model", "mechanism")}
    accounted, delta = (cell.metrics.get(f"privacy/{name}") for name in ("epsilon_accounted", "delta"))
    numbers = {
        "epsilon": cell.params.get("epsilon"),
        "epsilon_accounted": accounted,
        "delta": None if accounted is None else delta,
        "error": cell.error() if cell.done else None,
        "error_p20": cell.error("p20") if cell.done else None,
        "error_p80": cell.error("p80") if cell.done else None,
        "no_privacy": cell.reference("no_privacy") if cell.done else None,
        "mean_only": cell.reference("mean_predictor") if cell.done else None,
        "lost": share_lost(cell) if cell.done else None,
    }
    floats = {name: math.nan if value in (None, "None") else float(value) for name, value in numbers.items()}
    guarantee = {"guarantee": cell.guarantee if cell.done else "", "sound": cell.sound, "ranked": cell.ranked}
    return {**names, **floats, "metric": cell.primary or None, **guarantee, "state": cell.state, "reason": cell.reason}


_COLUMNS = frozenset(_row(CellRecord("pruned", {})))
