"""Output perturbation: minimisers of neighbours differ by at most the bound, and the noise has the declared law."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpbench.accounting.costs import Gdp, Pure
from dpbench.data.samples import WholeSample
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.privacy.procedures.convex_minimum import minimise
from dpbench.privacy.procedures.perturbed_minimum import PerturbedMinimum
from dpbench.privacy.procedures.row_loss import RowLoss


class Huber:
    """Huber's loss with a parabola at residuals below 1/10."""

    def gradient(self, x: Any, y: Any, weights: Any) -> Any:
        return np.clip(10 * (x @ weights - y), -1, 1)

    def curvature(self, x: Any, y: Any, weights: Any) -> Any:
        return 10.0 * (np.abs(x @ weights - y) < 0.1)


LOSS = RowLoss(Huber(), 1.0, 10.0, math.sqrt(2))


@pytest.mark.parametrize("alpha", [0.5, 4.0, 50.0])
def test_minimisers_of_neighbours_differ_by_at_most_the_bound(alpha, geometry, rows) -> None:
    """Over random neighbours. At a large ridge, opposite rows meet it."""
    generator = np.random.default_rng(0)
    largest = 0.0
    for n in (1, 1, 1, 2, 5):
        x = np.sign(generator.uniform(-1, 1, (100, n, 2))) * generator.choice([0.3, 1.0], (100, n, 1))
        y = generator.uniform(-1, 1, (100, n))
        y[:, -1] = 1.0
        other_x, other_y = x.copy(), y.copy()
        other_x[:, -1], other_y[:, -1] = -x[:, -1], 1.0
        weights = []
        for features, targets in ((x, y), (other_x, other_y)):
            sample = WholeSample(*[rows(geometry(2), *table) for table in zip(features, targets, strict=True)])
            weights.append(minimise(sample, LOSS, np.full((100, 2), alpha), np.zeros((100, 2)), 1e-12))
        largest = max(largest, float(np.linalg.norm(weights[0] - weights[1], axis=1).max()))
    bound = LOSS.reach / alpha
    assert largest <= bound * (1 + 1e-9)
    assert largest > 0.99 * bound or alpha < 10


@pytest.mark.parametrize(("law", "cost"), [("gamma", Pure(0.8)), ("gaussian", Gdp(0.8))])
def test_the_noise_has_the_declared_law(law, cost, geometry, rows) -> None:
    table = rows(geometry(2), [[1.0, 0.5], [-0.5, 1.0]], [0.5, -1.0])
    runs = 4_000
    procedure = PerturbedMinimum(LOSS, np.array([3.0]), law, 0.8, np.zeros((1, 2)))
    curator = Curator(WholeSample(*[table] * runs), Draws(0, "t", [(run, 0) for run in range(runs)]), Budget(9.0, 1e-6))
    minimum = minimise(WholeSample(table), LOSS, np.full((1, 2), 3.0), np.zeros((1, 2)), 1e-12)
    length = np.linalg.norm(curator.ask(procedure) - minimum, axis=1)
    scale = LOSS.reach / 3.0 / 0.8
    expected = stats.gamma(2, scale=scale) if law == "gamma" else stats.chi(2, scale=scale)
    assert stats.kstest(length, expected.cdf).pvalue > 1e-6
    assert [entry.cost for entry in curator.ledger.entries] == [cost]


def test_what_makes_no_minimum_is_refused() -> None:
    with pytest.raises(ValueError, match="finite and positive"):
        PerturbedMinimum(LOSS, np.array([0.0]), "gamma", 1.0, np.zeros((1, 2)))
    with pytest.raises(ValueError, match="finite and positive"):
        PerturbedMinimum(LOSS, np.array([1.0]), "gamma", 0.0, np.zeros((1, 2)))
