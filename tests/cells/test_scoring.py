"""Scores of the runs of a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench.cells.loading import DatasetRows
from dpbench.cells.scoring import finite_weights, references_of, run_columns, utility_columns, where_finite
from dpbench.contracts.fit import Fit
from dpbench.data.splits import Splits
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.registry.lookup import registry


@pytest.fixture
def prepared(make: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """Return the metrics of a linear model, its problem on wine, and a block of two repeats and two folds."""
    rows = DatasetRows(make("dataset", "wine"), make("model", "linear"), Splits("kfold", 2, 2), 0)
    block = rows.block([0, 1])
    return (
        registry().metrics_of(rows.model),
        rows.model.prepare(Curator(block.train, Draws(0, "test", block.runs), Budget())),
        block,
    )


def test_the_non_private_fit_exceeds_itself_by_nothing(prepared: tuple[Any, Any, Any]) -> None:
    metrics, problem, block = prepared
    references = references_of(metrics, problem, block)
    utility = utility_columns(metrics, problem.exact(block.train), block, references)
    np.testing.assert_array_equal(utility["utility/rmse"], references.columns["reference/no_privacy/rmse"])
    for name in ("excess_rmse", "ols_se", "share_lost"):
        np.testing.assert_array_equal(utility[f"utility/{name}"], 0)


def test_a_metric_that_compares_has_no_references_of_its_own(prepared: tuple[Any, Any, Any]) -> None:
    metrics, problem, block = prepared
    references = references_of(metrics, problem, block)
    utility = utility_columns(metrics, problem.exact(block.train), block, references)
    assert not [name for name in references.columns if "share_lost" in name]
    assert [name for name in utility if "share_lost" in name] == ["utility/share_lost"]


def test_every_run_is_named(prepared: tuple[Any, Any, Any]) -> None:
    columns = run_columns(prepared[2], 7)
    assert columns["repeat"].tolist() == [0, 0, 1, 1]
    assert columns["fold"].tolist() == [0, 1, 0, 1]
    assert columns["seed"].tolist() == [7] * 4
    np.testing.assert_array_equal(columns["n_train"] + columns["n_test"], 4898)


def test_the_mean_predictor_of_a_linear_model_is_beaten_by_its_fit(prepared: tuple[Any, Any, Any]) -> None:
    references = references_of(*prepared)
    assert (references.no_privacy["rmse"] < references.mean_predictor["rmse"]).all()


def test_a_run_without_finite_weights_has_no_score_and_leaves_the_others_alone(prepared: tuple[Any, Any, Any]) -> None:
    metrics, problem, block = prepared
    references = references_of(metrics, problem, block)
    fit = problem.exact(block.train)
    weights = fit.weights.copy()
    weights[2, 0] = np.inf
    utility = utility_columns(metrics, Fit.good(weights), block, references)
    for name in ("utility/rmse", "utility/excess_rmse", "utility/ols_se", "utility/share_lost"):
        np.testing.assert_array_equal(np.isnan(utility[name]), [False, False, True, False])


def test_a_model_whose_exact_fit_is_no_fit_is_named(prepared: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    metrics, problem, block = prepared
    monkeypatch.setattr(type(problem), "exact", lambda self, sample: None)
    with pytest.raises(TypeError, match=r"exact must return a dpbench\.Fit\. Got NoneType instead\."):
        references_of(metrics, problem, block)


def test_runs_that_are_not_finite_are_masked_in_numbers_and_in_curves() -> None:
    finite, weights = finite_weights(Fit.good(np.array([[1.0, 2.0], [np.nan, 3.0]])))
    assert weights.tolist() == [[1.0, 2.0], [0.0, 0.0]]
    assert np.isnan(where_finite(finite, np.ones(2))).tolist() == [False, True]
    assert np.isnan(where_finite(finite, np.ones((2, 3)))).all(axis=1).tolist() == [False, True]
