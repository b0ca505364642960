"""The clipped gradient in whitened coordinates, through the calls that a fit of ``best`` makes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpbench.privacy.queries.query import contributions


@pytest.fixture
def asked(make, fit_mechanism, geometry, rows):
    """The last query of a name that a fit of 40 random rows asks for, its noise, and the rows."""

    def query(model: str, seed: int = 0, name: str = "whitened_gradient") -> tuple[Any, Any, Any]:
        rng = np.random.default_rng(seed)
        g = geometry(3, (2,), True, target="binary" if model == "logistic" else "real")
        x = np.column_stack([rng.uniform(-1, 1, (40, 3)), np.eye(2)[rng.integers(2, size=40)]])
        y = rng.integers(2, size=40) if model == "logistic" else rng.uniform(-1, 1, 40)
        table = rows(g, x, y)
        tape = fit_mechanism("best", table, make("model", model), 30.0, seed).curator.tape
        answer = next(answer for answer in reversed(tape) if answer.query == name)
        return answer.call.query, answer.noise, table

    return query


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_a_row_adds_its_clipped_vector_its_bin_and_its_curvature(model, asked) -> None:
    query, _, table = asked(model)
    weights, whitening, limit = query.weights[0], query.whitening[0], float(query.limits[0])
    clipped = 0
    for row, added in zip(range(table.n), contributions(query, table, 0), strict=True):
        x, y = table.x[row], table.y[row]
        p = 1 / (1 + np.exp(-x @ weights))
        vector = whitening.T @ x * (4 * (y - p) if model == "logistic" else y - x @ weights)
        length = np.linalg.norm(vector)
        clipped += length > limit
        np.testing.assert_allclose(added[:6], vector * min(1, limit / length), atol=1e-12)
        upper = query.longest[0] * 2 ** (-0.5 * np.flatnonzero(added[6:30])[0])
        assert added[6:30].sum() == 1
        assert length >= upper / np.sqrt(2) * (1 - 1e-9)
        assert length <= upper * (1 + 1e-9) or upper == query.longest[0]
        if model == "logistic":
            assert added[30:] == pytest.approx([4 * p * (1 - p)])
    assert 0 < clipped < table.n


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_no_pair_of_rows_moves_an_answer_by_more_than_its_bound(model, asked, geometry, rows) -> None:
    query, noise, table = asked(model, seed=1)
    g, rng = table.geometry, np.random.default_rng(2)
    x = np.column_stack([rng.choice([-1.0, 0, 1, 0.3], (4000, 3)), np.eye(2)[rng.integers(2, size=4000)]])
    y = rng.integers(2, size=4000) if model == "logistic" else rng.uniform(-1, 1, 4000)
    added = contributions(query, rows(g, x, y), 0)
    moved = noise.moved(added[:2000], added[2000:], 0)
    assert moved.max() <= 1 + 1e-12
    assert moved.max() >= 0.9, "the search found nothing to worry about"


def test_opposite_vectors_in_different_bins_meet_the_bound(asked, rows) -> None:
    query, _, table = asked("linear")
    query = replace(query, weights=np.zeros((1, 6)), limits=np.array([1e-3]))
    pair = rows(table.geometry, np.tile([1.0, 0.3, -1, 1, 0], (2, 1)), [1.0, -0.4])
    added = contributions(query, pair, 0)
    assert query.noise(0.1, 0.7).moved(added[:1], added[1:], 0) == pytest.approx(1.0, rel=1e-12)


def test_the_limit_is_the_edge_that_as_many_rows_exceed_as_are_to_be_clipped(asked) -> None:
    query, _, _ = asked("linear")
    counts = np.zeros((1, 24))
    counts[0, [3, 5, 8]] = 10.0
    for clipped, edge in ((5.0, 3), (10.0, 3), (11.0, 5), (25.0, 8), (31.0, 22)):
        assert query.limits_for(counts, np.array([clipped])) == pytest.approx(query.longest * 2 ** (-edge / 2))
    counts[0, 0] = 6.0  # how long these rows are is not known, so the limit grows
    assert query.limits_for(counts, np.array([5.0])) == pytest.approx(2 * query.longest)


def test_what_clipping_cuts_off_is_counted_from_the_bins_above_the_limit(asked) -> None:
    query, _, _ = asked("linear")
    counts = np.zeros((1, 24))
    counts[0, [2, 9]] = 7.0, 100.0
    query = replace(query, limits=query.longest / 4)
    middle = query.longest / 2 * 2**-0.25  # bin 2 ends at half the longest length
    assert query.cut(counts) == pytest.approx(7 * (middle - query.longest / 4))
    assert query.cut(-counts) == 0, "noisy counts may be negative"


@pytest.mark.parametrize("persons", [None, 3])
def test_a_squared_residual_is_from_0_to_4_and_both_ends_are_met(persons, asked, rows) -> None:
    """The largest change is 4, from a residual of 0 to one of the whole range, and the noise is made for it."""
    query, _, table = asked("linear", name="squared_residuals")
    problem = query.problem.with_geometry(replace(table.geometry, rows_per_person=persons))
    squares = replace(query, problem=problem, state=np.array([[0.0, 5.0, 0, 0, 0, 0]]))
    x = np.column_stack([[1.0, 1.0, -1.0, 0.0], np.zeros((4, 2)), np.ones(4), np.zeros(4)])
    added = contributions(squares, rows(table.geometry, x, [1.0, -1.0, -0.5, 0.5]), 0)[:, 0]
    np.testing.assert_allclose(added, [0.0, 4.0, 0.25, 0.25])  # predictions beyond the range count as its ends
    noise = squares.noise(0.5)
    moved = noise.moved(np.array([[0.0]]), np.array([[4.0]]), 0)
    assert moved == pytest.approx(1.0 if persons is None else 1 / persons)
