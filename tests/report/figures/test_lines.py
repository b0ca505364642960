"""Curves, bands and level lines are where the records put them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from report_helpers import BLUE, EPSILONS, PUBLIC, UNPROVEN, VERMILION, asked, drawn, figure_cell, grid, legend, marks, words

from dpbench.records.cell_record import CellRecord
from dpbench.report.figures import style


def test_points_bands_and_references_are_those_of_the_rows() -> None:
    figure = drawn(grid("fm", "dpba"))["error_vs_epsilon"].figure
    (axes,) = figure.axes
    assert marks(axes, BLUE) == [(0.1, 10.0, True), (0.8, 1.25, True), (3.2, 0.3125, True)]
    assert [y for _, y, _ in marks(axes, VERMILION)] == [20.0, 2.5, 0.625]
    band = axes.collections[0].get_paths()[0].vertices
    assert {(0.8, 1.24), (0.8, 1.27)} <= {(round(x, 6), round(y, 6)) for x, y in band}
    levels = {float(line.get_ydata()[0]) for line in axes.lines if line.get_color() == style.GREY}
    assert levels == {0.15, 0.1772}
    assert legend(figure) == ["fm", "dpba", "non-private fit", "mean predictor"]
    assert axes.get_xlabel() == "ε"
    assert axes.get_ylabel() == "root mean square error (scaled target)"
    assert axes.get_xscale() == "log"
    assert axes.get_yscale() == "log", "from 0.3 to 20"


def test_the_band_is_the_one_that_is_asked_for() -> None:
    for band, ends in (("quantiles", (1.24, 1.27)), ("confidence", (1.65, 1.85))):
        picture = asked(grid("fm"), band=band)
        assert picture
        found = {(round(x, 6), round(y, 6)) for x, y in picture.figure.axes[0].collections[0].get_paths()[0].vertices}
        assert {(0.8, ends[0]), (0.8, ends[1])} <= found
    picture = asked(grid("fm"), band=None)
    assert picture
    assert not picture.figure.axes[0].collections


def test_a_level_at_or_below_zero_has_its_triangle_at_the_left_edge() -> None:
    """Along the accounted ε a mechanism without a budget has no place, only a level."""
    levels = {"reference/no_privacy/rmse_median": 0.5}

    def cell(mechanism: str, excess: float, epsilon: float, **more: Any) -> CellRecord:
        metrics = {**levels, "utility/excess_rmse_median": excess, **more.pop("metrics", {})}
        return figure_cell(mechanism, 0.5 + excess, epsilon, metrics=metrics, **more)

    rows = [cell("gauss", 0.001, epsilon, metrics={"privacy/epsilon_accounted": 5 * epsilon}) for epsilon in EPSILONS]
    rows += [cell("truncated", -0.01, epsilon, tags=PUBLIC, without=("privacy/epsilon_accounted",)) for epsilon in EPSILONS]
    picture = drawn(rows)["error_vs_accounted"]
    axes = picture.figure.axes[1]
    assert axes.get_ylabel() == "excess over the non-private fit"
    triangles = {(x, y) for line in axes.lines if line.get_marker() == "v" for x, y in line.get_xydata().tolist()}
    assert triangles == {(axes.get_xlim()[0], axes.get_ylim()[0])}
    assert "Triangles at the lower end: no more than the non-private fit." in words(picture.figure)


def test_an_axis_of_words_has_a_place_for_each() -> None:
    rows = [figure_cell("fm", 0.5, params={"dataset.level": text}) for text in ("1", "many", "3")]
    picture = asked(rows, x="dataset.level")
    assert picture
    (axes,) = picture.figure.axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "many", "3"]


def test_named_references_are_drawn_over_the_axis() -> None:
    rows = [figure_cell("fm", 0.5, epsilon, metrics={"attack/cap": epsilon / 4}) for epsilon in EPSILONS]
    picture = asked(rows, references=("attack/cap",))
    assert picture
    (line,) = [line for line in picture.figure.axes[0].lines if line.get_color() == style.GREY]
    assert list(line.get_ydata()) == [epsilon / 4 for epsilon in EPSILONS]
    assert legend(picture.figure)[-1] == "cap of the guarantee"


def test_the_ends_of_bands_do_not_flatten_the_points() -> None:
    """With two repeats an interval may reach below zero and a hundred times too far."""
    wild = {"utility/rmse_ci_low": -500.0, "utility/rmse_ci_high": 500.0}
    picture = asked(
        [figure_cell("fm", 0.5 + index / 10, epsilon, metrics=wild) for index, epsilon in enumerate(EPSILONS)], band="confidence"
    )
    assert picture
    (axes,) = picture.figure.axes
    low, high = axes.get_ylim()
    assert axes.get_yscale() == "linear"
    assert low < 0.15
    assert high < 2
    assert "Bands are cut at the axis." in words(picture.figure)


@pytest.mark.parametrize(("low", "scale"), [(0.02, "log"), (-30.0, "symlog")])
def test_a_band_of_the_runs_is_seen_whole(low: float, scale: str) -> None:
    wide, times = {"utility/rmse_p20": low, "utility/rmse_p80": 50.0}, {"fm": 0.02, "dpba": 0.2}
    rows = [
        figure_cell(name, 0.5 + index / 10, epsilon, metrics={**wide, "time/fit_seconds": seconds})
        for name, seconds in times.items()
        for index, epsilon in enumerate(EPSILONS)
    ]
    rows = [replace(row, metrics={k: v for k, v in row.metrics.items() if "reference" not in k}) for row in rows]
    for name in ("error_vs_epsilon", "time_vs_error"):
        figure = drawn(rows)[name].figure
        (axes,) = figure.axes
        assert axes.get_yscale() == scale
        assert axes.get_ylim()[0] < low
        assert "cut" not in words(figure)
        assert axes.get_ylim()[1] > 50


def test_a_bar_that_is_cut_is_called_a_bar() -> None:
    found = {"attack/advantage_mean": 0.1, "attack/advantage_ci_low": -9.0, "attack/advantage_ci_high": 9.0}
    rows = [figure_cell("fm", 0.5 / epsilon, epsilon, metrics={**found, "attack/cap": 0.3}) for epsilon in EPSILONS]
    assert "Bars are cut at the axis." in words(drawn(rows)["attack_frontier"].figure)


def test_ranked_marks_stand_above_hollow_ones_and_leave_their_rim_to_be_seen() -> None:
    rows = [*grid("fm"), *(figure_cell("other", 1 / epsilon, epsilon, tags=UNPROVEN) for epsilon in EPSILONS)]
    figure = drawn(rows)["error_vs_epsilon"].figure
    drawn_marks = [line for line in figure.axes[0].lines if line.get_marker() not in ("None", "", None)]
    filled, hollow = drawn_marks
    assert filled.get_zorder() > hollow.get_zorder()
    assert filled.get_markersize() < hollow.get_markersize()
    assert "Where curves coincide, their marks overlap." in words(figure)
    assert "coincide" not in words(drawn(grid("fm", "other"))["error_vs_epsilon"].figure)


def test_an_interval_below_zero_is_seen_where_there_is_a_below() -> None:
    found = {"attack/advantage_mean": 0.1, "attack/advantage_ci_low": -0.05, "attack/advantage_ci_high": 0.25}
    figure = drawn([figure_cell("fm", 0.5 / epsilon, epsilon, metrics={**found, "attack/cap": 0.3}) for epsilon in EPSILONS])
    assert figure["attack_frontier"].figure.axes[0].get_ylim()[0] < -0.05


@pytest.mark.parametrize(("points", "all_of_them"), [(14, True), (15, False)])
def test_up_to_fourteen_points_are_annotated_and_else_the_ends(points: int, all_of_them: bool) -> None:
    """One of them is not private, and so has no ε to be annotated with."""
    cells = [figure_cell("fm", 0.6**index, index + 1.0, metrics={"time/fit_seconds": 1.3**index}) for index in range(points - 1)]
    cells.append(figure_cell("dpba", 0.9, tags=PUBLIC, metrics={"time/fit_seconds": 0.1}))
    texts = [text.get_text() for text in drawn(cells)["time_vs_error"].figure.axes[0].texts]
    assert (len(texts) > 2) == all_of_them, "those that would cover another are omitted"
    assert {"1", f"{points - 1}"} <= set(texts)


@pytest.mark.parametrize(("second", "texts"), [(1.02, {"1"}), (4.0, {"1", "2"})])
def test_a_text_that_would_cover_another_is_omitted(second: float, texts: set[str]) -> None:
    cells = [figure_cell("fm", 0.5, epsilon, metrics={"time/fit_seconds": time}) for epsilon, time in ((1.0, 1.0), (2.0, second))]
    cells.append(figure_cell("dpba", 0.9, tags=PUBLIC, metrics={"time/fit_seconds": 16.0}))
    assert {text.get_text() for text in drawn(cells)["time_vs_error"].figure.axes[0].texts} == texts
