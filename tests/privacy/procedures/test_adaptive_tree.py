"""The adaptive tree: its law, its price, which a pair of tables nearly attains, and what an audit replays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

from dpbench.accounting.conversion import pure_of_gdp
from dpbench.accounting.costs import Gdp, Pure
from dpbench.contracts.mechanism import Fit, Mechanism
from dpbench.data.halving import Halving
from dpbench.data.samples import WholeSample
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.privacy.procedures import adaptive_tree
from dpbench.privacy.procedures.adaptive_tree import PATH_PRICE, PRICE, AdaptiveTree
from dpbench.privacy.replay import Violation


@dataclass(frozen=True)
class Tree(Mechanism):
    """Publish how many leaves a tree has."""

    name: ClassVar[str] = "tree_test"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        partition = Halving(curator.geometry, 6)
        starts = curator.ask(AdaptiveTree(partition, Pure(budget.epsilon), 40))
        leaves = (starts < partition.end).sum(axis=1, keepdims=True)
        return Fit.good(np.repeat(leaves.astype(float), curator.geometry.dimension, axis=1))


def grown(partition: Halving, price: Any, leaves: int, sample: WholeSample, seed: int = 0) -> np.ndarray:
    draws = Draws(seed, "t", [(run, 0) for run in range(sample.runs)])
    return Curator(sample, draws, Budget(1e9, 1e-6, "approx")).ask(AdaptiveTree(partition, price, leaves))


def test_trees_have_the_probabilities_that_are_judged(geometry, rows) -> None:
    """Three levels of halving make few trees: each is as frequent as its log-probability says (χ², 1e-6)."""
    g = geometry(1)
    table = rows(g, [[-0.9]] * 3 + [[-0.3]] * 6 + [[0.6]], np.zeros(10))
    partition, runs = Halving(g, 3), 3_000
    trees, seen = np.unique(grown(partition, Pure(3.0), 8, WholeSample(*[table] * runs)), axis=0, return_counts=True)
    counts = np.stack([np.histogram(partition.locate(table)[:, 0], np.append(tree, partition.end))[0] for tree in trees])
    judge = AdaptiveTree(partition, Pure(3.0), 8)
    probability = np.exp([judge._log_probability(tree, count.astype(float)) for tree, count in zip(trees, counts, strict=True)])
    assert probability.sum() == pytest.approx(1, abs=0.01)
    common = probability * runs > 5
    rest = [max(1 - probability[common].sum(), 1e-12)]
    chi = stats.chisquare([*seen[common], seen[~common].sum()], runs * np.array([*probability[common], *rest]))
    assert chi.pvalue > 1e-6


def test_more_rows_make_smaller_cells_and_empty_cells_stay_large(geometry, rows) -> None:
    g = geometry(2)
    x = np.random.default_rng(0).uniform(-1, 0, (4_000, 2))
    partition = Halving(g)
    (starts,) = grown(partition, Pure(1.0), 500, WholeSample(rows(g, x, np.zeros(len(x)))))
    starts = starts[starts < partition.end]
    low, high = partition.boxes(starts)
    dense = (high <= 0).all(axis=1)
    assert dense.sum() > 20
    assert np.prod(high - low, axis=1)[dense].mean() < np.prod(high - low, axis=1)[~dense].mean() / 10


def test_a_tree_has_no_more_leaves_than_allowed_and_is_the_same_in_any_batch(geometry, rows) -> None:
    g = geometry(2)
    table = rows(g, np.random.default_rng(0).uniform(-1, 1, (300, 2)), np.zeros(300))
    partition = Halving(g)
    for leaves in (1, 2, 7, 64):
        answers = grown(partition, Pure(1e6), leaves, WholeSample(table, table, table))
        assert ((answers < partition.end).sum(axis=1) > leaves / 4).all()
        np.testing.assert_array_equal(answers[0], grown(partition, Pure(1e6), leaves, WholeSample(table))[0])


def worst_ratio(depth: int, scale: float, counts: tuple[float, float], geometry: Any) -> tuple[float, float]:
    """Return how far a row that moves from a cell that is split ``depth`` times into a leaf moves the tree: all, the splits."""
    partition = Halving(geometry(1), 16)
    halves = [partition.end >> level for level in range(1, depth + 1)]
    starts = np.array(sorted([0, *halves]), dtype=float)
    tree = AdaptiveTree(partition, Pure(PRICE / scale), 100, starts[None])
    one, path = np.zeros(len(starts)), np.zeros(len(starts))
    one[0], one[-1] = counts
    other = one.copy()
    other[0], other[-1] = one[0] - 1, one[-1] + 1
    path[:] = one
    path[0] -= 1
    return float(tree.moved(one, other, run=0)), float(tree.moved(one, path, run=0)) * PRICE


@pytest.mark.parametrize("scale", [3.0, 30.0, 300.0])
def test_the_price_is_nearly_attained_and_never_exceeded(scale, geometry) -> None:
    """Rows in one corner are split down to scores just above -δ, and many rows in a leaf make it unlikely."""
    step, worst, splits = scale * np.log(2), 0.0, 0.0
    for depth in (3, 8, 12):
        for last in np.linspace(-1.5, 2, 57) * step:
            count = max(round((depth - 1) * step + last), 1)
            both, path = worst_ratio(depth, scale, (count, 40 * scale), geometry)
            worst, splits = max(worst, both), max(splits, path)
    assert 0.8 < worst <= 1
    assert splits <= PATH_PRICE
    if scale == 300:
        assert worst > 0.97


def test_no_random_change_of_a_row_exceeds_the_price(geometry) -> None:
    generator, partition = np.random.default_rng(0), Halving(geometry(2), 12)
    for price in (Pure(0.1), Pure(1.0), Pure(8.0)):
        judge = AdaptiveTree(partition, price, 60)
        for _ in range(60):
            codes = np.sort(generator.integers(0, partition.end, 100) >> generator.integers(0, 8, 100))
            starts = judge._grow(codes, generator)
            counts = np.histogram(codes, np.append(starts, partition.end))[0].astype(float)
            changed = np.tile(counts, (40, 1))
            changed[:, np.flatnonzero(counts)[0]] -= 1
            changed[np.arange(40), generator.integers(len(counts), size=40)] += 1
            moved = AdaptiveTree(partition, price, 60, starts[None]).moved(counts, changed, run=0)
            assert (moved <= 1 + 1e-12).all()


def test_the_price_in_gdp_is_that_of_the_pure_epsilon(geometry, rows) -> None:
    tree = AdaptiveTree(Halving(geometry(1)), Gdp(0.2), 9)
    assert tree.epsilon == pytest.approx(pure_of_gdp(0.2))
    assert tree.scale == pytest.approx(PRICE / tree.epsilon)
    assert tree.cost == Gdp(0.2)
    curator = Curator(WholeSample(rows(geometry(1), [[0.5]], [0])), Draws(0, "t", [(0, 0)]), Budget(0.2, 1e-6, "gdp"))
    curator.ask(tree)
    assert [entry.cost for entry in curator.ledger.entries] == [Gdp(0.2)]


def test_an_audit_passes_the_price_and_finds_a_smaller_one(make, monkeypatch) -> None:
    from dpbench.audit.procedure import audit
    from dpbench.audit.subject import AuditSettings, AuditSubject, example_geometry

    model = make("model", "linear", intercept=False)
    settings = AuditSettings("replay", rows=20)
    subject = AuditSubject(Tree(), model, Budget(1.0, 1e-6, "pure"), example_geometry(model, 2), settings)
    assert audit(subject).passed
    monkeypatch.setattr(adaptive_tree, "PRICE", 1.0)
    assert "times its declared log-probability ratio" in audit(subject).violations[0]


def test_a_replay_finds_a_price_that_is_too_small(geometry, rows, replayed, monkeypatch) -> None:
    g = geometry(1)
    common = [[-0.9]] * 20
    first, second = rows(g, [*common, [-0.9]], np.zeros(21)), rows(g, [*common, [0.9]], np.zeros(21))
    one, other, replay = replayed(Tree(), first, second)
    assert 0.1 < replay.ratios[0] <= 1
    np.testing.assert_array_equal(one.weights, other.weights)
    monkeypatch.setattr(adaptive_tree, "PRICE", 0.3)
    with pytest.raises(Violation, match="times its declared log-probability ratio"):
        replayed(Tree(), first, second)


def test_what_makes_no_tree_is_refused(geometry) -> None:
    for price, leaves in ((Pure(0.0), 5), (Pure(1.0), 0)):
        with pytest.raises(ValueError, match="finite, positive ε"):
            AdaptiveTree(Halving(geometry(1)), price, leaves)
