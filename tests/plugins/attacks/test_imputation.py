"""Linear discriminant analysis: scikit-learn's posteriors, also where scikit-learn has none."""

from __future__ import annotations

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from dpbench.plugins.attacks._imputation import discriminant


def test_posteriors_are_those_of_scikit_learn() -> None:
    generator = np.random.default_rng(0)
    classes = generator.choice(3, 500, p=[0.2, 0.5, 0.3])
    columns = generator.normal(size=(500, 4)) + np.eye(4)[classes]
    rule = discriminant(columns, classes, 3)(columns)
    posterior = np.exp(rule - np.logaddexp.reduce(rule, axis=1, keepdims=True))
    expected = LinearDiscriminantAnalysis(solver="lsqr").fit(columns, classes).predict_proba(columns)
    np.testing.assert_allclose(posterior, expected, atol=1e-4)


def test_a_class_without_rows_is_never_guessed() -> None:
    generator = np.random.default_rng(1)
    rule = discriminant(generator.normal(size=(50, 2)), generator.choice([0, 2], 50), 4)(generator.normal(size=(20, 2)))
    assert (rule[:, [1, 3]] == -np.inf).all()
    assert np.isfinite(rule[:, [0, 2]]).all()


def test_a_column_that_determines_the_class_is_used() -> None:
    """The column does not vary within a class, so its covariance is singular."""
    classes = np.arange(40) % 2
    columns = np.column_stack([np.random.default_rng(2).normal(size=40), 2.0 * classes - 1])
    assert (discriminant(columns, classes, 2)(columns).argmax(axis=1) == classes).all()
