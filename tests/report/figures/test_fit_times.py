"""A figure of times is drawn only where times differ by more than noise."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from cell_factory import make_sweep
from report_helpers import EPSILONS, figure_cell

from dpbench.report.figures.fit_times import times_differ
from dpbench.report.figures.panels import FigureData


@pytest.mark.parametrize(
    ("slow", "differ"),
    [((3.0, 3.3, 3.9), True), ((2.0, 2.1, 2.2), False), ((1.1, 4.0, 5.0), False)],
    ids=["three times as long", "less than three times", "overlapping"],
)
def test_times_differ_by_a_factor_and_do_not_overlap(slow: Sequence[float], differ: bool) -> None:
    times = {"fast": (0.9, 1.0, 1.2), "slow": slow}
    cells = [
        figure_cell(name, 0.2, epsilon, metrics={"time/fit_seconds": seconds})
        for name, values in times.items()
        for epsilon, seconds in zip(EPSILONS, values, strict=True)
    ]
    assert times_differ(FigureData.general(make_sweep(cells)), cells) == differ


def test_one_curve_has_nothing_to_differ_from() -> None:
    cells = [figure_cell("fm", 0.2, metrics={"time/fit_seconds": 1.0})]
    assert not times_differ(FigureData.general(make_sweep(cells)), cells)
