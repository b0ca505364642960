"""What a fit knows of its own noise, as an author of a mechanism declares it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dpbench.contracts.fit import Fit
from dpbench.contracts.uncertainty import UNTOLD, IntervalRequest, Intervals, Method, Uncertainty


class OneEverywhere(Uncertainty):
    """Intervals that an author computes in a way of the author's own."""

    methods: ClassVar[tuple[Method, ...]] = ("covariance",)

    def intervals(self, request: IntervalRequest) -> Intervals | str:
        ones = np.ones_like(request.weights)
        return Intervals("covariance", request.weights, ones, request.weights - 1, request.weights + 1)


def test_a_fit_that_says_nothing_has_a_reason() -> None:
    assert Fit.good(np.zeros((2, 3))).uncertainty == UNTOLD


def test_a_fit_carries_what_its_author_gives_it() -> None:
    fit = Fit.good(np.zeros((2, 3))).knowing(OneEverywhere())
    assert isinstance(fit.uncertainty, Uncertainty)
    made = fit.uncertainty.intervals(IntervalRequest(fit.weights, np.full(2, 10.0), "covariance"))
    assert isinstance(made, Intervals)
    assert (made.high == 1).all()
    assert fit.status.tolist() == ["ok", "ok"]
