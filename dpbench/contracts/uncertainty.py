"""What a fit knows of its own noise, and the intervals that follow from it: post-processing, which costs no budget."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

Covers = Literal["population", "table"]
"""``population``: the uncertainty of sampling and of privacy together, about the coefficients of the population that the rows
come from. ``table``: the noise of privacy alone, about the non-private fit to the same rows."""
Method = Literal["naive", "delta", "bootstrap", "iterates", "covariance"]

UNTOLD = "the mechanism does not say how its noise moves the coefficients"


@dataclass(frozen=True)
class IntervalRequest:
    """What intervals are asked for."""

    weights: np.ndarray
    """The released weights: (runs, D)."""
    n: np.ndarray
    """The public number of rows of each run."""
    method: Method
    covers: Covers = "population"
    level: float = 0.95
    draws: int = 999
    """How often the bootstrap draws in each run."""
    stream: Callable[[int], np.random.Generator] = np.random.default_rng
    """Returns the random numbers of a run. No interval is part of a private answer, so a seed is no risk."""


@dataclass(frozen=True)
class Intervals:
    """An interval for each coefficient of each run."""

    method: Method
    centre: np.ndarray
    """The estimates that the intervals belong to: not always the weights. (runs, D)"""
    standard_errors: np.ndarray
    """(runs, D)"""
    low: np.ndarray
    """The ends and the standard error are infinite where the release does not determine a coefficient. (runs, D)"""
    high: np.ndarray
    covariance: np.ndarray | None = None
    """Of the estimates: (runs, D, D). Predictions need it."""
    residual_variance: np.ndarray | None = None
    """Of the scaled target around its regression: (runs,)."""
    floored: np.ndarray | None = None
    """In which runs noise hides the curvature in some direction, so that the estimate is drawn towards 0: (runs,)."""
    remarks: tuple[str, ...] = ()
    """What limits these intervals, in sentences."""
    residual_variance_error: np.ndarray | None = None
    """The standard deviation that the noise of privacy gives the residual variance: (runs,). Predictions need it."""


class Uncertainty(ABC):
    """The base class of what a fit knows of its own noise. ``Fit.uncertainty`` is one, or a sentence that says why there is none.

    It holds what was released and the public laws of its noise, and nothing else: no row, and no answer without noise. Most
    mechanisms use one that is ready: :func:`dpbench.released_moments` for noisy second moments, :func:`dpbench.iterates` for
    noisy gradients, or :class:`dpbench.KnownCovariance` for a covariance matrix of the author's own. A sweep takes any subclass.
    A release takes these three alone: what they hold is compared with what the mechanism makes of its noisy answers without rows.
    """

    methods: ClassVar[tuple[Method, ...]]
    """The ways to make intervals, the recommended one first."""
    takes_long: ClassVar[bool] = False
    """Whether the recommended way takes as long as a fit: then cells of several runs have intervals on request alone."""

    @abstractmethod
    def intervals(self, request: IntervalRequest) -> Intervals | str:
        """Return the intervals that the request describes, or why there are none, as the end of a sentence."""
