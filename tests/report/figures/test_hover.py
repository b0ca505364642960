"""Points say their values at the place where they are drawn, and only if they are on the axes."""

from __future__ import annotations

import math

import pytest
from matplotlib.figure import Figure

from dpbench.report.figures.hover import mark, marks


def test_a_place_is_a_share_of_the_figure_from_its_top_left() -> None:
    axes = Figure().add_axes((0.2, 0.4, 0.5, 0.5))
    axes.set(xlim=(0, 1), ylim=(0, 1))
    found = mark(axes, 0.5, 1.0, "a point")
    assert found is not None
    assert (found.left, found.top, found.text) == (pytest.approx(0.45), pytest.approx(0.1), "a point")


def test_what_is_beyond_the_axes_or_not_finite_has_no_mark() -> None:
    axes = Figure().subplots()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    assert marks([(axes, 2.0, 0.5, "beyond"), (axes, 0.5, math.nan, "nothing"), (axes, 0.5, 0.5, "there")])[0].text == "there"
