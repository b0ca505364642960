"""Neighbours lie in their geometry, and the local search makes them worse."""

from __future__ import annotations

from collections import Counter
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from dpbench.accounting.costs import Pure
from dpbench.audit.neighbours import (
    Pairs,
    attaining_pairs,
    common_rows,
    fixed_and_random_pairs,
    ones_to_zeros,
    random_rows,
    search,
    worst_pairs,
)
from dpbench.privacy.calls import Answer, Call
from dpbench.privacy.noise import Laplace, Noise
from dpbench.privacy.queries.polynomial import Loss, Polynomial
from dpbench.privacy.queries.query import contributions

LINEAR = Loss(curvature=1.0, slope=(0.0, -2.0), printed_slope=2.0, printed_constant=1.0)
LOGISTIC = Loss(curvature=1 / 8, slope=(0.5, -1.0), printed_slope=1.5, printed_constant=0.0)


@pytest.mark.parametrize("target", ["real", "binary"])
@pytest.mark.parametrize(
    ("numeric", "groups", "scaling", "intercept"),
    [
        *(
            (*shape, scaling, intercept)
            for shape, scaling, intercept in product([(1, ()), (4, ()), (2, (3,)), (0, (2, 3))], ["box", "ball"], [False, True])
        ),
        *((columns, (), "corner", False) for columns in (1, 4, 7)),
    ],
)
def test_every_row_is_one_that_the_geometry_allows(numeric, groups, scaling, intercept, target, geometry) -> None:
    parts = numeric + len(groups) + intercept
    g = geometry(numeric, groups, intercept, scaling, target, constant=parts**-0.5 if scaling == "ball" and intercept else 1.0)
    generator = np.random.default_rng(0)
    start = fixed_and_random_pairs(g, generator)
    worst = search(lambda a, b: np.abs(a.z - b.z).sum(axis=1), start, generator, 20, 20)
    for rows in (start.first, start.second, worst.first, worst.second, common_rows(g, 7), random_rows(g, generator, 50)):
        x, y = rows.x, rows.y
        if scaling == "corner":
            assert ((x >= 0) & (x <= g.features**-0.5)).all()
        elif scaling == "ball":
            assert (np.linalg.norm(x, axis=1) <= 1 + 1e-15).all()
        else:
            assert (np.abs(x) <= 1).all()
        for members in g.groups:
            ones = x[:, [member + intercept for member in members]]
            assert ((ones >= 0).all(axis=1) & ((ones > 0).sum(axis=1) <= 1)).all()
        assert set(np.unique(y)) <= {0.0, 1.0} if target == "binary" else (np.abs(y) <= 1).all()
    assert {"attaining", "corners", "random"} <= set(start.origin)
    assert ("one-hot change" in start.origin) == bool(groups)


def test_the_tables_of_a_pair_differ_in_one_row(geometry) -> None:
    g = geometry(3, (2,))
    pairs = fixed_and_random_pairs(g, np.random.default_rng(0))
    first, second = pairs.tables(common_rows(g, 4))
    assert len(first) == len(pairs.origin)
    for one, other, name in zip(first, second, pairs.origin, strict=True):
        changed = (one.z != other.z).any(axis=1)
        assert not changed[:4].any()
        assert changed[4] or name in ("attaining", "corners", "small rows")
    (single,) = ones_to_zeros(g).origin
    assert single == "ones to zeros"


def test_the_search_finds_the_supremum_from_random_pairs(geometry) -> None:
    """The bound of docs/sensitivities.md within a tenth of a percent at D = 4, without the attaining pairs."""
    g = geometry(3, intercept=True)
    query = Polynomial(LINEAR, g)
    bound = query.l1_bound("tight")

    def move(first, second):
        return np.abs(contributions(query, first, 0) - contributions(query, second, 0)).sum(axis=1) / bound

    generator = np.random.default_rng(0)
    start = Pairs(random_rows(g, generator, 400), random_rows(g, generator, 400), ("random",) * 400)
    worst = search(move, start, generator, 40, 60)
    moved = move(worst.first, worst.second)
    assert (np.diff(moved) <= 0).all(), "the worst first"
    assert 0.999 < moved[0] <= 1 + 1e-12
    known = attaining_pairs(g)
    assert move(known.first, known.second).max() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("columns", [1, 4, 13])
@pytest.mark.parametrize(("loss", "target"), [(LINEAR, "real"), (LOGISTIC, "binary")])
def test_in_the_corner_the_attaining_pairs_meet_the_supremum_and_the_search_finds_it(columns, loss, target, geometry) -> None:
    query = Polynomial(loss, geometry(columns, scaling="corner", target=target))

    def move(first, second):
        return np.abs(contributions(query, first, 0) - contributions(query, second, 0)).sum(axis=1) / query.l1_bound("tight")

    known = attaining_pairs(query.geometry)
    assert move(known.first, known.second).max() == pytest.approx(1.0, rel=1e-12)
    if columns < 13:
        generator = np.random.default_rng(0)
        start = Pairs(*(random_rows(query.geometry, generator, 400) for _ in range(2)), ("random",) * 400)
        worst = search(move, start, generator, 40, 60)
        assert 0.99 < move(worst.first, worst.second)[0] <= 1 + 1e-12


def test_the_row_of_zeros_is_zero_in_the_corner_too(geometry) -> None:
    pairs = ones_to_zeros(geometry(4, scaling="corner"))
    np.testing.assert_array_equal(pairs.first.z, [[1, 0.5, 0.5, 0.5, 0.5, 1]])
    np.testing.assert_array_equal(pairs.second.z, [[1, 0, 0, 0, 0, -1]])


def test_eight_corners_random_pairs_and_one_hot_changes_are_tried(geometry) -> None:
    origins = Counter(fixed_and_random_pairs(geometry(2, (3, 2)), np.random.default_rng(0)).origin)
    assert (origins["corners"], origins["random"], origins["one-hot change"]) == (8, 8, 16)


@pytest.mark.parametrize("scaling", ["box", "ball", "corner"])
def test_rows_of_a_tenth_to_a_ten_thousandth_of_a_corner_are_tried(scaling, geometry) -> None:
    g = geometry(3, () if scaling == "corner" else (2,), scaling=scaling)
    pairs = fixed_and_random_pairs(g, np.random.default_rng(0))
    small = pairs.take(np.flatnonzero(np.array(pairs.origin) == "small rows"))
    corners = pairs.take(np.flatnonzero(np.array(pairs.origin) == "corners"))
    for rows, large in ((small.first, corners.first), (small.second, corners.second)):
        largest = np.abs(rows.z[:, 1:4]).reshape(4, -1).max(axis=1)  # of eight rows of each size
        np.testing.assert_allclose(largest / np.abs(large.z[:, 1:4]).max(), [1e-1, 1e-2, 1e-3, 1e-4])
        assert not rows.z[:, 4:-1].any()


@pytest.mark.parametrize(("size", "random", "survivors"), [(3, 400, 60), (2_000_000, 10, 10), (10**9, 3, 3)])
def test_the_search_nudges_sixty_pairs_in_forty_rounds_and_fewer_of_long_answers(
    size, random, survivors, geometry, monkeypatch
) -> None:
    """The numbers of pairs of one evaluation after the other; twenty million contributions fit into memory at a time."""
    g = geometry(2)
    start = fixed_and_random_pairs(g, np.random.default_rng(0))
    evaluated = []

    def contributions(query, rows, run):
        evaluated.append(rows.n)
        return rows.x

    monkeypatch.setattr("dpbench.audit.neighbours.contributions", contributions)
    query = SimpleNamespace(size=size)
    answer = Answer(Call("release", query, g, Pure(1.0)), None, Noise(Laplace(), np.array([1.0]), 1.0, "p"), None)
    worst_pairs(g, answer, start, np.random.default_rng(0))
    assert evaluated == [len(start.origin) + random] * 2 + [survivors] * 2 * 41
