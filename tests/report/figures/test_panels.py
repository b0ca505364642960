"""Panels and curves hold the cells that belong together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cell_factory import unbudgeted
from report_helpers import BLUE, EPSILONS, PUBLIC, SYNTHETIC, VERMILION, asked, drawn, figure_cell, grid, legend, marks, words

from dpbench.records.cell_record import CellRecord
from dpbench.records.mechanism_style import mechanism_style
from dpbench.records.metric_info import MetricInfo
from dpbench.report.figures import style


def test_problems_have_panels_of_their_own_and_an_attack_does_not_draw_a_fit_twice() -> None:
    rows = [
        *grid("fm"),
        *grid("fm", params={"attack": "odd"}),
        *grid("fm", params={"dataset": "other", "dataset.n": "7"}, tags=SYNTHETIC),
    ]
    axes = drawn(rows)["error_vs_epsilon"].figure.axes
    assert [one.get_title() for one in axes] == ["linear on wine", "linear on other, n=7, SYNTHETIC"]
    assert len(marks(axes[0], BLUE)) == 3


def test_options_that_were_swept_make_curves() -> None:
    rows = [row for ridge in ("2", "4") for row in grid("fm", params={"mechanism.ridge": ridge})]
    assert legend(drawn([*rows, *grid("dpba")])["error_vs_epsilon"].figure)[:3] == ["fm (ridge=2)", "fm (ridge=4)", "dpba"]


def test_missing_numbers_and_failed_cells_are_left_out() -> None:
    unfinished = [figure_cell("bad", None, state="failed"), figure_cell("no", 0.1, state="pruned")]
    rows = [*grid("fm"), figure_cell("odd", None), *unfinished]
    assert legend(drawn(rows)["error_vs_epsilon"].figure)[:2] == ["fm", "non-private fit"]


def test_with_one_epsilon_the_errors_run_along_what_else_was_swept() -> None:
    rows = [figure_cell("fm", 1 / n, params={"dataset.n": str(n)}) for n in (10, 100, 1000)]
    found = drawn(rows)
    assert "error_vs_epsilon" not in found
    (axes,) = found["error_vs_n"].figure.axes
    assert [x for x, _, _ in marks(axes, BLUE)] == [10, 100, 1000]
    assert axes.get_xlabel() == "n"


def test_more_curves_than_can_be_told_apart_are_left_out_and_counted() -> None:
    picture = drawn(grid(*(f"m{index}" for index in range(24))))["error_vs_epsilon"]
    assert len(legend(picture.figure)) == 23
    assert "The first 21 of 24 curves." in picture.caption


@pytest.mark.parametrize(("statistic", "y"), [("median", 1.25), ("mean", 1.75), ("variance", 0.25)])
def test_the_statistic_is_the_one_that_is_asked_for(statistic: str, y: float) -> None:
    picture = asked(grid("fm"), statistic=statistic, band=None)
    assert picture
    assert marks(picture.figure.axes[0], BLUE)[1] == (0.8, y, True)
    assert picture.caption.startswith(f"A paper, Figure 1: errors; {statistic} over the 5 runs (1 x 5-fold) of each cell")


def test_each_panel_takes_the_first_metric_that_it_has() -> None:
    rate = [figure_cell("fm", None, epsilon, params={"model": "odd"}, metrics={"utility/rate_mean": 0.2}) for epsilon in EPSILONS]
    picture = asked([*grid("fm"), *rate], y=("utility/rmse", "utility/rate"), statistic="mean", band=None)
    assert picture
    assert [axes.get_ylabel() for axes in picture.figure.axes][1] == "rate"


def test_an_option_of_a_mechanism_can_be_the_axis_and_the_others_are_levels() -> None:
    rows = [figure_cell("fm", 0.5 + share, params={"mechanism.share": f"{share}"}) for share in (0.1, 0.5, 0.9)]
    picture = asked([*rows, figure_cell("dpba", 0.7)], x="mechanism.share", log=())
    assert picture
    (axes,) = picture.figure.axes
    assert marks(axes, BLUE) == [(0.1, 0.6, True), (0.5, 1.0, True), (0.9, 1.4, True)]
    assert [set(line.get_ydata()) for line in axes.lines if line.get_color() == VERMILION] == [{0.7}]


def test_what_else_varies_makes_curves_so_that_no_curve_folds_back() -> None:
    rows = [*grid("fm"), *grid("fm", params={"seed": "1"})]
    picture = asked([replace(row, params={"seed": "0", **row.params}) for row in rows])
    assert picture
    assert legend(picture.figure)[:2] == ["fm, seed=0", "fm, seed=1"]


def near(*excesses: float, mechanism: str = "fm", **more: Any) -> list[CellRecord]:
    """Cells whose errors exceed the non-private fit's, which is 0.5, by these numbers; the mean predictor's is 1.5."""
    levels = {"reference/no_privacy/rmse_median": 0.5, "reference/mean_predictor/rmse_median": 1.5}
    return [
        figure_cell(mechanism, 0.5 + excess, 2.0**index, metrics={**levels, "utility/excess_rmse_median": excess}, **more)
        for index, excess in enumerate(excesses)
    ]


@pytest.mark.parametrize(
    ("excesses", "added"), [((0.018, 0.018, 0.5, 0.5), True), ((0.025, 0.025, 0.5, 0.5), False), ((0.018, 0.5, 0.5), False)]
)
def test_a_curve_within_two_percent_of_the_axis_at_half_its_points_gets_a_panel_of_the_excess(
    excesses: tuple[float, ...], added: bool
) -> None:
    """The axis goes from 0.5 to 1.5, with 5 % of margin on either side: 2 % are 0.022."""
    picture = asked(near(*excesses), band=None)
    assert picture
    assert len(picture.figure.axes) == 1 + added
    assert ("Below: by how much each curve exceeds the non-private fit" in picture.caption) == added
    if added:
        axes = picture.figure.axes[1]
        assert axes.get_yscale() == "log"
        assert axes.get_ylabel() == "excess over the non-private fit"
        assert [y for _, y, _ in marks(axes, BLUE)] == list(excesses)


@pytest.mark.parametrize(("excess", "panels"), [(True, 2), (False, 1)])
def test_a_preset_says_whether_the_excess_has_a_panel(excess: bool, panels: int) -> None:
    for cells in (near(0.01, 0.01), near(0.5, 0.6)):
        picture = asked(cells, excess=excess, band=None)
        assert picture
        assert len(picture.figure.axes) == panels


@pytest.mark.parametrize(("better", "panels"), [("lower", 2), ("neither", 2), ("higher", 1)])
def test_where_higher_is_better_the_excess_is_a_gain_and_has_no_panel(better: Any, panels: int) -> None:
    """A lower log-likelihood than that of the non-private fit would have the triangle of a fit that lost nothing."""
    info = MetricInfo("utility/rmse", "log-likelihood", "", better)
    figure = drawn(near(0.01, -0.01, 0.01), metric_info={info.name: info})["error_vs_epsilon"].figure
    assert len(figure.axes) == panels


def test_without_an_excess_there_is_a_triangle_and_the_fit_itself_has_no_curve() -> None:
    exact = near(0.0, 1e-15, 0.0, mechanism="no_privacy", tags=PUBLIC)
    picture = asked([*near(0.01, -0.001, 0.02), *exact], band=None)
    assert picture
    axes = picture.figure.axes[1]
    assert "Triangles at the lower end: no more than the non-private fit." in words(picture.figure)
    assert [line.get_ydata()[0] for line in axes.lines if line.get_marker() == "v"] == [axes.get_ylim()[0]]
    assert not marks(axes, mechanism_style("no_privacy").colour)
    assert not [line for line in axes.lines if line.get_color() == style.GREY], "no references"
    only = asked(near(-0.01, -0.02), band=None)
    assert only
    assert len(only.figure.axes) == 1, "nothing exceeds the fit"


def test_a_curve_that_is_set_apart_has_a_panel_and_a_scale_of_its_own() -> None:
    rows = [row for alpha, error in (("opt", 0.2), ("paper", 900.0)) for row in near(error, params={"mechanism.alpha": alpha})]
    rows += near(0.3, mechanism="dpba")
    picture = asked(rows, apart=("mechanism.alpha=paper",), excess=False, band=None)
    assert picture
    first, second = picture.figure.axes
    assert [axes.get_title() for axes in (first, second)] == ["linear on wine", "linear on wine, alpha=paper"]
    assert [y for _, y, _ in marks(first, BLUE)] == [0.7]
    assert [y for _, y, _ in marks(second, BLUE)] == [900.5]
    assert first.get_ylim()[1] < 2
    assert legend(picture.figure)[:3] == ["fm (alpha=opt)", "fm (alpha=paper)", "dpba"]


def test_rows_hold_one_metric_and_panels_of_a_row_have_one_scale() -> None:
    rows = [row for data, error in (("a", 0.1), ("b", 0.4)) for row in near(error, params={"dataset": data})]
    rates = {"utility/rate_median": 0.2}
    rows += [figure_cell("fm", None, params={"dataset": data, "model": "odd"}, metrics=rates) for data in ("a", "b", "c")]
    picture = asked(rows, y=("utility/rmse", "utility/rate"), excess=False, band=None)
    assert picture
    axes = picture.figure.axes
    assert [one.get_ylabel() for one in axes] == [*["root mean square error (scaled target)"] * 2, *["rate"] * 3]
    assert axes[0].get_ylim() == axes[1].get_ylim()
    assert axes[0].get_ylim()[1] > 0.9, "both datasets fit"


def test_a_cell_without_a_budget_is_level_across_the_axis() -> None:
    """It is drawn as if it had been fitted at each ε, which is how it was drawn when it was."""
    level = figure_cell("no_privacy", 0.05, 0.1, tags=PUBLIC)
    whole = [*grid("fm"), *(replace(level, params={**level.params, "epsilon": str(epsilon)}) for epsilon in EPSILONS)]
    figures = [drawn(cells) for cells in (whole, [*grid("fm"), unbudgeted(level)])]
    colour = mechanism_style("no_privacy").colour
    for name in ("error_vs_epsilon", "boxes"):
        before, after = (figure[name].figure for figure in figures)
        assert legend(before) == legend(after)
        assert marks(before.axes[0], colour) == marks(after.axes[0], colour)
    assert [x for x, _, _ in marks(figures[1]["error_vs_epsilon"].figure.axes[0], colour)] == list(EPSILONS)


def test_without_any_budget_mechanisms_stand_next_to_each_other() -> None:
    cells = [unbudgeted(figure_cell(name, error, tags=PUBLIC)) for name, error in (("no_privacy", 0.1), ("truncated", 0.2))]
    found = drawn(cells)
    assert "error_vs_mechanism" in found
    assert [text.get_text() for text in found["boxes"].figure.axes[0].get_xticklabels()] == ["no_privacy", "truncated"]
