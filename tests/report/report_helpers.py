"""What the tests of reports share: cells in a few shapes, and readers of tables, pages and figures."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
from cell_factory import make_cell, make_sweep
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpbench.base.errors import Omissions
from dpbench.records.cell_record import CellRecord
from dpbench.records.preset import FigureSpec, Preset
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.figures import style
from dpbench.report.figures.catalog import CaptionedFigure, figures_of
from dpbench.report.note import note as note_of
from dpbench.report.report_files import write_report as write_report_of
from dpbench.report.statistics.paired import Contest, against_best
from dpbench.report.summary import SweepSummary
from dpbench.report.terminal_table import print_table

HOSTILE = '<script>alert("a&b")</script>'
COMMAND = "python -m dpbench -m mechanism=good,<b>bad</b>"
VOID = {"meta", "img", "br", "link"}
RNG = np.random.default_rng
EPSILONS = (0.1, 0.8, 3.2)
BLUE, VERMILION = "#0072B2", "#D55E00"
UNPROVEN = {"dpbench.sound": "false"}
PUBLIC = {"dpbench.sound": "false", "dpbench.private": "false"}
SYNTHETIC = {"dpbench.synthetic": "true"}
PUBLIC_FIT = make_cell("no_privacy", 0.0101, private=False)
"""The non-private fit: better than everything, and not ranked."""


def person_cell(mechanism: str, error: float, epsilon: float = 0.8, *, ranked: bool = True, **more: Any) -> CellRecord:
    """A cell on the table of people, whose references are 0.1 and 0.5."""
    more["params"] = {"dataset": "people", "splits": "12 x 2-fold", **more.get("params", {})}
    references = {"reference/no_privacy/rmse_median": 0.1, "reference/mean_predictor/rmse_median": 0.5}
    return make_cell(mechanism, error, epsilon, private=ranked, **{**more, "metrics": {**references, **more.get("metrics", {})}})


def errors_cell(mechanism: str, errors: Any, *, dataset: str = "wine", epsilon: float = 0.8, **more: Any) -> CellRecord:
    """A cell with these errors: one line per repeat, one column per fold."""
    return make_cell(mechanism, errors, epsilon, params={"dataset": dataset}, **more)


def priced_cell(mechanism: str = "fm", epsilon: float = 0.8, delta: float = 0.0, **more: Any) -> CellRecord:
    """A cell with simulated noise and an accounted δ."""
    tags = {"dpbench.noise": "simulation", **more.pop("tags", {})}
    return make_cell(mechanism, epsilon=epsilon, metrics={"privacy/delta": delta}, tags=tags, **more)


def figure_cell(mechanism: str, error: float | None, epsilon: float = 0.8, **more: Any) -> CellRecord:
    """A cell with five runs, one of them without an error, and distinct numbers for each statistic."""
    private = more.get("tags", {}).get("dpbench.private", "true") == "true"
    runs, metrics = {"repeat": np.zeros(5)}, dict(more.pop("metrics", {}))
    if error is not None:
        shifts = {"mean": 0.5, "p20": -0.01, "p80": 0.02, "ci_low": 0.4, "ci_high": 0.6}
        metrics = {f"utility/rmse_{name}": error + shift for name, shift in shifts.items()} | {"utility/rmse_std": 0.5} | metrics
        runs["utility/rmse"] = error + np.array([-0.02, -0.01, 0, 0.01, np.nan])
    params = {"splits": "1 x 5-fold", **more.pop("params", {})}
    return make_cell(mechanism, error, epsilon, private=private, params=params, metrics=metrics, runs=runs, **more)


def grid(*mechanisms: str, **more: Any) -> list[CellRecord]:
    """Cells at three ε; the mechanism's place in the list sets its error."""
    return [
        figure_cell(name, (index + 1) / epsilon, epsilon, **more) for index, name in enumerate(mechanisms) for epsilon in EPSILONS
    ]


def drawn(cells: Sequence[CellRecord], **more: Any) -> dict[str, CaptionedFigure]:
    with style.styled():
        return {figure.name: figure for figure in figures_of(make_sweep(cells, **more))}


def asked(cells: Sequence[CellRecord], **spec: Any) -> CaptionedFigure | None:
    """The preset's own figure."""
    preset = Preset(name="paper/fig1", title="A paper, Figure 1", shows="errors", figure=FigureSpec(**spec))
    return drawn(cells, preset=preset).get("figure")


def marks(axes: Axes, colour: str) -> list[tuple[float, float, bool]]:
    """The points of a colour: where they are, and whether they are filled."""
    points = []
    for line in axes.lines:
        if line.get_color() == colour and line.get_marker() not in ("None", "", None):
            filled = line.get_markerfacecolor() == colour
            points += [(float(x), float(y), filled) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]
    return sorted(points)


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()] if figure.legends else []


def words(figure: Figure) -> str:
    return " ".join(" ".join(text.get_text() for text in figure.texts).split())


def answer(cells: Sequence[CellRecord]) -> list[str]:
    return SweepSummary(make_sweep(cells)).answer


def note(sweep: SweepRecord, figure: str | None) -> str:
    return note_of(SweepSummary(sweep), figure)


def recorded(cells: Sequence[CellRecord]) -> Any:
    """The metrics of the parent run."""
    return SweepSummary(make_sweep(cells)).metrics


def printed(cells: Sequence[CellRecord]) -> str:
    out = io.StringIO()
    print_table(SweepSummary(make_sweep(cells)), out)
    return out.getvalue()


def body(text: str) -> list[list[str]]:
    """The entries of the rows of printed tables."""
    return [[entry.strip() for entry in line.strip("│").split("│")] for line in text.splitlines() if line.startswith("│")]


def led(cells: Sequence[CellRecord]) -> Contest:
    contest = against_best(cells)
    assert contest is not None
    return contest


def write_report(sweep: SweepRecord, folder: Path) -> list[str]:
    return write_report_of(SweepSummary(sweep), folder, Omissions())


def page_of(sweep: SweepRecord, folder: Path) -> Page:
    write_report(sweep, folder)
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def csv_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Page(HTMLParser):
    """What a browser would see: the elements with their attributes, all closed in order, and the text of each table cell."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[list[str]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.texts.append(data)
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]
