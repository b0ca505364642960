"""Scales show all values, and labels of ticks fit."""

from __future__ import annotations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from report_helpers import drawn, figure_cell

from dpbench.report.figures.axes import scale, ticks
from dpbench.report.figures.sheet import WIDE, Sheet


def panel() -> Sheet:
    """An empty figure with a single panel."""
    return Sheet.of(WIDE, [1], alone=(3, 2), among=(3, 2))


@pytest.mark.parametrize(
    ("values", "kind"),
    [([0.3, 0.5], "linear"), ([0.1, 40.0], "log"), ([-1.0, 0.5, 0.6, 1e9], "symlog"), ([-1.0, 2.0, float("inf")], "linear")],
)
def test_outliers_do_not_flatten_the_rest(values: list[float], kind: str) -> None:
    (axes,) = panel().axes
    axes.plot(range(len(values)), values)
    scale(axes, "y", values)
    assert axes.get_yscale() == kind


def test_signed_bands_of_the_runs_are_seen_whole_on_both_sides_of_zero() -> None:
    (axes,) = panel().axes
    assert scale(axes, "y", [-0.5, 0.2, 0.4], ends=[-30.0, 50.0], whole=True) == 0
    assert axes.get_yscale() == "symlog"
    assert axes.get_ylim()[0] < -30
    assert axes.get_ylim()[1] > 50
    (axes,) = panel().axes
    assert scale(axes, "y", [-0.5, 0.2, 0.4], ends=[-30.0, 50.0]) == 2


def test_a_panel_without_a_positive_value_takes_the_logarithmic_scale_of_its_row() -> None:
    """A warning is an error here."""
    axes = Figure().subplots()
    axes.plot([1.0, 2.0], [-0.3, -0.1])
    scale(axes, "y", [0.01, 0.4], log=True)
    assert axes.get_yscale() == "log"
    low, high = axes.get_ylim()
    assert 0 < low < 0.01
    assert high > 0.4


def test_no_tick_label_leaves_the_figure() -> None:
    for log, values in ((True, [0.00012, 0.0003501]), (False, [0.0, 0.0100025])):
        sheet = panel()
        figure, (axes,) = sheet.figure, sheet.axes
        scale(axes, "x", values, log=log)
        sheet.finish([], "title", "")
        renderer = FigureCanvasAgg(figure).get_renderer()
        figure.draw(renderer)
        labels = [text for text in axes.get_xticklabels() if text.get_text()]
        assert len(labels) > 1
        assert all(text.get_window_extent(renderer).x0 >= 0 for text in labels)
        assert all(text.get_window_extent(renderer).x1 <= figure.bbox.x1 for text in labels)


@pytest.mark.parametrize(("largest", "kind"), [(20.0, "linear"), (20.1, "log")])
def test_an_axis_is_logarithmic_from_twenty_times_the_smallest_number(largest: float, kind: str) -> None:
    (axes,) = panel().axes
    scale(axes, "y", [1.0, largest])
    assert axes.get_yscale() == kind


@pytest.mark.parametrize(("values", "named"), [(16, True), (17, False)])
def test_up_to_sixteen_values_are_named_on_the_axis(values: int, named: bool) -> None:
    epsilons = [round(1.013 + index / 50, 3) for index in range(values)]
    axes = drawn([figure_cell("fm", 0.5, epsilon) for epsilon in epsilons])["error_vs_epsilon"].figure.axes[0]
    labels = {text.get_text() for text in axes.get_xticklabels()}
    assert (labels <= {f"{epsilon:g}" for epsilon in epsilons}) == named


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.001, "0.001"), (9999, "9999"), (0.0, "0"), (1e4, "10⁴"), (1e-4, "10⁻⁴"), (2e-5, "2·10⁻⁵"), (-5e6, "-5·10⁶")],
)
def test_very_large_and_very_small_ticks_are_powers_of_ten(value: float, text: str) -> None:
    (axes,) = panel().axes
    axes.set_ylim(-1e7, 1e7)
    ticks(axes, "y", [value])
    assert [label.get_text() for label in axes.get_yticklabels()] == [text]
