"""The matrix of curvatures: its weights are those of the loss, or of a parabola that touches the loss and lies above it."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.queries.query import exact_answer


@pytest.mark.parametrize("shape", ["bound", "hessian"])
def test_weights_are_curvatures_of_the_loss_or_of_a_parabola_above_it(shape, make, geometry, fit_mechanism) -> None:
    rng = np.random.default_rng(0)
    rows = Rows(
        np.column_stack([np.ones(50), rng.uniform(-1, 1, (50, 2)), np.arange(50) % 2]), geometry(2, (), True, target="binary")
    )
    fitted = fit_mechanism("dp_newton", rows, make("model", "logistic"), 1.0, steps=1)
    first = fitted.curator.tape[1].call.query
    query = type(first)(first.geometry, fitted.problem, np.array([[0.3, 4.0, -9.0]]), shape)
    assert query.identity != type(first)(first.geometry, fitted.problem, query.state + 1e-9, shape).identity
    np.testing.assert_array_equal(first.weights(rows, 0), np.full(50, 0.25))
    score, s = rows.x @ query.state[0], query.weights(rows, 0)
    sigmoid = 1 / (1 + np.exp(-score))
    if shape == "hessian":
        np.testing.assert_allclose(s, sigmoid * (1 - sigmoid), atol=1e-15)
    z = np.linspace(-30, 30, 301)[:, None]
    parabola = np.logaddexp(0, score) + sigmoid * (z - score) + s * (z - score) ** 2 / 2
    assert (parabola >= np.logaddexp(0, z) - 1e-9).all() == (shape == "bound")
    upper = np.triu_indices(3)
    matrix = (rows.x * s[:, None]).T @ rows.x
    from_rows = exact_answer(query, WholeSample(rows))[0]
    np.testing.assert_allclose(from_rows, matrix[upper], atol=1e-12)
    quadratic = query.quadratic(from_rows[None], np.ones((1, 3)))
    np.testing.assert_allclose(quadratic.matrix[0], matrix / 2, atol=1e-12)
