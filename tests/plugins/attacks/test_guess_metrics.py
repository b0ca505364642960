"""The metrics of guesses, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dpbench.plugins.attacks._guess_metrics import guess_metrics, likeliest, stack_runs

LOW, HIGH = np.log(0.2), np.log(0.8)


def posterior(*guesses: int) -> np.ndarray:
    """Log posteriors of two candidates that prefer these guesses."""
    return np.array([[LOW, HIGH] if guess else [HIGH, LOW] for guess in guesses])


def test_of_equally_likely_candidates_the_larger_is_guessed() -> None:
    assert likeliest(np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])).tolist() == [1, 2, 2]


def test_metrics_of_two_candidates() -> None:
    train = posterior(1, 1, 0, 0, 1), np.array([1, 1, 1, 0, 0])
    test = posterior(0, 0), np.array([1, 0])
    metrics = guess_metrics(train, test, majority=1)
    assert metrics == pytest.approx(
        {
            "accuracy_train": 3 / 5,
            "accuracy_test": 1 / 2,
            "gap": 1 / 10,
            "balanced_accuracy": (2 / 3 + 1 / 2) / 2,
            "auc": roc_auc_score(train[1], train[0][:, 1]),
            "advantage": 0.0,
        }
    )


def test_the_auc_of_several_candidates_weighs_each_by_its_rows() -> None:
    generator = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [10, 20, 30])
    log_posterior = np.log(generator.dirichlet([1, 1, 1], 60))
    metrics = guess_metrics((log_posterior, truth), (log_posterior, truth), 2)
    expected = roc_auc_score(truth, np.exp(log_posterior), multi_class="ovr", average="weighted")
    assert metrics["auc"] == pytest.approx(expected)
    assert metrics["gap"] == 0


def test_one_true_candidate_has_no_auc_and_impossible_candidates_tie() -> None:
    sure = np.array([[0.0, -np.inf]] * 3)
    assert np.isnan(guess_metrics((sure, np.zeros(3, int)), (sure, np.zeros(3, int)), 0)["auc"])
    impossible = np.array([[0.0, -np.inf, -np.inf]] * 4)
    truth = np.array([0, 0, 1, 2])
    assert guess_metrics((impossible, truth), (impossible, truth), 0)["auc"] == pytest.approx(0.5)


def test_runs_are_stacked_by_metric() -> None:
    stacked = stack_runs({"auc": value} for value in (0.5, 0.75))
    assert stacked["auc"].tolist() == [0.5, 0.75]
