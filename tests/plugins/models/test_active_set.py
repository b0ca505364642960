"""Coordinate descent and the search for the signs end at the minimiser, wherever they start."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.plugins.models._active_set import minimisers


def objectives(count: int, size: int, condition: float, rank: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positive semi-definite matrices of this condition number, slopes that have a minimum, and penalties from mild to strong."""
    generator = np.random.default_rng(size)
    vectors = np.linalg.qr(generator.normal(size=(count, size, size)))[0]
    values = np.where(np.arange(size) < (rank or size), condition ** -generator.uniform(0, 1, (count, size)), 0.0)
    matrix = (vectors * values[:, None]) @ np.swapaxes(vectors, -1, -2)
    linear = (matrix @ generator.normal(size=(count, size, 1)))[..., 0]
    return matrix, linear, np.abs(linear).max(axis=1) * 10 ** generator.uniform(-6, -0.5, count)


def violations(matrix, linear, absolute, penalised, weights) -> np.ndarray:
    """The largest violation of the optimality conditions of each objective, relative to its largest slope."""
    slopes = 2 * (matrix @ weights[:, :, None])[:, :, 0] + linear
    penalty = absolute[:, None] * penalised
    broken = np.where(weights == 0, np.maximum(np.abs(slopes) - penalty, 0), np.abs(slopes + penalty * np.sign(weights)))
    return broken.max(axis=1) / np.abs(linear).max(axis=1)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("size", "condition"), [(1, 1.0), (2, 1e3), (11, 1e2), (11, 1e8), (60, 1e4)])
def test_the_optimality_conditions_hold_to_rounding(size, condition, intercept) -> None:
    matrix, linear, absolute = objectives(40, size, condition)
    penalised = np.arange(size) >= int(intercept)
    weights = minimisers(matrix, linear, absolute, penalised, np.zeros_like(linear))
    assert violations(matrix, linear, absolute, penalised, weights).max() < 1e-9
    if size > 2:
        assert ((weights == 0).any(axis=1) & (weights != 0).any(axis=1)).any(), "the test sees no zeros"


def test_on_singular_objectives_they_hold_as_well() -> None:
    matrix, linear, absolute = objectives(40, 12, 1e3, rank=7)
    penalised = np.ones(12, dtype=bool)
    weights = minimisers(matrix, linear, absolute, penalised, np.zeros_like(linear))
    assert violations(matrix, linear, absolute, penalised, weights).max() < 1e-8


def test_equal_columns_share_their_weight() -> None:
    """The minimiser is not unique: the shortest one is taken."""
    x = np.random.default_rng(0).normal(size=(50, 3))[:, [0, 1, 2, 0]]
    linear = -2 * x.T @ (x[:, 0] + 0.1 * x[:, 1])
    weights = minimisers((x.T @ x)[None], linear[None], np.array([1.0]), np.ones(4, dtype=bool), np.zeros((1, 4)))[0]
    assert weights[0] == pytest.approx(weights[3], rel=1e-3)


def test_the_start_does_not_matter() -> None:
    """Far from the minimiser with the wrong signs, and the minimiser itself."""
    matrix, linear, absolute = objectives(40, 11, 1e4)
    penalised = np.arange(11) > 0
    expected = minimisers(matrix, linear, absolute, penalised, np.zeros_like(linear))
    for start in (-1e3 * expected, expected, np.random.default_rng(0).normal(size=expected.shape)):
        weights = minimisers(matrix, linear, absolute, penalised, start)
        np.testing.assert_array_equal(weights == 0, expected == 0)
        np.testing.assert_allclose(weights, expected, rtol=1e-7, atol=1e-12)


def test_the_unit_of_an_objective_does_not_matter() -> None:
    matrix, linear, absolute = objectives(10, 6, 1e2)
    penalised = np.ones(6, dtype=bool)
    expected = minimisers(matrix, linear, absolute, penalised, np.zeros_like(linear))
    for factor in (2.0**-40, 2.0**40):
        weights = minimisers(factor * matrix, factor * linear, factor * absolute, penalised, np.zeros_like(linear))
        np.testing.assert_array_equal(weights, expected)


def test_a_result_has_the_same_bits_alone_and_among_others() -> None:
    matrix, linear, absolute = objectives(40, 11, 1e4)
    penalised = np.arange(11) > 0
    together = minimisers(matrix, linear, absolute, penalised, np.zeros_like(linear))
    for some in (slice(7, 8), slice(3, 20), slice(None, None, -1)):
        alone = minimisers(matrix[some], linear[some], absolute[some], penalised, np.zeros_like(linear)[some])
        np.testing.assert_array_equal(together[some], alone)
