"""Panels and curves hold the cells that belong together."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_helpers import BLUE, EPSILONS, SYNTHETIC, VERMILION, asked, drawn, figure_cell, grid, legend, marks


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
