"""The forest plot shows the recorded intervals, coefficient by coefficient, and nothing that is not recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cell_factory import make_sweep
from matplotlib.colors import to_rgba
from report_helpers import BLUE, drawn, figure_cell, legend, words

from dpbench.records.cell_record import CellRecord
from dpbench.records.mechanism_style import mechanism_style
from dpbench.report.figures import style
from dpbench.report.figures.catalog import CaptionedFigure, figures_of
from dpbench.report.figures.forest import MAX_COEFFICIENTS, MAX_CURVES, MAX_PANELS
from dpbench.report.figures.sheet import COLUMN

GREY = "#8C8C8C"


def interval_cell(mechanism: str = "fm", *, width: float = 0.4, slopes: int = 2, exact: bool = True, **more: Any) -> CellRecord:
    """A cell whose intervals lie around 0, 0.1, 0.2 and so on; the non-private ones are a quarter as wide."""
    tags = {"dpbench.intervals": f"Made by {mechanism}.\nOf all.", "dpbench.interval_method": "delta", **more.pop("tags", {})}
    cell = figure_cell(mechanism, 0.5, **{"epsilon": 0.8, **more}, tags=tags)
    table = {}
    for index, name in enumerate(["intercept", *(f"x{number}" for number in range(1, slopes + 1))]):
        centre = index / 10
        table[name] = {"low": centre - width / 2, "high": centre + width / 2, "width": width}
        if exact:
            table[name] |= {"reference_low": centre - 0.05, "reference_high": centre + 0.05, "truth": centre + 0.01}
    return replace(cell, detail=replace(cell.detail, intervals=table))


def forest(cells: Sequence[CellRecord], **more: Any) -> CaptionedFigure:
    return drawn(cells, **more)["intervals"]


def segments(figure: CaptionedFigure, colour: str, panel: int = 0) -> list[tuple[float, float, float]]:
    """The horizontal lines of a colour from top to bottom: their ends and where they stand."""
    lines = [
        (float(line[0, 0]), float(line[1, 0]), float(line[0, 1]))
        for collection in figure.figure.axes[panel].collections
        if np.allclose(collection.get_color(), to_rgba(colour))
        for line in collection.get_segments()
        if line[0, 1] == line[1, 1]
    ]
    return sorted(lines, key=lambda line: line[2])


def test_each_slope_has_the_recorded_interval_below_the_non_private_one_and_the_intercept_has_none() -> None:
    figure = forest([interval_cell()])
    (axes,) = figure.figure.axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["x1", "x2"]
    assert [line[:2] for line in segments(figure, BLUE)] == [pytest.approx((-0.1, 0.3)), pytest.approx((0.0, 0.4))]
    assert [line[:2] for line in segments(figure, GREY)] == [pytest.approx((0.05, 0.15)), pytest.approx((0.15, 0.25))]
    for row, (private, exact) in enumerate(zip(segments(figure, BLUE), segments(figure, GREY), strict=True)):
        assert row - 0.5 < exact[2] < private[2] < row + 0.5, "the axis points down"
    assert legend(figure.figure) == ["fm", "without privacy", "what is to be covered"]
    assert figure.title == "Intervals of the coefficients at ε = 0.8"


@pytest.mark.parametrize("estimated", [True, False])
def test_the_mark_is_at_the_estimate_and_in_older_records_in_the_middle(estimated: bool) -> None:
    cell = interval_cell()
    if estimated:
        table = {name: {**row, "estimate": row["low"] + 0.1} for name, row in cell.detail.intervals.items()}
        cell = replace(cell, detail=replace(cell.detail, intervals=table))
    (axes,) = forest([cell]).figure.axes
    marks = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == 2 and line.get_linestyle() == "None"]
    assert marks[0] == pytest.approx([0.0, 0.1] if estimated else [0.1, 0.2])


@pytest.mark.parametrize(("levels", "chosen"), [((0.1, 0.8, 3.2), "0.8"), ((2.0, 4.0), "2"), ((1.0, 3.0), "1")])
def test_the_epsilon_is_the_largest_up_to_one_or_else_the_smallest(levels: tuple[float, ...], chosen: str) -> None:
    figure = forest([interval_cell(epsilon=level) for level in levels])
    assert figure.title.endswith(f"ε = {chosen}")
    assert len(segments(figure, BLUE)) == 2


def test_there_is_no_figure_without_intervals_of_a_private_cell() -> None:
    assert "intervals" not in drawn([figure_cell("fm", 0.5)])
    public = interval_cell("no_privacy", tags={"dpbench.private": "false", "dpbench.sound": "false"})
    assert "intervals" not in drawn([public])


def test_without_non_private_intervals_nothing_is_grey_and_the_caption_says_why() -> None:
    figure = forest([interval_cell(exact=False, tags={"dpbench.digest_key": "1a2b"})])
    assert segments(figure, GREY) == []
    assert legend(figure.figure) == ["fm"]
    assert "not recorded: the table is private." in figure.caption
    assert "not recorded: the fit without privacy has no standard errors." in forest([interval_cell(exact=False)]).caption
    assert "not recorded" not in forest([interval_cell()]).caption


def test_methods_stand_side_by_side_and_datasets_apart() -> None:
    cells = [
        interval_cell(params={"inference.method": method, "dataset": dataset})
        for method in ("delta", "naive")
        for dataset in ("wine", "other")
    ]
    figure = forest(cells)
    assert len(figure.figure.axes) == 2
    assert legend(figure.figure)[:2] == ["fm, method=delta", "fm, method=naive"]
    assert [len(segments(figure, BLUE, panel)) for panel in (0, 1)] == [4, 4]


def test_very_wide_intervals_are_cut_with_arrows_so_that_the_others_stay_visible() -> None:
    wide = mechanism_style("dpba").colour
    figure = forest([interval_cell("fm"), interval_cell("dpba", width=1000.0)])
    (axes,) = figure.figure.axes
    low, high = axes.get_xlim()
    assert high - low < 3
    assert "Arrows: it goes on." in words(figure.figure)
    arrows = [line.get_marker() for line in axes.lines if line.get_color() == wide and line.get_marker() in "<>"]
    assert sorted(arrows) == ["<", ">"]
    assert all(low <= start < end <= high for start, end, _ in segments(figure, wide))
    assert "Arrows" not in words(forest([interval_cell("fm")]).figure)


def test_what_does_not_fit_is_counted_and_ranked_cells_come_first() -> None:
    unranked = interval_cell("unproven", tags={"dpbench.sound": "false"})
    figure = forest([unranked, *(interval_cell(f"m{index}", slopes=40) for index in range(MAX_CURVES))])
    assert "unproven" not in legend(figure.figure)
    rows = len(figure.figure.axes[0].get_yticklabels())
    assert rows < MAX_COEFFICIENTS
    assert f"1 more curve and {40 - rows} more coefficients" in figure.caption
    many = forest([interval_cell(params={"dataset": f"d{index}"}) for index in range(MAX_PANELS + 2)])
    assert len(many.figure.axes) == MAX_PANELS
    assert "2 more panels" in many.caption
    assert len(forest([interval_cell(slopes=40)]).figure.axes[0].get_yticklabels()) == MAX_COEFFICIENTS


def test_the_caption_says_what_the_intervals_are_and_that_they_are_those_of_one_run() -> None:
    caption = forest([interval_cell("fm"), interval_cell("dpba")]).caption
    assert "each cell's first run" in caption
    assert "Of all. fm: Made by fm. dpba: Made by dpba." in caption


def test_in_a_column_panels_stand_below_each_other_while_they_fit() -> None:
    cells = [interval_cell(slopes=24, params={"dataset": name}) for name in ("wine", "other")]
    with style.styled(**COLUMN.settings):
        figure = {one.name: one for one in figures_of(make_sweep(cells), COLUMN)}["intervals"].figure
    assert len(figure.axes) == 1
    assert figure.get_size_inches()[0] == pytest.approx(3.3)
    assert "1 more panel in the wide figure" in words(figure)
