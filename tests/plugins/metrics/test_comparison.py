"""Metrics that compare a fit with the non-private one and with the mean predictor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from dpbench.cells.loading import DatasetRows
from dpbench.cells.scoring import References, references_of, utility_columns
from dpbench.contracts.fit import Fit
from dpbench.contracts.metric import FitComparison
from dpbench.data.blocks import Block
from dpbench.data.splits import Splits
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.registry.lookup import registry

SHARE_LOST = registry().get("metric", "share_lost")


@dataclass
class Setting:
    """A model on two folds of a table, its non-private fit, and how to score other weights."""

    block: Block
    references: References
    score: Callable[[np.ndarray], dict[str, np.ndarray]]


@pytest.fixture
def setting(make: Callable[..., Any]) -> Callable[..., Setting]:
    def prepare(model: str = "linear", table: str = "concrete", **options: Any) -> Setting:
        rows = DatasetRows(make("dataset", "open", table=table), make("model", model, **options), Splits("kfold", 1, 2), 0)
        block = rows.block([0])
        problem = rows.model.prepare(Curator(block.train, Draws(0, "test", block.runs), Budget()))
        metrics = registry().metrics_of(rows.model)
        references = references_of(metrics, problem, block)
        return Setting(block, references, lambda weights: utility_columns(metrics, Fit.good(weights), block, references))

    return prepare


@pytest.mark.parametrize("model", ["linear", "ridge", "lasso", "logistic", "robust"])
def test_nothing_is_lost_by_the_non_private_fit_and_everything_by_the_mean(model: str, setting: Callable[..., Setting]) -> None:
    case = setting(model)
    mean = case.block.train.moments.y / case.block.train.moments.n
    constant = np.zeros_like(case.references.weights)
    constant[:, 0] = np.log(mean / (1 - mean)) if model == "logistic" else mean
    np.testing.assert_array_equal(case.score(case.references.weights)["utility/share_lost"], 0)
    np.testing.assert_allclose(case.score(constant)["utility/share_lost"], 1, rtol=1e-9)


def test_losses_of_classes_are_clipped_at_the_mean_predictor_and_others_are_not(setting: Callable[..., Setting]) -> None:
    logistic, linear = setting("logistic"), setting("linear")
    np.testing.assert_array_equal(logistic.score(-1e6 * logistic.references.weights)["utility/share_lost"], 1)
    assert (linear.score(-10 * linear.references.weights)["utility/share_lost"] > 10).all()


def test_it_is_the_share_of_the_way_run_by_run_and_absent_where_there_is_no_way(setting: Callable[..., Setting]) -> None:
    weights, losses = np.zeros((4, 1)), np.array([0.5, 0.5, 0.5, 0.5])
    exact, mean = np.array([0.25, 0.5, 0.0, 0.4]), np.array([0.75, 1.0, 0.25, 0.4])
    comparison = FitComparison("real", weights, weights, weights, {"mse": losses}, {"mse": exact}, {"mse": mean})
    np.testing.assert_array_equal(SHARE_LOST.compare(comparison), [0.5, 0.0, 2.0, np.nan])
    worse = replace(comparison, no_privacy={"mse": mean}, mean_predictor={"mse": exact})
    assert np.isnan(SHARE_LOST.compare(worse)).all()


def test_moving_every_weight_by_two_standard_errors_is_an_error_of_two(setting: Callable[..., Setting]) -> None:
    for model in ("linear", "ridge", "logistic"):
        case = setting(model)
        signs = np.random.default_rng(1).choice([-2.0, 2.0], case.references.weights.shape)
        moved = case.references.weights + signs * case.references.standard_errors
        np.testing.assert_allclose(case.score(moved)["utility/ols_se"], 2, rtol=1e-9)


def test_standard_errors_of_least_squares_are_the_textbook_s(setting: Callable[..., Setting]) -> None:
    case = setting("linear")
    for run in range(case.block.train.runs):
        rows = case.block.train.rows(run)
        weights, squares = np.linalg.lstsq(rows.x, rows.y, rcond=None)[:2]
        covariance = np.linalg.inv(rows.x.T @ rows.x) * squares[0] / (rows.n - len(weights))
        np.testing.assert_allclose(case.references.standard_errors[run], np.sqrt(np.diag(covariance)), rtol=1e-8)


def test_standard_errors_of_logistic_regression_come_from_the_fisher_information(setting: Callable[..., Setting]) -> None:
    case = setting("logistic")
    rows, weights = case.block.train.rows(0), case.references.weights[0]
    probability = 1 / (1 + np.exp(-rows.x @ weights))
    information = (rows.x * (probability * (1 - probability))[:, None]).T @ rows.x
    expected = np.sqrt(np.diag(np.linalg.inv(information)))
    np.testing.assert_allclose(case.references.standard_errors[0], expected, rtol=1e-8)


def test_a_singular_design_and_a_model_without_standard_errors_have_none(setting: Callable[..., Setting]) -> None:
    for model, table in (("linear", "electrical_grid"), ("linear", "naval"), ("robust", "concrete")):
        case = setting(model, table)
        scores = case.score(case.references.weights + 1)
        assert np.isnan(scores["utility/ols_se"]).all()
        assert np.isfinite(scores["utility/share_lost"]).all()
