"""What a release says of the moments: the entries, their noise, and which queries say nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpbench.data.samples import WholeSample
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws, KNorm, Laplace, Noise, geometric
from dpbench.privacy.queries.polynomial import Loss, Polynomial
from dpbench.privacy.queries.query import exact_answer
from dpbench.privacy.queries.second_moments import SecondMoments

LOSSES = {"real": Loss(1.0, (0.0, -2.0), 2.0, 1.0), "binary": Loss(1 / 8, (0.5, -1.0), 1.5, 0.0)}
X = [[0.5, -1, 1, 0, 1], [0, 1, -0.25, 1, 0], [1, 0.25, 0.5, 0, 1]]
Y = {"real": [0.5, -1, 0.25], "binary": [0, 1, 1]}


@pytest.fixture
def sample(geometry, rows):
    def of(target: str = "real", persons: int | None = None, scaling: str = "box") -> WholeSample:
        g = geometry(3, (2,), True, scaling, target, 1.0 if scaling == "box" else 0.5)
        return WholeSample(rows(replace(g, rows_per_person=persons), X, Y[target]))

    return of


def queries(table: WholeSample) -> list[Any]:
    loss, g = LOSSES[table.geometry.target], table.geometry
    polynomials = [Polynomial(loss, g, convention).with_square() for convention in ("monomial", "matrix")]
    return [*polynomials, SecondMoments(g), SecondMoments(g, ("xx", "xy"))]


def uneven(size: int, runs: int = 1) -> Noise:
    """Laplace noise with another scale for each number, and each run."""
    return Noise(Laplace(), np.random.default_rng(1).uniform(0.5, 4.0, (runs, size)), 1.0, "p")


@pytest.mark.parametrize("target", ["real", "binary"])
@pytest.mark.parametrize("persons", [None, 3])
@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_without_noise_they_are_the_exact_moments(target, persons, scaling, sample) -> None:
    """Both classes, every convention that says them: X'X, X't and t't with t = y or 2y - 1."""
    table = sample(target, persons, scaling)
    z = table.rows(0)
    t = z.y if target == "real" else 2 * z.y - 1
    for query in queries(table):
        moments = query.moments(exact_answer(query, table), uneven(query.size), table.n)
        np.testing.assert_allclose(moments.matrix[0], z.x.T @ z.x, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(moments.vector[0], z.x.T @ t, rtol=1e-13, atol=1e-13)
        public = target == "binary" and persons is None
        ends_with_square = query.square if isinstance(query, Polynomial) else "yy" in query.blocks
        if public or ends_with_square:
            np.testing.assert_allclose(moments.square, [t @ t], rtol=1e-13)
            assert (moments.square_scale == 0).all() == public
        else:
            assert moments.square is None


def test_public_entries_have_no_noise(sample) -> None:
    for persons in (None, 3):
        for query in queries(sample(persons=persons)):
            scale = query.moments(np.zeros((1, query.size)), uneven(query.size), np.array([3.0])).matrix_scale[0]
            public = np.zeros((6, 6), dtype=bool)
            public[4, 5] = public[5, 4] = True  # the two columns of the group
            public[0, 0] = persons is None
            np.testing.assert_array_equal(scale == 0, public)
            np.testing.assert_array_equal(scale, scale.T)


@pytest.mark.parametrize("target", ["real", "binary"])
@pytest.mark.parametrize("index", range(3))
def test_the_noise_of_every_entry_has_the_variance_of_its_scale(target, index, sample, repeated) -> None:
    """Mean squares over 20,000 runs, within 5.7 standard errors by a Laplace variable's kurtosis of 6. False alarm 1e-6."""
    runs = 20_000
    table = repeated(sample(target).rows(0), runs)
    query = queries(table)[index]
    noise = uneven(query.size)
    answer = Curator(table, Draws(0, "t", [(run, 0) for run in range(runs)]), Budget()).release(query, noise)
    noisy, exact = query.moments(answer, noise, table.n), query.moments(exact_answer(query, table), noise, table.n)
    pairs = [(noisy.matrix, exact.matrix, noisy.matrix_scale), (noisy.vector, exact.vector, noisy.vector_scale)]
    if noisy.square is not None:
        pairs.append((noisy.square, exact.square, noisy.square_scale))
    for values, truth, scale in pairs:
        mean, variance = np.square(values - truth).mean(axis=0), noise.law.variance(scale[0])
        assert (mean[variance == 0] == 0).all()
        score = np.abs(mean / np.where(variance > 0, variance, 1) - 1) / np.sqrt(5 / runs)
        assert np.max(score, where=variance > 0, initial=0.0) < 5.7


def test_both_queries_say_the_same(sample) -> None:
    """An upper triangle with y'y at its end is the second moments, c = -2X'y: the same numbers, and the same noise."""
    table = sample()
    whole = SecondMoments(table.geometry)
    triangle = Polynomial(Loss(1.0, (0.0, -2.0), 2.0, 1.0), table.geometry, "matrix").with_square()
    scale = uneven(whole.size, 2).scale
    factor = np.where(np.arange(whole.size) < whole.objective.quadratic_size, 1.0, -2.0)
    factor[-1] = 1.0
    answer = np.repeat(exact_answer(whole, table), 2, axis=0)
    n = np.repeat(table.n, 2)
    one = whole.moments(answer, Noise(Laplace(), scale, 1.0, "p"), n)
    other = triangle.moments(answer * factor, Noise(Laplace(), scale * np.abs(factor), 1.0, "p"), n)
    for name in ("matrix", "vector", "square", "matrix_scale", "vector_scale", "square_scale"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("target", ["real", "binary"])
def test_the_scales_of_entries_are_those_of_the_noise_and_public_entries_have_none(target, geometry, rows) -> None:
    g = geometry(3, (2,), True, "box", target)
    z = rows(g, X, Y[target])
    query = SecondMoments(g)
    noise = query.gaussian(1.0)
    exact = exact_answer(query, WholeSample(z))
    answer = np.stack([exact[0] + noise.scale[0], exact[0]])
    moments = query.moments(answer, noise, np.full(2, 3.0))
    np.testing.assert_allclose(moments.matrix[0] - moments.matrix[1], moments.matrix_scale[0], atol=1e-9)
    np.testing.assert_allclose(moments.vector[0] - moments.vector[1], moments.vector_scale[0], atol=1e-9)
    np.testing.assert_array_equal(moments.matrix_scale[0], moments.matrix_scale[0].T)
    assert moments.matrix_scale[0, 0, 0] == 0, "the intercept's square is n"
    assert moments.matrix_scale[0, 4, 5] == 0, "the product of two levels of one attribute is 0"
    assert moments.square is not None
    assert (target == "real") == (moments.square[0] != moments.square[1])


def test_answers_whose_entries_have_another_law_say_nothing(sample) -> None:
    """The mean of two draws, joint noise, whole numbers, blocks that are missing, and slopes that are no multiple of t."""
    g = sample().geometry
    monomial = Polynomial(LOSSES["real"], g)
    size, n = monomial.size, np.array([3.0])
    program = Polynomial(LOSSES["real"], g, "code")
    assert program.moments(np.zeros((1, program.size)), uneven(program.size), n) is None
    assert monomial.moments(np.zeros((1, size)), Noise(KNorm(), np.ones(size), 1.0, "p"), n) is None
    assert monomial.moments(np.zeros((1, size)), geometric(3, 1.0, "p"), n) is None
    shifted = Polynomial(Loss(1.0, (1.0, -2.0), 3.0, 1.0), g)
    assert shifted.moments(np.zeros((1, shifted.size)), uneven(shifted.size), n) is None
    for blocks in (("xx",), ("xy", "yy"), ("yy",)):
        part = SecondMoments(g, blocks)
        assert part.moments(np.zeros((1, part.size)), uneven(part.size), n) is None
