"""Weights are zero where the optimality conditions say so, and solve their equations where they are not."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.plugins.models._optimality import PenalisedObjective, polished


def objective(seed: int, size: int = 8, rank: int = 8, intercept: bool = False, absolute: float = 0.3) -> PenalisedObjective:
    """An objective whose largest eigenvalue is 1 and that has a minimum, also with fewer eigenvalues than coefficients."""
    generator = np.random.default_rng(seed)
    root = generator.normal(size=(rank, size))
    root /= np.linalg.norm(root, 2)
    linear = -2 * root.T @ (root @ generator.normal(size=size))
    padded = np.vstack([root, np.zeros((size - rank, size))])
    return PenalisedObjective(padded, linear / np.abs(linear).max(), absolute, np.arange(size) >= int(intercept))


def minimiser(part: PenalisedObjective, steps: int = 200_000) -> np.ndarray:
    """Proximal steps from zero until they stand still."""
    weights = np.zeros_like(part.linear)
    for _ in range(steps):
        after = part.proximal_step(weights) / 2 + weights / 2
        if (after == weights).all():
            break
        weights = after
    return weights


@pytest.mark.parametrize("rank", [8, 5])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_solution_to_six_digits_becomes_exact_with_exact_zeros(seed: int, intercept: bool, rank: int) -> None:
    part = objective(seed, rank=rank, intercept=intercept)
    expected = minimiser(part)
    rough = expected + 1e-7 * np.random.default_rng(seed).normal(size=8)
    weights = polished(rough, part)
    assert (rough != 0).all()
    assert 0 < np.count_nonzero(weights[1:] == 0) < 7
    np.testing.assert_array_equal(weights == 0, np.abs(expected) < 1e-12)
    slope = 2 * part.root.T @ (part.root @ weights) + part.linear
    inside = part.penalised & (weights == 0)
    assert (np.abs(slope[inside]) <= part.absolute + 1e-12).all()
    np.testing.assert_allclose(slope[~inside], -part.absolute * (np.sign(weights) * part.penalised)[~inside], atol=1e-12)


def test_a_wrong_guess_of_the_support_is_corrected() -> None:
    """The smallest weight of the minimiser is at zero in the guess: its slope says that it is not."""
    for seed in range(20):
        part = objective(seed)
        expected = minimiser(part)
        guess = np.where(np.abs(expected) == np.abs(expected[expected != 0]).min(initial=np.inf), 0.0, expected)
        np.testing.assert_allclose(polished(guess, part), expected, atol=1e-9)


def test_what_does_not_satisfy_the_conditions_is_no_solution() -> None:
    """A direction without curvature, in which the slope is steeper than the penalty: there is no minimum."""
    part = PenalisedObjective(np.diag([1.0, 0.0]), np.array([-1.0, -1.0]), 0.5, np.ones(2, dtype=bool))
    assert np.isnan(polished(np.array([0.25, 3.0]), part)).all()
