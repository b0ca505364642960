"""The bill of a sweep: what it would cost to release the best of many private cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpbench.accounting.composition import Guarantee

ETA = 1.0
"""The shape of the number of tries: 1 is the geometric law."""


@dataclass(frozen=True)
class SelectionPrice:
    """Two prices for one answer chosen among ``cells`` candidates, each fitted once on the same rows.

    ``naive``: everything is released, by basic composition; then anything may be done with it. ``selected``: a number of
    candidates drawn at random is fitted and only the best is released, the best by a score that each candidate releases
    within its own ε. A choice by an error that was computed on the private rows without noise is bounded by neither.
    """

    cells: int
    naive: Guarantee
    selected: Guarantee

    def metrics(self) -> dict[str, float]:
        """The finite numbers by their public names."""
        numbers = {
            "privacy/bill_cells": float(self.cells),
            "privacy/bill_naive_epsilon": self.naive.epsilon,
            "privacy/bill_naive_delta": self.naive.delta,
            "privacy/bill_selected_epsilon": self.selected.epsilon,
            "privacy/bill_selected_delta": self.selected.delta,
        }
        return {name: value for name, value in numbers.items() if math.isfinite(value)}


def bill(cells: Sequence[Guarantee]) -> SelectionPrice:
    """The bill of private cells by their accounted (ε, δ)."""
    naive = Guarantee(math.fsum(cell.epsilon for cell in cells), math.fsum(cell.delta for cell in cells))
    return SelectionPrice(len(cells), naive, selection(cells))


def selection(cells: Sequence[Guarantee], eta: float = ETA) -> Guarantee:
    """The best of K candidates, each drawn at random: K truncated negative binomial of shape η, as many as cells on average.

    With candidates of pure ε it is (2 + η)ε-DP, however many there are (Papernot and Steinke 2022, Theorem 2 with both orders
    to infinity; η = 1 is the random stopping of Liu and Talwar 2019). On any two neighbours the laws of an (ε, δ) candidate
    are within δ of two that are ε-DP (Dwork, Rothblum, Vadhan 2010), so the laws of the choice are within E[K] δ of two that
    are (2 + η)ε-DP, which adds E[K] δ (1 + e^((2 + η)ε)).
    """
    if not cells:
        return Guarantee(0.0, 0.0)
    epsilon = (2 + eta) * max(cell.epsilon for cell in cells)
    worst = max(cell.delta for cell in cells)
    if worst == 0:
        return Guarantee(epsilon, 0.0)
    # a large ε leaves nothing of δ: no guarantee
    delta = len(cells) * worst * (1 + math.exp(epsilon)) if epsilon < 700 else math.inf
    return Guarantee(epsilon, delta) if delta < 1 else Guarantee(math.inf, math.inf)
