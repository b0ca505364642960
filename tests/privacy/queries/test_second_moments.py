"""Second moments: which entries are released, with which noise, and what an answer becomes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpbench.data.samples import WholeSample
from dpbench.privacy.queries.polynomial import Loss
from dpbench.privacy.queries.query import exact_answer
from dpbench.privacy.queries.second_moments import SecondMoments

X = [[0.5, -1, 1, 0, 1], [0, 1, -0.25, 1, 0]]


@pytest.mark.parametrize("target", ["real", "binary"])
@pytest.mark.parametrize("persons", [None, 3])
@pytest.mark.parametrize(("scaling", "constant"), [("box", 1.0), ("ball", 0.5)])
def test_an_exact_answer_is_the_moments_with_public_entries_filled_in(target, persons, scaling, constant, geometry, rows) -> None:
    g = replace(geometry(3, (2,), True, scaling, target, constant), rows_per_person=persons)
    z = rows(g, X, [0.5, -1] if target == "real" else [0, 1])
    t = z.y if target == "real" else 2 * z.y - 1
    query, n = SecondMoments(g), np.array([2.0])
    answer = exact_answer(query, WholeSample(z))
    assert answer.shape == (1, query.size)
    np.testing.assert_allclose(query.matrix(answer, n)[0], z.x.T @ z.x, rtol=1e-14)
    np.testing.assert_allclose(query.vector(answer)[0], z.x.T @ t, rtol=1e-14)
    np.testing.assert_allclose(query.square(answer, n), [t @ t], rtol=1e-14)
    public = 0 if persons else 1 + (target == "binary")  # n: the square of the intercept, and of a sign
    assert query.size == 21 - 1 + 6 + 1 - public, "nor is the product of the group's columns released"
    for blocks in (("xx",), ("xy",), ("xx", "xy"), ("xy", "yy")):
        part = SecondMoments(g, blocks)
        some = exact_answer(part, WholeSample(z))
        if "xx" in blocks:
            np.testing.assert_array_equal(part.matrix(some, n), query.matrix(answer, n))
        if "xy" in blocks:
            np.testing.assert_array_equal(part.vector(some), query.vector(answer))
        if "yy" in blocks:
            np.testing.assert_array_equal(part.square(some, n), query.square(answer, n))
        assert part.gaussian(1.0).scale.shape == (1, part.size)


def test_the_noise_follows_the_weight_and_the_squared_norm(geometry) -> None:
    query = SecondMoments(geometry(2, intercept=True))  # S = 3; the numbers: xx 01 02 11 12 22, xy 0 1 2, yy
    for t in (0.5, 0.75, 0.9):
        off, linear, square = 3 / t, np.sqrt(3 / (t * (1 - t))), 1 / np.sqrt(1 - t)
        expected = [off, off, np.sqrt(2) * off, off, np.sqrt(2) * off, linear, linear, linear, square]
        np.testing.assert_allclose(query.gaussian(2.0, t).scale[0], np.array(expected) / 2, rtol=1e-14)
        assert query.floor(query.gaussian(2.0, t)) == pytest.approx(2 * np.sqrt(3) * off / 2)
    np.testing.assert_allclose(SecondMoments(query.geometry, ("xx",)).gaussian(1.0).scale[0, :3], [3, 3, 3 * np.sqrt(2)])
    laplace = query.laplace(0.5).scale[0] / (4**2 / 0.5)  # (D + 1)² / ε
    np.testing.assert_allclose(laplace, [0.5, 0.5, 1, 0.5, 1, 0.5, 0.5, 0.5, 1], rtol=1e-14)


def test_the_quadratic_is_that_of_the_loss(geometry, rows) -> None:
    """Squared error, and the logistic loss truncated at order 2, whose slope is a multiple of 2y - 1."""
    for target, y, loss in (
        ("real", [0.5, -1], Loss(1.0, (0.0, -2.0), 2.0, 1.0)),
        ("binary", [0, 1], Loss(1 / 8, (0.5, -1.0), 1.5, 0.0)),
    ):
        z = rows(geometry(3, (2,), True, target=target), X, y)
        query, n = SecondMoments(z.geometry), np.array([2.0])
        quadratic = query.quadratic(loss, exact_answer(query, WholeSample(z)), n)
        np.testing.assert_allclose(quadratic.matrix[0], loss.curvature * z.x.T @ z.x, rtol=1e-14)
        np.testing.assert_allclose(quadratic.linear[0], z.x.T @ (loss.slope[0] + loss.slope[1] * z.y), rtol=1e-14)
    with pytest.raises(ValueError, match="multiple of the target"):
        query.quadratic(Loss(1.0, (1.0, -1.0), 1.0, 1.0), np.zeros((1, query.size)), n)


def test_unknown_blocks_and_weights_are_refused(geometry) -> None:
    for blocks in ((), ("yy", "xx"), ("xx", "xx"), ("xz",)):
        with pytest.raises(ValueError, match="in this order"):
            SecondMoments(geometry(2), blocks)
    for weight in (0.4, 1.0, float("nan")):
        with pytest.raises(ValueError, match="must be in"):
            SecondMoments(geometry(2)).gaussian(1.0, weight)
