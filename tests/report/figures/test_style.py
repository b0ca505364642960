"""Curves can be told apart, and nothing is cut or covered."""

from __future__ import annotations

from dataclasses import replace

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from report_helpers import drawn, figure_cell, grid

from dpbench.report.figures import style


def test_no_two_looks_of_a_figure_agree_in_colour_or_in_grey() -> None:
    names = [f"m{index}" for index in range(21)]
    looks = style.curve_styles({name: (name, "") for name in names}).values()
    assert len({(look.colour, look.mark) for look in looks}) == 21
    assert len({(look.line, look.mark) for look in looks}) == 21
    pairs = {f"{one} {other}": (one, other) for one in names[:7] for other in names[:4]}
    assert len({(look.colour, look.mark) for look in style.curve_styles(pairs).values()}) == 28


@pytest.mark.parametrize(
    ("values", "scale"),
    [([0.3, 0.5], "linear"), ([0.1, 40.0], "log"), ([-1.0, 0.5, 0.6, 1e9], "symlog"), ([-1.0, 2.0, float("inf")], "linear")],
)
def test_outliers_do_not_flatten_the_rest(values: list[float], scale: str) -> None:
    _, (axes,) = style.sheet(1, (3, 2), (3, 2))
    axes.plot(range(len(values)), values)
    style.scale(axes, "y", values)
    assert axes.get_yscale() == scale


def test_signed_bands_of_the_runs_are_seen_whole_on_both_sides_of_zero() -> None:
    _, (axes,) = style.sheet(1, (3, 2), (3, 2))
    assert style.scale(axes, "y", [-0.5, 0.2, 0.4], ends=[-30.0, 50.0], whole=True) == 0
    assert axes.get_yscale() == "symlog"
    assert axes.get_ylim()[0] < -30
    assert axes.get_ylim()[1] > 50
    _, (axes,) = style.sheet(1, (3, 2), (3, 2))
    assert style.scale(axes, "y", [-0.5, 0.2, 0.4], ends=[-30.0, 50.0]) == 2


def test_nothing_is_cut_and_nothing_overlaps() -> None:
    """Every text lies within the figure, and the legend below all axes."""
    long = [row for index in range(6) for row in grid(f"a_mechanism_with_a_long_name_{index}")]
    other = [replace(row, params={**row.params, "dataset": "another", "dataset.variant": "with_options"}) for row in long]
    with style.styled():
        for picture in drawn([*long, *other]).values():
            figure = picture.figure
            renderer = FigureCanvasAgg(figure).get_renderer()
            figure.draw(renderer)
            parts = [part for axes in figure.axes for part in (axes.title, axes.yaxis.label, *axes.texts)]
            for text in [*figure.texts, *parts]:
                box = text.get_window_extent(renderer)
                assert box.x0 >= 0, text
                assert box.x1 <= figure.bbox.x1 + 1, text
                assert box.y1 <= figure.bbox.y1 + 1, text
            lowest = min(axes.get_tightbbox(renderer).y0 for axes in figure.axes)
            if figure.legends:
                below = figure.legends[0].get_window_extent(renderer)
                assert below.y1 <= lowest + 1
                assert below.x0 >= 0


def test_no_tick_label_leaves_the_figure() -> None:
    for log, values in ((True, [0.00012, 0.0003501]), (False, [0.0, 0.0100025])):
        figure, (axes,) = style.sheet(1, (3, 2), (3, 2))
        style.scale(axes, "x", values, log=log)
        style.finish(figure, [], "title", "")
        renderer = FigureCanvasAgg(figure).get_renderer()
        figure.draw(renderer)
        labels = [text for text in axes.get_xticklabels() if text.get_text()]
        assert len(labels) > 1
        assert all(text.get_window_extent(renderer).x0 >= 0 for text in labels)
        assert all(text.get_window_extent(renderer).x1 <= figure.bbox.x1 for text in labels)


@pytest.mark.parametrize(("largest", "scale"), [(20.0, "linear"), (20.1, "log")])
def test_an_axis_is_logarithmic_from_twenty_times_the_smallest_number(largest: float, scale: str) -> None:
    _, (axes,) = style.sheet(1, (3, 2), (3, 2))
    style.scale(axes, "y", [1.0, largest])
    assert axes.get_yscale() == scale


@pytest.mark.parametrize(("values", "named"), [(16, True), (17, False)])
def test_up_to_sixteen_values_are_named_on_the_axis(values: int, named: bool) -> None:
    epsilons = [round(1.013 + index / 50, 3) for index in range(values)]
    axes = drawn([figure_cell("fm", 0.5, epsilon) for epsilon in epsilons])["error_vs_epsilon"].figure.axes[0]
    labels = {text.get_text() for text in axes.get_xticklabels()}
    assert (labels <= {f"{epsilon:g}" for epsilon in epsilons}) == named
