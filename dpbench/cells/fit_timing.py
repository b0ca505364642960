"""Time one fit from rows: what ``time/fit_seconds`` records."""

import statistics
import time
from collections.abc import Callable
from functools import cached_property

from dpbench.data.moments import Moments
from dpbench.data.samples import Sample, WholeSample
from dpbench.data.scaling import Rows

MAX_TIMED_FITS = 3
MAX_TIMING_SECONDS = 0.001
"""No further fit is timed after this long: every cell pays for it, and fits that take longer need no median."""


class FitTimer:
    """Times fits of one table from its rows.

    Most fits begin with the table's second moments, which cost far more than all that follows and are the same for every
    mechanism and every ε. They are summed and timed once, and their seconds count in each fit that uses them.
    """

    def __init__(self, rows: Rows) -> None:
        self._sample = _SummedOnce(rows)

    def seconds(self, fit: Callable[[Sample], object]) -> float:
        """Return the seconds of a fit: the median of a few."""
        sample, times = self._sample, list[float]()
        of_moments = sample.seconds_of_moments
        sample.used_moments = False
        while len(times) < MAX_TIMED_FITS and sum(times) < MAX_TIMING_SECONDS:
            start = time.perf_counter()
            fit(sample)
            times.append(time.perf_counter() - start)
        return statistics.median(times) + (of_moments if sample.used_moments else 0.0)


class _SummedOnce(WholeSample):
    """A table that computes its second moments once, and knows whether they were used."""

    used_moments = False

    @cached_property
    def _timed_moments(self) -> tuple[Moments, float]:
        start = time.perf_counter()
        moments = super().moments
        return moments, time.perf_counter() - start

    @property
    def seconds_of_moments(self) -> float:
        """What computing them took."""
        return self._timed_moments[1]

    @property
    def moments(self) -> Moments:
        self.used_moments = True
        return self._timed_moments[0]
