"""Bins: the bound of their sums is met and never exceeded, and noisy sums pose an unbiased least squares problem."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from dpbench.accounting.costs import Pure
from dpbench.data.halving import Halving
from dpbench.privacy.procedures.adaptive_tree import AdaptiveTree
from dpbench.privacy.queries.query import contributions


@pytest.fixture(scope="module")
def bins_of(make) -> Any:
    """Bins by their partition and first codes, as the mechanism makes them."""
    module = importlib.import_module(type(make("mechanism", "binagg")).__module__)
    return module.Bins


def moved(bins: Any, first: Any, second: Any) -> np.ndarray:
    """Return how far rows that are replaced move the sums, in units of the bound of joint noise."""
    one, other = (contributions(bins.query, rows, 0) for rows in (first, second))
    return np.asarray(bins.gaussian(1.0).moved(one, other, run=0))


def trees(partition: Halving, generator: np.random.Generator) -> list[np.ndarray]:
    """Return the tree of one leaf, that of two, and random ones."""
    grown = [
        AdaptiveTree(partition, Pure(5.0), 60)._grow(np.sort(generator.integers(0, partition.end, count)), generator)
        for count in (20, 200, 1000)
    ]
    return [np.array([0.0]), np.array([0.0, partition.end / 2]), *grown]


@pytest.mark.parametrize(
    ("numeric", "groups", "scaling"), [(1, (), "box"), (3, (), "corner"), (2, (3,), "box"), (0, (2, 4), "box")]
)
def test_no_pair_of_rows_exceeds_the_bound(numeric, groups, scaling, geometry, rows, bins_of) -> None:
    generator = np.random.default_rng(0)
    g = geometry(numeric, groups, scaling=scaling)
    pairs = []
    for _ in range(2):
        x = generator.uniform(-1, 1, (3_000, g.features))
        x = g.from_box(np.where(generator.random(x.shape) < 0.7, np.sign(x), x))
        for members in g.groups:
            x[:, list(members)] = generator.integers(-1, len(members), 3_000)[:, None] == np.arange(len(members))
        pairs.append(rows(g, x, generator.choice([-1.0, 1.0], 3_000)))
    partition = Halving(g)
    for tree in trees(partition, generator):
        ratios = moved(bins_of(partition, tree), *pairs)
        assert ratios.max() <= 1 + 1e-12


def test_two_bins_meet_the_bound_and_so_does_a_single_bin(geometry, rows, bins_of) -> None:
    g = geometry(2)
    partition = Halving(g)
    ends = rows(g, [[1, 1]], [1]), rows(g, [[-1, -1]], [-1])
    quarters = partition.end / 4 * np.arange(4)
    for tree in ([0.0], quarters):
        assert moved(bins_of(partition, np.array(tree)), *ends) == pytest.approx(1, rel=1e-12)
    # one bin: both columns and the target change by twice their size; two bins: two of each
    assert bins_of(partition, np.array([0.0])).bound == pytest.approx(np.sqrt(8))
    assert bins_of(partition, quarters).bound == pytest.approx(np.sqrt(6))


def test_columns_charged_alone_cost_more_than_they_promise(geometry, bins_of) -> None:
    """For nominal μ, two bins of d columns move by √(2(2 + d)/3) μ, if the bins are cut in every column."""
    g = geometry(3, scaling="corner")
    partition = Halving(g)
    noise = bins_of(partition, np.array([0.0, partition.end / 2])).alone(0.5)
    assert noise.bound == pytest.approx(0.5 * np.sqrt(2 * 5 / 3))
    np.testing.assert_allclose(noise.scale[0][[0, 4]], np.sqrt(3) / 0.5)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_noise_of_the_sums_is_corrected_on_average(intercept, geometry, bins_of) -> None:
    """Over 4,000 draws the corrected matrix alone has the mean of the one without noise (5 standard errors)."""
    generator = np.random.default_rng(0)
    g = geometry(2, intercept=intercept)
    partition = Halving(g)
    bins = bins_of(partition, np.array([0.0, partition.end / 2]))
    sums = np.array([[400.0, -150, 40, 60], [300.0, 170, -30, -20]]).ravel()
    std = np.tile([0.0, 40.0, 30.0, 5.0], 2)
    draws = sums + std * generator.standard_normal((4_000, len(sums)))
    clean = bins.least_squares(sums, np.zeros(len(sums)), 2, "sum")[0]
    for correction, unbiased in (("sum", True), ("none", False), ("mean", False)):
        matrices = np.stack([bins.least_squares(draw, std, 2, correction)[0].matrix[0] for draw in draws])
        error = np.abs(matrices.mean(axis=0) - clean.matrix[0]) / (matrices.std(axis=0) / np.sqrt(len(draws)) + 1e-12)
        assert (error.max() < 5) == unbiased
    linear = np.stack([bins.least_squares(draw, std, 2, "sum")[0].linear[0] for draw in draws])
    assert (np.abs(linear.mean(axis=0) - clean.linear[0]) < 5 * linear.std(axis=0) / np.sqrt(len(draws)) + 1e-9).all()


def test_the_size_of_the_noise_is_that_of_the_matrix(geometry, bins_of) -> None:
    generator = np.random.default_rng(0)
    partition = Halving(geometry(2))
    bins = bins_of(partition, np.array([0.0, partition.end / 2]))
    sums, std = np.array([400.0, -150, 40, 60, 300, 170, -30, -20]), np.tile([0.0, 4.0, 4.0, 5.0], 2)
    draws = sums + std * generator.standard_normal((3_000, len(sums)))
    problems = [bins.least_squares(draw, std, 2, "sum") for draw in draws]
    entries = np.stack([problem.matrix[0] for problem, _ in problems]).std(axis=0)
    assert np.median([size for _, size in problems]) == pytest.approx(entries.max(), rel=0.6)


def test_bins_with_few_rows_are_left_out(geometry, bins_of) -> None:
    partition = Halving(geometry(1))
    bins = bins_of(partition, np.array([0.0, partition.end / 2, partition.end]))
    sums = np.array([10.0, -5, -5, 1.4, 9, 9])
    objective, _ = bins.least_squares(sums, np.ones(6), 2, "none")
    assert objective.matrix[0, 0, 0] == pytest.approx(2.5)
    assert bins.least_squares(sums, np.ones(6), 20, "sum")[0].matrix.tolist() == [[[0.0]]]
