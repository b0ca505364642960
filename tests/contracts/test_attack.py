"""An attack says which models it cannot attack, and its advantage has a cap that ε determines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from dpbench.contracts.attack import Attack, AttackTarget, advantage_cap


@dataclass(frozen=True)
class Guess(Attack):
    """Guesses."""

    name: ClassVar[str] = "guess"
    needs: ClassVar[frozenset[str]] = frozenset({"likelihood"})

    def run(self, target: AttackTarget) -> dict[str, np.ndarray]:
        return {}

    def refuses(self, model, geometry) -> str | None:
        return "it needs two columns" if geometry.features < 2 else None


def test_a_pruned_cell_gets_one_sentence(geometry) -> None:
    able, unable = (SimpleNamespace(name="linear", provides=provides) for provides in ({"likelihood"}, {"polynomial"}))
    assert Guess().unsupported(able, geometry(2)) is None
    assert Guess().unsupported(able, geometry(1)) == "The attack guess does not run on linear: it needs two columns."
    missing = "The attack guess does not run on linear: the model provides no likelihood."
    assert Guess().unsupported(unable, geometry(2)) == missing


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.1])
def test_the_cap_is_the_corner_of_the_region_of_errors(epsilon: float, delta: float) -> None:
    """Kairouz, Oh and Viswanath 2015: the smallest sum of both error rates is 2(1 - δ)/(1 + e^ε)."""
    errors = 2 * (1 - delta) / (1 + math.exp(epsilon))
    assert advantage_cap(epsilon, delta) == pytest.approx(1 - errors)


def test_without_privacy_the_cap_is_1_and_large_values_do_not_overflow() -> None:
    assert advantage_cap(math.inf) == 1
    assert advantage_cap(1e6, 0.5) == 1
