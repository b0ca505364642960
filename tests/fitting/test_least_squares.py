"""The problem of least squares, as models outside of dpbench extend it."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench import LeastSquares, Rows
from dpbench.data.samples import WholeSample


class Shrunken(LeastSquares):
    """Least squares with a penalty of 3 ‖w‖² on all weights."""

    has_penalty = True

    def regularised(self, quadratic):
        return quadratic.ridged(3.0)


@pytest.fixture
def drawn(geometry, rows) -> Rows:
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (40, 3))
    return rows(geometry(3, intercept=True), x, np.tanh(x.sum(axis=1)))


def test_without_a_penalty_the_fit_is_least_squares(drawn) -> None:
    fit = LeastSquares(drawn.geometry, np.array([40.0])).exact(WholeSample(drawn))
    np.testing.assert_allclose(fit.weights[0], np.linalg.lstsq(drawn.x, drawn.y, rcond=None)[0], rtol=1e-9)


def test_a_penalty_of_an_extension_counts_in_every_fit(drawn) -> None:
    problem = Shrunken(drawn.geometry, np.array([40.0]))
    expected = np.linalg.solve(drawn.x.T @ drawn.x + 3 * np.eye(4), drawn.x.T @ drawn.y)
    np.testing.assert_allclose(problem.exact(WholeSample(drawn)).weights[0], expected, rtol=1e-9)
    np.testing.assert_allclose(problem.weighted(drawn.x, drawn.y, np.ones(40)), expected, rtol=1e-9)


def test_standard_errors_are_the_textbook_s_and_none_where_columns_depend_on_each_other(drawn, rows) -> None:
    problem, sample = LeastSquares(drawn.geometry, np.array([40.0])), WholeSample(drawn)
    weights = problem.exact(sample).weights
    variance = np.sum((drawn.y - drawn.x @ weights[0]) ** 2) / (40 - 4)
    expected = np.sqrt(variance * np.diag(np.linalg.inv(drawn.x.T @ drawn.x)))
    np.testing.assert_allclose(problem.standard_errors(sample, weights)[0], expected, rtol=1e-9)
    equal = rows(drawn.geometry, drawn.z[:, [1, 1, 2]], drawn.y)
    assert np.isnan(problem.standard_errors(WholeSample(equal), weights)).all()
