"""The statement says how strong the promise is."""

from __future__ import annotations

import math

import pytest

from dpbench.releases import statement


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [
        (0.5, "at most 1.65."),
        (1.0, "at most 2.72."),
        (1 + 5e-15, "at most 2.72."),
        (1.1, "a weak promise"),
        (5.1, "promises next to nothing"),
        (800, "10^300"),
    ],
)
def test_the_statement_says_what_epsilon_means(epsilon: float, words: str) -> None:
    assert words in statement._strength(epsilon)
    assert math.isfinite(epsilon)
