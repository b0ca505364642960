"""How likely targets are, given predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from dpbench.contracts.model import Problem
from dpbench.data.geometry import Geometry
from dpbench.plugins.attacks._likelihoods import MIN_LOG_LIKELIHOOD, hard, soft


@pytest.fixture
def problem_of(make: Callable[..., Any], geometry: Callable[..., Geometry]) -> Callable[[str], Problem]:
    def built(name: str) -> Problem:
        model = make("model", name, intercept=False)
        public = type("Public", (), {"geometry": geometry(1, target=model.target), "n": np.array([10])})()
        return model.prepare(public)

    return built


def test_real_targets_are_normal_around_the_clipped_prediction(problem_of) -> None:
    y, linear = np.array([0.5, -0.5, 1.0]), np.array([0.25, -0.25, 3.0])
    spread = np.sqrt(np.mean((y - np.clip(linear, -1, 1)) ** 2))
    likelihood = soft(problem_of("linear"), y, linear)
    candidates = np.array([[0.1, -2.0], [0.2, 0.3]])
    expected = norm.logpdf(np.array([[0.4], [0.6]]), np.clip(candidates, -1, 1), spread)
    np.testing.assert_allclose(likelihood(np.array([0.4, 0.6]), candidates), expected)


def test_classes_have_the_model_s_probability(problem_of) -> None:
    likelihood = soft(problem_of("logistic"), np.array([1.0]), np.array([0.0]))
    values = np.exp(likelihood(np.array([1.0, 0.0]), np.array([[2.0], [2.0]])))
    assert values.ravel() == pytest.approx([1 / (1 + np.exp(-2)), 1 / (1 + np.exp(2))])


def test_the_hard_likelihood_is_the_share_of_the_class_among_rows_of_the_same_prediction(problem_of) -> None:
    y, linear = np.array([1.0, 1, 0, 0, 0]), np.array([1.0, 1, 1, -1, -1])
    likelihood = hard(problem_of("logistic"), y, linear)
    values = likelihood(np.array([1.0, 0.0]), np.array([[5.0, -5.0], [5.0, -5.0]]))
    np.testing.assert_allclose(values, [[np.log(2 / 3), MIN_LOG_LIKELIHOOD], [np.log(1 / 3), 0.0]])


def test_a_class_that_is_never_predicted_says_nothing(problem_of) -> None:
    likelihood = hard(problem_of("logistic"), np.array([1.0, 0.0]), np.array([1.0, 1.0]))
    np.testing.assert_allclose(likelihood(np.array([1.0, 0.0]), np.array([[-1.0], [-1.0]])), np.log(0.5))
