"""Least squares: its scores are those of its predictions, and its derivatives those of its loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dpbench.data.blocks import Block
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import scale
from dpbench.data.table import Table


@pytest.fixture
def block(table: Callable[..., Table], split: Callable[..., Block]) -> Block:
    generator = np.random.default_rng(0)
    x = np.column_stack([generator.uniform(-1, 1, (203, 4)), np.eye(3)[generator.integers(3, size=203)]])
    y = np.tanh(x[:, 0] - x[:, 5] + 0.1 * generator.normal(size=203))
    return split(scale(table(x, y, (3,)), "box", True, "real"), folds=4)


def test_scores_are_those_of_the_predictions(block, make, curate, score) -> None:
    problem = make("model", "linear").prepare(curate(block.train, runs=block.runs))
    weights = problem.exact(block.train).weights + 0.1
    scores = score("linear", weights, block.test)
    for run in range(block.test.runs):
        test = block.test.rows(run)
        residual = test.y - problem.predict(test.x, weights[run])
        assert scores["mse"][run] == pytest.approx(np.mean(residual**2), rel=1e-12)
        assert scores["rmse"][run] == pytest.approx(np.sqrt(np.mean(residual**2)), rel=1e-12)
        assert scores["r2"][run] == pytest.approx(1 - np.mean(residual**2) / np.var(test.y), rel=1e-10)


def test_the_reference_predicts_the_training_mean(block, score_mean) -> None:
    reference = score_mean("linear", block.train, block.test)
    for run in range(block.test.runs):
        test, mean = block.test.rows(run), block.train.rows(run).y.mean()
        assert reference["mse"][run] == pytest.approx(np.mean((test.y - mean) ** 2), rel=1e-12)


def test_rmse_in_the_target_s_unit_is_half_its_range_as_large(make, curate, score) -> None:
    wine = make("dataset", "wine").select(np.random.default_rng(0))
    small = replace(wine, features=wine.features[:300], response=wine.response[:300])
    rows = scale(small, "box", True, "real")
    sample = WholeSample(rows)
    problem = make("model", "linear").prepare(curate(rows))
    weights = problem.exact(sample).weights
    scores = score("linear", weights, sample)
    middle, half = (wine.target.high + wine.target.low) / 2, (wine.target.high - wine.target.low) / 2
    raw = small.response - (problem.predict(rows.x, weights[0]) * half + middle)
    assert scores["rmse_raw"][0] == pytest.approx(np.sqrt(np.mean(raw**2)), rel=1e-4)


def test_weighted_rows_count_as_often_as_their_weight(make, curate, table) -> None:
    generator = np.random.default_rng(1)
    x = generator.uniform(-1, 1, (50, 2))
    rows = scale(table(x, np.tanh(x[:, 0])), "box", True, "real")
    problem = make("model", "linear").prepare(curate(rows))
    weight = generator.integers(0, 4, 50)
    x, y = np.repeat(rows.x, weight, axis=0), np.repeat(rows.y, weight)
    expected = np.linalg.lstsq(x, y, rcond=None)[0]
    np.testing.assert_allclose(problem.weighted(rows.x, rows.y, weight.astype(float)), expected, rtol=1e-9)


def test_gradient_and_curvature_are_the_loss_s_derivatives(make, curate, table) -> None:
    generator = np.random.default_rng(1)
    x = generator.uniform(-1, 1, (20, 3))
    rows = scale(table(x, np.tanh(x[:, 0])), "box", True, "real")
    problem = make("model", "linear").prepare(curate(rows))
    w, step = generator.normal(size=4), 1e-4
    score = rows.x @ w

    def loss(moved: np.ndarray) -> np.ndarray:
        return np.asarray((rows.y - moved) ** 2)

    first = (loss(score + step) - loss(score - step)) / (2 * step)
    second = (loss(score + step) - 2 * loss(score) + loss(score - step)) / step**2
    np.testing.assert_allclose(problem.gradient(rows.x, rows.y, w), first, atol=1e-7)
    np.testing.assert_allclose(problem.curvature(rows.x, rows.y, w), second, atol=1e-6)
