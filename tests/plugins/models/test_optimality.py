"""Weights are zero where the optimality conditions say so, and solve their equations where they are not."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.plugins.models._optimality import PenalisedObjective, polished

SIZE = 8


def made(seed: int, rank: int = SIZE, intercept: bool = False) -> tuple[PenalisedObjective, np.ndarray]:
    """An objective made so that its minimiser is known: three coefficients and the intercept are not zero."""
    generator = np.random.default_rng(seed)
    root = np.vstack([generator.normal(size=(rank, SIZE)), np.zeros((SIZE - rank, SIZE))])
    root /= np.linalg.norm(root, 2)
    penalised = np.arange(SIZE) >= int(intercept)
    minimiser = np.where(np.arange(SIZE) % 3 == 1, generator.choice([-1, 1], SIZE) * generator.uniform(0.2, 2, SIZE), 0.0)
    minimiser[~penalised] = 0.7
    absolute = 0.3
    subgradient = np.where(minimiser != 0, np.sign(minimiser), generator.uniform(-0.9, 0.9, SIZE)) * penalised
    linear = -2 * root.T @ (root @ minimiser) - absolute * subgradient
    return PenalisedObjective(root, linear, absolute, penalised), minimiser


@pytest.mark.parametrize("rank", [8, 5])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_solution_to_six_digits_becomes_exact_with_exact_zeros(intercept: bool, rank: int) -> None:
    for seed in range(20):
        objective, expected = made(seed, rank, intercept)
        rough = expected + 1e-7 * np.random.default_rng(seed).normal(size=SIZE)
        assert (rough != 0).all()
        weights = polished(rough, objective)
        np.testing.assert_array_equal(weights == 0, expected == 0)
        np.testing.assert_allclose(weights, expected, rtol=1e-9)
        assert objective.violation(weights) < 1e-12


def test_a_wrong_guess_of_the_support_is_corrected() -> None:
    """One weight of the minimiser is at zero in the guess, and one zero is not."""
    for seed in range(20):
        objective, expected = made(seed)
        guess = expected.copy()
        guess[[1, 2]] = 0.0, 0.01
        np.testing.assert_allclose(polished(guess, objective), expected, rtol=1e-9, err_msg=str(seed))


def test_what_does_not_satisfy_the_conditions_is_no_solution() -> None:
    """A direction without curvature, in which the slope is steeper than the penalty: there is no minimum."""
    objective = PenalisedObjective(np.diag([1.0, 0.0]), np.array([-1.0, -1.0]), 0.5, np.ones(2, dtype=bool))
    assert np.isnan(polished(np.array([0.25, 3.0]), objective)).all()
