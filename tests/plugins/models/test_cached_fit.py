"""The cache of exact fits: one fit per sample, and never the fit of another sample."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpbench.contracts.fit import Fit
from dpbench.data.geometry import Geometry
from dpbench.data.samples import Sample, WholeSample
from dpbench.data.scaling import Rows
from dpbench.plugins.models._cached_fit import cached_fit


class Counting:
    """A problem that counts its fits."""

    def __init__(self) -> None:
        self.fits = 0

    @cached_fit
    def exact(self, sample: Sample) -> Fit:
        """Fit a constant."""
        self.fits += 1
        return Fit.good(np.full((sample.runs, 1), float(self.fits)))


@pytest.fixture
def samples(geometry: Callable[..., Geometry], rows: Callable[..., Rows]) -> tuple[Sample, Sample]:
    """Two samples of equal rows."""
    x = [[0.25], [0.5]]
    return WholeSample(rows(geometry(1), x, [0.0, 1.0])), WholeSample(rows(geometry(1), x, [0.0, 1.0]))


def test_the_fit_of_one_sample_is_computed_once(samples) -> None:
    problem = Counting()
    assert problem.exact(samples[0]) is problem.exact(samples[0])
    assert problem.fits == 1


def test_another_sample_gets_a_fit_of_its_own_even_if_its_rows_are_equal(samples) -> None:
    problem = Counting()
    fits = [problem.exact(sample).weights[0, 0] for sample in (samples[0], samples[1], samples[0])]
    assert fits == [1, 2, 3], "only the last sample is cached"


def test_two_problems_share_no_fit(samples) -> None:
    first, second = Counting(), Counting()
    first.exact(samples[0])
    second.exact(samples[0])
    assert (first.fits, second.fits) == (1, 1)
