"""Second moments move by no more than their noise pays for, and by exactly as much at the attaining pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpbench.data.scaling import Rows
from dpbench.privacy.noise import Noise
from dpbench.privacy.queries.query import contributions
from dpbench.privacy.queries.second_moments import SecondMoments

CASES: list[tuple[int, tuple[int, ...], Any, bool]] = [
    (1, (), "box", False),
    (2, (), "ball", True),
    (5, (), "box", True),
    (6, (), "ball", False),
    (0, (2, 3), "box", False),
    (3, (3, 2), "box", True),
    (3, (3, 2), "ball", True),
    *((d, (), "corner", False) for d in (1, 2, 6)),
]


def share(query: SecondMoments, noise: Noise, first: Rows, second: Rows) -> np.ndarray:
    """How much of what the noise pays for each pair uses."""
    change = (contributions(query, first, 0) - contributions(query, second, 0)) / noise.scale
    return np.abs(change).sum(axis=1) / noise.bound if noise.law.norm == "L1" else np.linalg.norm(change, axis=1) / noise.bound


@pytest.mark.parametrize("target", ["real", "binary"])
@pytest.mark.parametrize(("numeric", "groups", "scaling", "intercept"), CASES)
def test_no_neighbours_move_more_than_the_noise_pays_for(
    numeric, groups, scaling, intercept, target, geometry, adversary
) -> None:
    """1,000 random pairs, then the worst of them nudged 30 times, for several weights and blocks, and for both laws."""
    parts = numeric + len(groups) + intercept
    g = geometry(numeric, groups, intercept, scaling, target, constant=parts**-0.5 if scaling == "ball" else 1.0)
    near = adversary.neighbours(g, np.random.default_rng(0))
    pairs = near.rows(1_000), near.rows(1_000)
    whole = SecondMoments(g)
    cases = [(whole, whole.gaussian(0.7, weight)) for weight in (0.5, 0.75, 0.9)] + [(whole, whole.laplace(0.7))]
    cases += [(part, part.gaussian(0.7)) for part in (SecondMoments(g, ("xx",)), SecondMoments(g, ("xy",)))]
    for query, noise in cases:
        worst = share(query, noise, *pairs)
        kept = np.argsort(worst)[-50:]
        first, second, best = pairs[0].take(kept), pairs[1].take(kept), worst[kept]
        for _ in range(30):
            a, b = near.nudged(first), near.nudged(second)
            now = share(query, noise, a, b)
            better = (now > best)[:, None]
            first, second = Rows(np.where(better, a.z, first.z), g), Rows(np.where(better, b.z, second.z), g)
            best = np.maximum(best, now)
        assert best.max() <= 1 + 1e-12
        near_enough = 0.55 if noise.law.norm == "L1" else 0.85 if numeric > 1 else 0.7  # one column has no pair at an angle
        assert best.max() >= near_enough, "the search found nothing to worry about"


@pytest.mark.parametrize("weight", [0.5, 0.6, 2 / 3, 0.75, 0.9])
def test_the_ball_s_bound_is_met(weight, geometry, rows) -> None:
    """Unit rows with <x, x'> = (1 - t)/t and targets 1 and -1; and orthogonal rows with targets 1 and 0, which meet it by t't."""
    cosine = (1 - weight) / weight
    turned = cosine * np.eye(3)[0] + np.sqrt(1 - cosine**2) * np.eye(3)[1]
    for target, low in (("real", -1), ("binary", 0)):
        query = SecondMoments(geometry(3, scaling="ball", target=target))
        pair = rows(query.geometry, np.eye(3)[0], 1), rows(query.geometry, turned, low)
        assert share(query, query.gaussian(0.3, weight), *pair) == pytest.approx(1.0, rel=1e-12)
    query = SecondMoments(geometry(3, scaling="ball"))
    pair = rows(query.geometry, np.eye(3)[0], 1), rows(query.geometry, np.eye(3)[1], 0)
    assert share(query, query.gaussian(0.3, weight), *pair) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(("numeric", "intercept"), [(3, False), (2, True), (5, True)])
def test_the_box_meets_the_ball_s_bound_at_the_default_weight(numeric, intercept, geometry, rows) -> None:
    """A third of the columns changes its sign, so <x, x'> is a third of the squared norm: what t = 3/4 asks for."""
    g = geometry(numeric, intercept=intercept)
    turned = np.where(np.arange(numeric) < (numeric + intercept) // 3, -1, 1)
    query = SecondMoments(g)
    pair = rows(g, np.ones(numeric), 1), rows(g, turned, -1)
    assert share(query, query.gaussian(1.0), *pair) == pytest.approx(1.0, rel=1e-12)


def test_a_one_hot_group_counts_once(geometry, rows) -> None:
    """Two of three groups change their level: <x, x'> is a third of the squared norm, 3, whatever the number of columns."""
    g = geometry(0, (2, 3, 4))
    query = SecondMoments(g)
    first, second = [1, 0, 1, 0, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0, 0, 0, 1]
    assert share(query, query.gaussian(1.0), rows(g, first, 1), rows(g, second, -1)) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("weight", [0.5, 2 / 3, 0.75])
def test_the_corner_s_bound_is_met_by_equal_rows_with_opposite_targets(weight, geometry, rows) -> None:
    query = SecondMoments(geometry(4, scaling="corner"))
    pair = rows(query.geometry, np.full(4, 0.5), 1), rows(query.geometry, np.full(4, 0.5), -1)
    assert share(query, query.gaussian(1.0, weight), *pair) == pytest.approx(1.0, rel=1e-12)


def test_each_block_alone_meets_its_own_bound(geometry, rows) -> None:
    g = geometry(2, scaling="ball")
    for block, x, other, y in (("xx", [1, 0], [0, 1], 1), ("xy", [1, 0], [1, 0], -1), ("yy", [1, 0], [1, 0], 0)):
        query = SecondMoments(g, (block,))
        assert share(query, query.gaussian(1.0), rows(g, x, 1), rows(g, other, y)) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("scaling", ["box", "corner"])
@pytest.mark.parametrize("D", [1, 4, 9])
def test_the_l1_bound_is_met_and_t_t_is_free(scaling, D, geometry, rows) -> None:
    """x' = x/(sum of x): the pair of the functional mechanism, whose targets are 1 and -1."""
    query = SecondMoments(geometry(D, scaling=scaling))
    high = query.geometry.value_range[1]
    x = np.full(D, high)
    assert share(
        query, query.laplace(1.0), rows(query.geometry, x, 1), rows(query.geometry, x / (D * high), -1)
    ) == pytest.approx(1.0)


def test_persons_pay_for_all_of_their_rows(geometry) -> None:
    """Three rows each: three times the noise, and the number of rows gets noise as well."""
    g = geometry(3, (2,), True)
    persons = replace(g, rows_per_person=3)
    for noise in (lambda query: query.gaussian(1.0), lambda query: query.laplace(1.0)):
        one, three = noise(SecondMoments(g)), noise(SecondMoments(persons))
        np.testing.assert_allclose(three.scale[:, 1:], 3 * one.scale, rtol=1e-14)
