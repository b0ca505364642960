"""Standard errors from information matrices."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.fitting.information import inverse_roots


def test_they_are_the_roots_of_the_inverse_s_diagonal_whatever_the_units() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 3))
    matrix = rows.T @ rows
    units = np.array([1e-9, 1.0, 1e6])
    expected = np.sqrt(np.diag(np.linalg.inv(matrix)))
    found = inverse_roots(np.stack([matrix, matrix * np.outer(units, units)]))
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)
    np.testing.assert_allclose(found[1] * units, expected, rtol=1e-9)


@pytest.mark.parametrize("rows", [[[1, 1, 2], [0, 1, 1], [3, 1, 4], [2, 5, 7]], [[1, 0, 2], [0, 0, 1], [3, 0, 4], [2, 0, 5]]])
def test_a_singular_matrix_has_none_and_leaves_the_other_runs_alone(rows: list[list[int]]) -> None:
    singular = np.array(rows, dtype=float).T @ np.array(rows)
    found = inverse_roots(np.stack([singular, np.diag([4.0, 1.0, 0.25])]))
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], [0.5, 1, 2])
