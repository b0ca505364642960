"""Proximal steps come close to the minimiser, with an intercept and without."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.plugins.models._active_set import minimisers
from dpbench.plugins.models._proximal import proximal
from dpbench.privacy.queries.quadratic import Quadratic


@pytest.mark.parametrize("intercept", [True, False])
def test_proximal_steps_come_close_to_the_minimiser(intercept) -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(20, 100, 8))
    matrix = np.swapaxes(x, 1, 2) @ x
    linear = -2 * (np.swapaxes(x, 1, 2) @ (x @ np.arange(8.0) + generator.normal(size=(20, 100)))[..., None])[..., 0]
    absolute = 10 ** generator.uniform(-2, 2.5, 20)
    exact = minimisers(matrix, linear, absolute, np.arange(8) >= intercept, np.zeros_like(linear))
    np.testing.assert_allclose(proximal(Quadratic(matrix, linear), absolute, intercept), exact, atol=1e-6)
