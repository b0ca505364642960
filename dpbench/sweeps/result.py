"""The result of a sweep in Python: frames, the answer in sentences, a plot and the report."""

from __future__ import annotations

import html
import math
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.base.user_path import user_path
from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.formatting import plural
from dpbench.report.leaderboards import share_lost
from dpbench.report.summary import SweepSummary

if TYPE_CHECKING:
    import pandas

REFERENCE_LINES = {"no_privacy": "--", "mean_only": ":"}


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
        return pandas.DataFrame(rows)

    @cached_property
    def full(self) -> pandas.DataFrame:
        """One row per cell with all of its parameters, tags and metrics, by their public names (docs/records.md)."""
        import pandas

        rows = [
            {"state": cell.state, "reason": cell.reason, **cell.params, **cell.tags, **cell.metrics} for cell in self.sweep.cells
        ]
        frame = pandas.DataFrame(rows)
        for column in ("epsilon", "delta"):  # of a mechanism without a budget they are missing
            frame[column] = pandas.to_numeric(frame[column]) if column in frame else math.nan
        return frame

    @property
    def answer(self) -> str:
        """What a reader may conclude, in sentences."""
        return "\n".join(self.summary.headlines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the median error of each mechanism against ε, with the two references, and return the matplotlib axes."""
        from matplotlib import pyplot

        axes = pyplot.subplots()[1] if ax is None else ax
        done = self.frame[self.frame["state"].isin(["run", "resumed"])]
        fixed = {"epsilon", "epsilon_accounted", "delta"}
        keys = [key for key in ("dataset", "model", *self._varying(done)) if key not in fixed and done[key].nunique() > 1]
        problems = done.groupby(["dataset", "model", "metric"], sort=False, dropna=False)
        for (dataset, model, _), problem in problems:
            for names, cells in problem.groupby(["mechanism", *keys], sort=False, dropna=False):
                points = cells.dropna(subset=["epsilon"]).sort_values("epsilon")
                if len(points):
                    axes.plot(points["epsilon"], points["error"], marker="o", label=", ".join(map(str, names)))
            of_problem = f": {dataset}, {model}" if len(problems) > 1 else ""
            for reference, line in REFERENCE_LINES.items():
                label = reference.replace("_", " ") + of_problem
                axes.axhline(problem[reference].median(), linestyle=line, color="grey", label=label)
        axes.set(xscale="log", xlabel="ε", ylabel=", ".join(dict.fromkeys(done["metric"].dropna())))
        axes.legend()
        return axes

    def report(self, folder: str | os.PathLike[str] = "report") -> Path:
        """Write the report, a page with its figures and tables, into a folder, and return the path of the page."""
        from dpbench.report.report_files import ReportFolder

        return ReportFolder(user_path(os.fspath(folder))).write(self.sweep)

    def _varying(self, frame: pandas.DataFrame) -> list[str]:
        return [column for column in frame if column not in _COLUMNS]

    def __len__(self) -> int:
        return len(self.sweep.cells)

    def __repr__(self) -> str:
        return f"Result of {plural(len(self), 'cell')}\n{self.answer}"

    def _repr_html_(self) -> str:
        sentences = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.summary.headlines)
        table = self.frame.drop(columns=["metric", "state", "reason"]) if (self.frame["state"] != "failed").all() else self.frame
        return f"{sentences}{table.to_html(index=False, na_rep='', float_format='{:.4g}'.format)}"


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
