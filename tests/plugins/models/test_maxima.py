"""Runs that share a table are fitted together, and get what each of them gets alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench.data.samples import Sample, WholeSample
from dpbench.data.scaling import Rows
from dpbench.plugins.models import _maxima
from dpbench.plugins.models._maxima import maxima_of
from dpbench.plugins.models._newton import RowExpansion, most_likely


@pytest.fixture
def drawn(geometry, rows) -> Callable[..., Rows]:
    """Rows of numbers and a group of three levels, which with the intercept leave a direction flat, and their classes."""

    def built(n: int = 2_000, rare: int = 600) -> Rows:
        generator = np.random.default_rng(0)
        level = np.zeros((n, 3))
        level[np.arange(n), np.where(np.arange(n) < rare, 2, np.arange(n) % 2)] = 1
        x = np.column_stack([generator.uniform(-1, 1, (n, 4)), level])
        log_odds = 0.5 + x @ np.array([1.0, -2.0, 0.5, 0.0, 0.3, -0.3, 0.0])
        y = (generator.random(n) < 1 / (1 + np.exp(-log_odds))).astype(float)
        return rows(geometry(4, (3,), True, target="binary"), x, y)

    return built


def alone(sample: Sample) -> np.ndarray:
    return np.stack([most_likely(sample.rows(run).x, sample.rows(run).y)[0] for run in range(sample.runs)])


@pytest.mark.parametrize("n", [200, 2_000, 40_000])
def test_runs_fitted_together_get_their_own_maxima(n, drawn, split) -> None:
    """Their gradients vanish, their predictions are those of fits from zero, and no weight moves in the flat direction."""
    train = split(drawn(n, n // 4), (0, 1)).train
    maxima = maxima_of(train)
    assert maxima.converged.all()
    assert all(matrix is not None for matrix in maxima.information)
    assert np.abs(maxima.weights @ [1, 0, 0, 0, 0, -1, -1, -1]).max() < 1e-12
    for run, expected in enumerate(alone(train)):
        rows = train.rows(run)
        np.testing.assert_allclose(rows.x @ maxima.weights[run], rows.x @ expected, rtol=1e-9, atol=1e-9)
        assert np.abs(RowExpansion(rows.x, rows.y, None, maxima.weights[run]).gradient).max() < 1e-11 * rows.n


@pytest.mark.parametrize(("n", "max_columns"), [(200, 24), (2_000, 24), (40_000, 24), (40_000, 2), (400_000, 24)])
def test_the_information_is_that_of_the_training_rows_at_the_maximum(n, max_columns, drawn, split, monkeypatch) -> None:
    """Of large tables its change is summed in single precision; of many columns the third derivative is not used."""
    monkeypatch.setattr(_maxima, "MAX_COLUMNS_OF_THIRD", max_columns)
    train = split(drawn(n, n // 4), (0,)).train
    maxima = maxima_of(train)
    for matrix, rows, weights in zip(
        maxima.all_information(train), map(train.rows, range(train.runs)), maxima.weights, strict=True
    ):
        np.testing.assert_allclose(matrix, RowExpansion(rows.x, rows.y, None, weights).hessian, rtol=1e-8, atol=1e-9 * rows.n)


def test_a_run_whose_rows_lack_a_level_is_fitted_alone(drawn, split) -> None:
    """One row has the third level: without it the weight of that level is zero, as in a fit from zero."""
    rows = drawn(400, 1)
    train = split(rows, (0,)).train
    lacking = [run for run in range(train.runs) if not train.rows(run).x[:, -1].any()]
    assert len(lacking) == 1
    maxima = maxima_of(train)
    assert maxima.information[lacking[0]] is None
    assert maxima.weights[lacking[0], -1] == 0
    np.testing.assert_array_equal(maxima.weights[lacking[0]], alone(train)[lacking[0]])


def test_where_the_table_can_be_separated_each_run_is_fitted_alone(drawn, split) -> None:
    rows = drawn(300, 100)
    z = rows.z.copy()
    z[:, -1] = z[:, 1] > 0
    train = split(Rows(z, rows.geometry), (0,)).train
    maxima = maxima_of(train)
    assert not maxima.converged.any()
    np.testing.assert_array_equal(maxima.weights, alone(train))


def test_a_search_that_does_not_converge_is_not_believed(drawn, split, monkeypatch) -> None:
    """After too few steps the last one is too long, and the runs are fitted alone."""
    train = split(drawn(200, 50), (0,)).train
    monkeypatch.setattr(_maxima, "MAX_STEPS", 2)
    maxima = maxima_of(train)
    assert all(matrix is None for matrix in maxima.information)
    np.testing.assert_array_equal(maxima.weights, alone(train))


def test_a_run_s_bits_do_not_depend_on_the_other_repeats(drawn, split) -> None:
    rows: Any = drawn()
    together, second = maxima_of(split(rows, (0, 1, 2)).train), maxima_of(split(rows, (1,)).train)
    np.testing.assert_array_equal(together.weights[3:6], second.weights)
    np.testing.assert_array_equal(np.stack(together.information[3:6]), np.stack(second.information))


def test_a_table_that_one_run_has_alone_is_fitted_from_zero(drawn) -> None:
    rows = drawn()
    np.testing.assert_array_equal(maxima_of(WholeSample(rows, rows)).weights, np.tile(most_likely(rows.x, rows.y)[0], (2, 1)))
