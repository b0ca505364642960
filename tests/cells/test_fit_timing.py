"""Timing one fit: it pays for the second moments if it uses them, although they are summed once."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from dpbench.cells.fit_timing import MAX_TIMED_FITS, FitTimer
from dpbench.data.moments import gram
from dpbench.data.samples import Sample
from dpbench.data.scaling import Rows, scale


@pytest.fixture
def rows(table) -> Rows:
    return scale(table(np.linspace(-1, 1, 60).reshape(20, 3), np.zeros(20)), "box", False, "real")


@pytest.fixture
def timer(rows, monkeypatch) -> FitTimer:
    """A timer whose clock moves by a second each time that it is read."""
    seconds = count()
    monkeypatch.setattr("dpbench.cells.fit_timing.time.perf_counter", lambda: float(next(seconds)))
    return FitTimer(rows)


def test_a_fit_that_uses_second_moments_pays_for_them(timer, rows) -> None:
    assert timer.seconds(lambda sample: sample.n) == 1
    assert timer.seconds(lambda sample: sample.moments) == 2
    assert timer.seconds(lambda sample: sample.sums) == 1


def test_the_second_moments_are_those_of_the_rows_and_summed_once(timer, rows) -> None:
    seen = []
    for _ in range(3):
        timer.seconds(lambda sample: seen.append(sample.moments))
    assert len({id(moments) for moments in seen}) == 1
    np.testing.assert_array_equal(seen[0].gram[0], gram(rows.z))


def test_short_fits_are_repeated_and_long_ones_are_not(rows, monkeypatch) -> None:
    fits: list[Sample] = []
    for step, expected in ((1e-6, MAX_TIMED_FITS), (1.0, 1)):
        seconds = count()
        monkeypatch.setattr("dpbench.cells.fit_timing.time.perf_counter", lambda seconds=seconds, step=step: step * next(seconds))
        fits.clear()
        FitTimer(rows).seconds(fits.append)
        assert len(fits) == expected
