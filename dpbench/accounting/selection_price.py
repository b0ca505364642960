"""The price of selection: what it costs to release the best of many private cells."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpbench.accounting.composition import Guarantee

GEOMETRIC, LOGARITHMIC = 1.0, 0.0
"""Shapes η of the law of the number of candidates that are drawn."""
SMALLEST_DELTA = 1e-200
"""The smallest δ of a candidate: below it, the conversions of δ run out of digits."""


@dataclass(frozen=True)
class SelectionPrice:
    """Prices for one answer chosen among ``cells`` candidates, each fitted once on the same rows with noise of its own.

    ``naive``: everything is released, by basic composition; then anything may be done with it. ``selected`` and ``geometric``:
    a number of candidates drawn at random is fitted and only the best is released, the best by a score that each candidate
    releases within its own ε. The number has the logarithmic or the geometric law. None covers a choice by an error that was
    computed on the private rows without noise.
    """

    cells: int
    naive: Guarantee
    selected: Guarantee
    geometric: Guarantee

    @property
    def selection_pays(self) -> bool:
        """Whether private selection has a smaller ε than releasing everything."""
        return self.selected.epsilon < self.naive.epsilon

    def metrics(self) -> dict[str, float]:
        """Return the finite numbers by their public names."""
        numbers = {
            "privacy/release_cells": float(self.cells),
            "privacy/release_all_epsilon": self.naive.epsilon,
            "privacy/release_all_delta": self.naive.delta,
            "privacy/release_best_epsilon": self.selected.epsilon,
            "privacy/release_best_delta": self.selected.delta,
            "privacy/release_best_geometric_epsilon": self.geometric.epsilon,
            "privacy/release_best_geometric_delta": self.geometric.delta,
        }
        return {name: value for name, value in numbers.items() if math.isfinite(value)}


def price_selection(cells: Sequence[Guarantee]) -> SelectionPrice:
    """Return the prices for private cells with these accounted (ε, δ)."""
    naive = Guarantee(math.fsum(cell.epsilon for cell in cells), math.fsum(cell.delta for cell in cells))
    return SelectionPrice(len(cells), naive, private_selection(cells, LOGARITHMIC), private_selection(cells, GEOMETRIC))


def private_selection(cells: Sequence[Guarantee], eta: float, mean: float | None = None) -> Guarantee:
    """Return the (ε, δ) of the best of K candidates drawn at random, on average ``mean``: by default as many as there are cells.

    K has the truncated negative binomial law of shape η > -1: logarithmic at 0, geometric at 1 (the random stopping of Liu and
    Talwar 2019). With candidates of pure ε the choice is (2 + η)ε-DP, whatever the mean of K (Papernot and Steinke 2022,
    Theorem 2 with both orders to infinity). Proof: if q is the probability that a candidate is better than y, then y is chosen
    with density Q(y) f'(1 - q), where f'(1 - q) is proportional to (γ + (1 - γ) q)^-(1 + η) (f is K's generating function). A
    neighbour changes Q(y) by a factor of at most e^ε, q too, hence γ + (1 - γ) q too, and f' by at most e^((1 + η)ε). Where
    scores tie, whichever came first is chosen, and f' is averaged between q without and with the ties: the factor is the same.

    On any two neighbours the laws of an (ε, δ) candidate are within δ of two that are ε-DP (Dwork, Rothblum, Vadhan 2010), so
    the laws of the choice are within E[K] δ of two that are (2 + η)ε-DP, which adds E[K] δ (1 + e^((2 + η)ε)).
    """
    if not cells:
        return Guarantee(0.0, 0.0)
    epsilon = (2 + eta) * max(cell.epsilon for cell in cells)
    worst = max(cell.delta for cell in cells)
    if worst == 0:
        return Guarantee(epsilon, 0.0)
    # where the failures add up to 1, nothing is guaranteed; e^ε overflows above ε = 700
    delta = (mean or len(cells)) * worst * (1 + math.exp(epsilon)) if epsilon < 700 else math.inf
    return Guarantee(epsilon, delta) if delta < 1 else Guarantee(math.inf, math.inf)


def candidate_budget(total: Guarantee, mean: float) -> Guarantee | None:
    """Return what each candidate may cost, so that the best of K with the logarithmic law costs the total.

    The inverse of :func:`private_selection` at η = 0; None if so little of δ is left that it is no number.
    """
    delta = total.delta / mean / (1 + math.exp(total.epsilon)) if total.epsilon < 700 else 0.0
    return None if total.delta and delta < SMALLEST_DELTA else Guarantee(total.epsilon / 2, delta)
