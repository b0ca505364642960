"""Box plots and ROC curves show the recorded runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from report_helpers import BLUE, EPSILONS, asked, drawn, figure_cell, grid, legend, marks, words

from dpbench.records.cell_record import DetailInMemory


def test_boxes_are_the_quartiles_of_the_finite_runs() -> None:
    (axes,) = drawn([figure_cell("fm", 0.5)])["boxes"].figure.axes
    box = axes.patches[0].get_path().vertices[:, 1]
    assert box.min() == pytest.approx(0.4875)
    assert box.max() == pytest.approx(0.5025)
    medians = [float(line.get_ydata()[0]) for line in axes.lines if line.get_color() == "black" and len(line.get_ydata())]
    assert medians == [pytest.approx(0.495)]


def test_of_many_values_some_have_boxes() -> None:
    (axes,) = drawn([figure_cell("fm", 0.5, epsilon) for epsilon in range(1, 101)])["boxes"].figure.axes
    assert [text.get_text() for text in axes.get_xticklabels()][::11] == ["1", "100"]
    assert len(axes.patches) == 12


def test_boxes_and_their_panels() -> None:
    picture = asked([*grid("fm"), *grid("fm", params={"dataset": "other"})], form="boxes", panels=("dataset",))
    assert picture
    assert [len(axes.patches) for axes in picture.figure.axes] == [3, 3]
    assert "box plots of the 5 runs" in picture.caption


def test_a_roc_curve_is_the_recorded_one() -> None:
    x = np.linspace(0, 1, 5)
    curve = {"x": x, "median": x**0.5, "mean": x**0.25, "p20": x, "p80": np.ones(5)}
    rows = [figure_cell("fm", 0.5, epsilon, curves={"utility/roc": curve}) for epsilon in (0.1, 0.8)]
    picture = asked([*rows, figure_cell("dpba", 0.5)], form="roc", y=("utility/roc",), statistic="mean", band=None)
    assert picture
    (axes,) = picture.figure.axes
    assert any(np.array_equal(line.get_ydata(), x**0.25) for line in axes.lines)
    assert legend(picture.figure) == ["fm, ε = 0.1", "fm, ε = 0.8", "guessing"]
    assert asked(grid("fm"), form="roc", y=("utility/roc",)) is None


def test_a_run_far_away_does_not_make_dashes_of_the_boxes_and_is_counted() -> None:
    rows = grid("fm")[:0]
    for mechanism in ("fm", "dpba"):
        row = figure_cell(mechanism, 0.5)
        runs = {**row.detail.runs, "utility/rmse": np.array([0.47, 0.48, 0.5, 0.51, 0.53, 4.4])}
        rows.append(replace(row, detail=DetailInMemory(runs=runs)))
    figure = drawn(rows)["boxes"].figure
    (axes,) = figure.axes
    assert axes.get_ylim()[1] < 2
    assert "2 runs beyond the axis: triangles at its end." in words(figure)
    assert [y for _, y, _ in marks(axes, BLUE) if y == axes.get_ylim()[1]], "a triangle"


def test_boxes_that_would_be_dashes_have_a_logarithmic_axis() -> None:
    rows = [figure_cell("fm", error, epsilon) for error, epsilon in zip((2.0, 0.3, 0.25), EPSILONS, strict=True)]
    assert drawn(rows)["boxes"].figure.axes[0].get_yscale() == "log"
    assert drawn(rows[1:])["boxes"].figure.axes[0].get_yscale() == "linear"


@pytest.mark.parametrize(("mechanisms", "datasets", "values"), [(4, 1, 12), (5, 1, 9), (24, 1, 2), (4, 9, 6)])
def test_as_many_values_have_boxes_as_fit_a_panel_and_a_figure(mechanisms: int, datasets: int, values: int) -> None:
    """48 boxes fit a panel and 240 a figure, and there are at least two values."""
    cells = [
        figure_cell(f"m{number}", 0.5, epsilon, params={"dataset": f"d{data}"})
        for number in range(mechanisms)
        for data in range(datasets)
        for epsilon in range(1, 21)
    ]
    figure = asked(cells, form="boxes")
    assert figure
    assert [len(axes.patches) for axes in figure.figure.axes] == [values * mechanisms] * datasets


@pytest.mark.parametrize(("height", "scale"), [(0.9, "log"), (1.1, "linear")])
def test_boxes_of_less_than_a_tenth_of_the_axis_are_too_flat(height: float, scale: str) -> None:
    """Three boxes from 1 to 11: the middle one has the median height."""
    cells = []
    for epsilon, (low, high) in zip(EPSILONS, ((1, 1 + height), (5, 5 + height), (11 - height, 11)), strict=True):
        cell = figure_cell("fm", 0.5, epsilon)
        cells.append(replace(cell, detail=DetailInMemory(runs={"repeat": np.zeros(2), "utility/rmse": np.array([low, high])})))
    assert drawn(cells)["boxes"].figure.axes[0].get_yscale() == scale
