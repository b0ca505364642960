"""The contract of an attack: how far a guarantee caps every attack's advantage."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.contracts.attack import advantage_cap


class TestCap:
    @pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 5.0])
    def test_randomised_response_reaches_it(self, epsilon: float) -> None:
        truth = np.exp(epsilon) / (1 + np.exp(epsilon))
        assert advantage_cap(epsilon) == pytest.approx(truth - (1 - truth))

    @pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0])
    @pytest.mark.parametrize("delta", [0.0, 1e-6, 0.1, 1.0])
    def test_so_does_randomised_response_that_fails_openly(self, epsilon: float, delta: float) -> None:
        """With probability δ it says everything: (ε, δ)-DP, and the difference is δ + (1 - δ) times that of ε."""
        e = np.exp(epsilon)
        assert advantage_cap(epsilon, delta) == pytest.approx(delta + (1 - delta) * (e - 1) / (e + 1))
        assert advantage_cap(epsilon, delta) == pytest.approx((e - 1 + 2 * delta) / (e + 1))

    def test_nothing_private_allows_everything(self) -> None:
        assert advantage_cap(float("inf")) == 1
        assert advantage_cap(1000.0) == 1
        assert advantage_cap(0.0) == 0
