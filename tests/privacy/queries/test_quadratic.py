"""Quadratic objectives: minimisers, repairs, and stacks that are their parts to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.privacy.queries.quadratic import Quadratic


def drawn(runs: int, size: int, shift: float = 0.0, seed: int = 0) -> Quadratic:
    """Symmetric matrices, indefinite unless ``shift`` is large."""
    generator = np.random.default_rng(seed)
    half = generator.normal(size=(runs, size, size))
    return Quadratic(half + np.swapaxes(half, 1, 2) + shift * np.eye(size), generator.normal(size=(runs, size)))


def value(quadratic: Quadratic, w: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("...i,...ij,...j->...", w, quadratic.matrix, w) + (quadratic.linear * w).sum(axis=-1))


def test_no_point_is_below_the_minimiser() -> None:
    quadratic = drawn(20, 4, shift=9.0)
    assert quadratic.positive_definite.all()
    best = quadratic.minimiser()
    np.testing.assert_allclose(2 * np.einsum("rij,rj->ri", quadratic.matrix, best) + quadratic.linear, 0, atol=1e-12)
    generator = np.random.default_rng(1)
    for size in (1e-3, 0.1, 10.0):
        for _ in range(50):
            assert (value(quadratic, best + size * generator.normal(size=best.shape)) > value(quadratic, best)).all()


def test_brute_force_over_a_grid_finds_the_minimiser_in_two_dimensions() -> None:
    quadratic = drawn(5, 2, shift=7.0, seed=3)
    axis = np.linspace(-1, 1, 2001)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    for run, best in enumerate(quadratic.minimiser()):
        single = Quadratic(quadratic.matrix[run], quadratic.linear[run])
        found = grid[np.argmin(np.einsum("ni,ij,nj->n", grid, single.matrix, grid) + grid @ single.linear)]
        assert np.abs(found - best).max() <= 1e-3
        np.testing.assert_array_equal(single.minimiser(), best)


def test_among_minimisers_the_one_of_smallest_norm_is_taken() -> None:
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(3, 6)), generator.normal(size=3)
    singular = Quadratic(x.T @ x, -2 * x.T @ y)
    assert not singular.positive_definite
    np.testing.assert_allclose(singular.minimiser(), np.linalg.lstsq(x, y, rcond=None)[0], atol=1e-12)


def test_trimming_keeps_the_positive_directions_and_nothing_else() -> None:
    quadratic = drawn(30, 5)
    trimmed = quadratic.trimmed()
    values, vectors = np.linalg.eigh(quadratic.matrix)
    assert (values < 0).any(axis=1).all(), "each matrix has something to trim"
    np.testing.assert_allclose(np.linalg.eigvalsh(trimmed.matrix), np.sort(np.maximum(values, 0)), atol=1e-12)
    best = trimmed.minimiser()
    for run in range(30):
        kept = vectors[run][:, values[run] > 0]
        dropped = vectors[run][:, values[run] <= 0]
        np.testing.assert_allclose(dropped.T @ best[run], 0, atol=1e-12)
        np.testing.assert_allclose(dropped.T @ trimmed.linear[run], 0, atol=1e-12)
        inside = np.linalg.solve(kept.T @ quadratic.matrix[run] @ kept, -kept.T @ quadratic.linear[run] / 2)
        np.testing.assert_allclose(kept.T @ best[run], inside, rtol=1e-9, atol=1e-12)


def test_flooring_raises_what_is_below_and_leaves_the_rest() -> None:
    quadratic, floor = drawn(30, 5), np.linspace(0.5, 3, 30)
    floored = quadratic.floored(floor)
    values = np.linalg.eigvalsh(quadratic.matrix)
    np.testing.assert_allclose(np.linalg.eigvalsh(floored.matrix), np.maximum(values, floor[:, None]), atol=1e-12)
    np.testing.assert_array_equal(floored.linear, quadratic.linear)
    assert floored.positive_definite.all()
    solved = -0.5 * np.linalg.solve(floored.matrix, quadratic.linear[..., None])[..., 0]
    np.testing.assert_allclose(floored.minimiser(), solved, atol=1e-12)


def test_a_bounded_objective_needs_no_repair() -> None:
    quadratic = drawn(10, 4, shift=9.0)
    lowest = np.linalg.eigvalsh(quadratic.matrix).min()
    for repaired in (quadratic.trimmed(), quadratic.floored(lowest / 2), quadratic.ridged(0.0)):
        np.testing.assert_allclose(repaired.minimiser(), quadratic.minimiser(), rtol=1e-12)


@pytest.mark.parametrize("first", [False, True], ids=["eigenvalues unknown", "eigenvalues known"])
def test_a_ridge_adds_to_the_diagonal_and_moves_every_eigenvalue(first) -> None:
    quadratic, weight = drawn(10, 4), np.linspace(0, 5, 10)
    if first:
        assert quadratic.spectrum[0].shape == (10, 4)
    ridged = quadratic.ridged(weight)
    np.testing.assert_array_equal(ridged.matrix, quadratic.matrix + weight[:, None, None] * np.eye(4))
    np.testing.assert_allclose(ridged.spectrum[0], np.linalg.eigvalsh(ridged.matrix), atol=1e-12)
    fresh = Quadratic(ridged.matrix, ridged.linear)
    np.testing.assert_allclose(ridged.minimiser(), fresh.minimiser(), rtol=1e-9)
    np.testing.assert_allclose(ridged.trimmed().minimiser(), fresh.trimmed().minimiser(), rtol=1e-7, atol=1e-9)


def test_a_ridge_of_some_coefficients_leaves_the_others() -> None:
    quadratic = drawn(3, 4)
    assert quadratic.spectrum[0].shape == (3, 4)
    ridged = quadratic.ridged(2.0, np.array([0.0, 1.0, 1.0, 0.0]))
    np.testing.assert_array_equal(ridged.matrix, quadratic.matrix + np.diag([0.0, 2.0, 2.0, 0.0]))
    np.testing.assert_allclose(ridged.spectrum[0], np.linalg.eigvalsh(ridged.matrix), atol=1e-12)


@pytest.mark.parametrize("size", [1, 3, 13])
def test_permuting_coefficients_permutes_the_minimiser(size) -> None:
    quadratic = drawn(10, size, seed=size)
    order = np.random.default_rng(0).permutation(size)
    permuted = Quadratic(quadratic.matrix[:, order][:, :, order], quadratic.linear[:, order])
    for repair in ("minimiser", "trimmed", "floored"):
        if repair == "minimiser":
            ours, theirs = quadratic, permuted
        elif repair == "trimmed":
            ours, theirs = quadratic.trimmed(), permuted.trimmed()
        else:
            ours, theirs = quadratic.floored(0.7), permuted.floored(0.7)
        np.testing.assert_allclose(theirs.minimiser(), ours.minimiser()[:, order], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("size", [1, 2, 13])
def test_a_stack_is_its_parts_to_the_bit(size) -> None:
    stack = drawn(40, size, seed=size)
    weight = np.linspace(0.1, 2, 40)
    together = {
        "minimiser": stack.minimiser(),
        "trimmed": stack.ridged(weight).trimmed().minimiser(),
        "floored": stack.floored(weight).minimiser(),
    }
    for run in range(40):
        part = Quadratic(stack.matrix[run : run + 1].copy(), stack.linear[run : run + 1].copy())
        single = Quadratic(np.asfortranarray(stack.matrix[run]), stack.linear[run])
        at = weight[run : run + 1]
        assert part.spectrum[0].shape == (1, size)
        for one, array in ((part, lambda w: w[0]), (single, lambda w: w)):
            own = at if one is part else at[0]
            np.testing.assert_array_equal(array(one.minimiser()), together["minimiser"][run])
            np.testing.assert_array_equal(array(one.floored(own).minimiser()), together["floored"][run])
            np.testing.assert_array_equal(array(one.ridged(own).trimmed().minimiser()), together["trimmed"][run])


def test_small_eigenvalues_count_unless_rounding_explains_them() -> None:
    """Relative to the largest eigenvalue, 1e-9 is a curvature, and 1e-16 is rounding of zero."""
    for smallest, definite in ((1e-9, True), (1e-16, False)):
        quadratic = Quadratic(np.diag([1.0, smallest]), np.array([-2.0, -2.0]))
        assert quadratic.positive_definite == definite
        assert quadratic.minimiser()[1] == pytest.approx(1e9 if definite else 0.0)
    assert not Quadratic(np.diag([1.0, -1e-9]), np.zeros(2)).bounded
    assert Quadratic(np.diag([1.0, -1e-16]), np.zeros(2)).bounded


def test_a_ridge_with_an_axis_too_many_is_refused() -> None:
    quadratic = Quadratic(np.stack([np.eye(2)] * 3), np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"one for each run: \(3,\)\. Got an array of the shape \(3, 1\)"):
        quadratic.ridged(np.ones((3, 1)))
