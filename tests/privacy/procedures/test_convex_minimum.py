"""The minimum of a summed convex loss: where its gradient is zero, however the runs are put together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.procedures.convex_minimum import minimise
from dpbench.privacy.procedures.row_loss import RowLoss


class LogLoss:
    """log(1 + e^t) - y t; with ``sign`` -1 it is concave."""

    def __init__(self, sign: float = 1.0) -> None:
        self.sign = sign

    def gradient(self, x: Any, y: Any, weights: Any) -> Any:
        return self.sign * (expit(x @ weights) - y)

    def curvature(self, x: Any, y: Any, weights: Any) -> Any:
        return self.sign * expit(x @ weights) * expit(-x @ weights)


class Square:
    """Half a squared residual, linear beyond 1 once it is clipped."""

    def gradient(self, x: Any, y: Any, weights: Any) -> Any:
        return x @ weights - y

    def curvature(self, x: Any, y: Any, weights: Any) -> Any:
        return np.ones(len(y))


class Absolute:
    """Huber's loss with a narrow parabola: nearly a kink."""

    def gradient(self, x: Any, y: Any, weights: Any) -> Any:
        return np.clip((x @ weights - y) / 1e-3, -1, 1)

    def curvature(self, x: Any, y: Any, weights: Any) -> Any:
        return (np.abs(x @ weights - y) < 1e-3) / 1e-3


@pytest.fixture
def tables(geometry, rows):
    """Two tables of this many rows."""

    def made(n: int) -> list[Any]:
        generator = np.random.default_rng(n)
        return [rows(geometry(3), generator.uniform(-1, 1, (n, 3)), generator.integers(0, 2, n)) for _ in range(2)]

    return made


@pytest.mark.parametrize("n", [1, 8, 40_000])
@pytest.mark.parametrize("scale", [0.1, 30.0, 3e4])
def test_the_gradient_is_zero_at_the_minimum(n, scale, tables) -> None:
    """Also for a table that starts from a part of its rows, and for noise that pushes the weights far out."""
    first, second = tables(n)
    sample = WholeSample(first, first, second)
    noise = scale * np.random.default_rng(1).normal(size=(3, 3))
    for loss in (RowLoss(LogLoss(), 1.0, 0.25, 2.0), RowLoss(Absolute(), 1.0, 1e3, 2.0)):
        weights = minimise(sample, loss, np.full((3, 3), 0.7), noise, 1e-9)
        for run, table in enumerate((first, first, second)):
            gradient = loss.slopes((table.x @ weights[run])[:, None], table.y)[:, 0] @ table.x + 0.7 * weights[run] + noise[run]
            assert np.linalg.norm(gradient) < 1e-9 * (1 + n + scale)
            alone = minimise(WholeSample(table), loss, np.full((1, 3), 0.7), noise[[run]], 1e-9)
            np.testing.assert_allclose(alone[0], weights[run], rtol=1e-7, atol=1e-8 * scale)


def test_a_loss_without_a_minimum_has_no_weights(tables) -> None:
    (table, _) = tables(50)
    weights = minimise(WholeSample(table), RowLoss(LogLoss(-1.0), 1.0, 0.25, 2.0), np.full((1, 3), 0.7), np.zeros((1, 3)), 1e-9)
    gradient = table.x.T @ (table.y - expit(table.x @ weights[0])) + 0.7 * weights[0]
    assert np.isnan(weights).all() or np.linalg.norm(gradient) < 1e-6


def test_rounding_of_long_weights_does_not_count_as_a_missing_minimum(geometry, rows) -> None:
    """All rows in one direction and a ridge of 1e-6: the weights are thousands long, and their gradient cannot get to 1e-9."""
    table = rows(geometry(2), np.repeat([[1.0, 0.7]], 2_000, axis=0), np.arange(2_000) % 2)
    sample = WholeSample(*[table] * 50)
    noise = 0.1 * np.random.default_rng(0).normal(size=(50, 2))
    weights = minimise(sample, RowLoss(Square(), 1.0, 1.0, 2.0), np.full((50, 2), 1e-6), noise, 1e-10)
    assert np.linalg.norm(weights, axis=1).max() > 1_000
    assert np.isfinite(weights).all()


def test_a_loss_that_is_linear_nearly_everywhere_is_minimised(geometry, rows) -> None:
    """A squared loss clipped at 0.001 on skewed, collinear columns: full Newton steps end in plains, far beyond the minimum."""
    for seed in range(12):
        generator = np.random.default_rng(seed)
        size = generator.gamma(4, 0.1, 300).clip(0, 1)
        x = np.column_stack([(2 * (size * generator.uniform(0.8, 1, 300)) ** power - 1) for power in (1, 2, 3)])
        table = rows(geometry(3, intercept=True), x, (-0.5 + 0.3 * size + generator.exponential(0.15, 300)).clip(-1, 1))
        noise = generator.normal(0, 1e-3, (1, 4))
        loss = RowLoss(Square(), 1e-3, 1.0, 2.0)
        weights = minimise(WholeSample(table), loss, np.full((1, 4), 1e-8), noise, 1e-12)[0]
        gradient = loss.slopes((table.x @ weights)[:, None], table.y)[:, 0] @ table.x + 1e-8 * weights + noise[0]
        assert np.linalg.norm(gradient) < 1e-9


def test_rows_of_persons_are_refused(tables) -> None:
    (table, _), zeros = tables(8), np.zeros((1, 3))
    persons = Rows(table.z, replace(table.geometry, rows_per_person=2))
    with pytest.raises(ValueError, match="for one replaced row"):
        minimise(WholeSample(persons), RowLoss(LogLoss(), 1.0, 0.25, 2.0), zeros + 1, zeros, 1e-9)
