"""The clipped gradient in whitened coordinates, through the calls that a fit of ``best`` makes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpbench.privacy.queries.query import contributions


@pytest.fixture
def asked(make, fit_mechanism, geometry, rows):
    """The last gradient that a fit of 40 random rows asks for, and the rows."""

    def query(model: str, seed: int = 0) -> tuple[Any, Any, Any]:
        rng = np.random.default_rng(seed)
        g = geometry(3, (2,), True, target="binary" if model == "logistic" else "real")
        x = np.column_stack([rng.uniform(-1, 1, (40, 3)), np.eye(2)[rng.integers(2, size=40)]])
        y = rng.integers(2, size=40) if model == "logistic" else rng.uniform(-1, 1, 40)
        table = rows(g, x, y)
        answer = fit_mechanism("best", table, make("model", model), 30.0, seed).curator.tape[-1]
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
