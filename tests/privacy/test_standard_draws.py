"""Standard draws are named by seed, data, run, query and call, and by nothing else."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Laplace, laplace
from dpbench.privacy.standard_draws import Draws

FALSE_ALARM = 1e-6


def normal_limit(tests: int) -> float:
    """How far the largest of ``tests`` standardised means may lie from 0.

    The mean of 20,000 squares of Laplace draws has skewness 0.047, which makes its tail at most five times a normal one's
    here (Edgeworth): an eighth of the false alarms is spent on the normal approximation.
    """
    return float(stats.norm.isf(FALSE_ALARM / tests / 2 / 8))


def test_runs_folds_calls_queries_and_coefficients_are_independent() -> None:
    """No draw occurs twice, and no two coefficients, neighbouring runs, folds or calls correlate. False alarm 1e-6."""
    runs = [(run // 2, run % 2) for run in range(4_000)]
    draws = Draws(0, "test", runs)
    tables = [draws.standard(Laplace(), query, call, 6) for query, call in product(("objective", "other"), (0, 1))]
    tables += [Draws(seed, name, runs).standard(Laplace(), "objective", 0, 6) for seed, name in ((1, "test"), (0, "other"))]
    everything = np.concatenate(tables, axis=1)
    assert np.unique(everything).size == everything.size
    uniform = stats.laplace.cdf(everything) - 0.5
    columns = np.corrcoef(uniform, rowvar=False)[np.triu_indices(uniform.shape[1], 1)]
    lags = np.array(
        [np.corrcoef(uniform[lag:, j], uniform[:-lag, j])[0, 1] for lag in (1, 2, 3) for j in range(uniform.shape[1])]
    )
    found = np.abs(np.concatenate([columns, lags])) * np.sqrt(len(uniform))
    assert found.max() < normal_limit(found.size)


@pytest.fixture
def zeros(geometry, rows):
    return rows(geometry(1), np.zeros((3, 1)), np.zeros(3))


@pytest.fixture
def query(make, curate, zeros):
    return make("model", "linear", intercept=False).prepare(curate(zeros)).polynomial()


def test_kept_draws_are_the_ones_drawn_anew(repeated, zeros, query) -> None:
    shared = Draws(0, "t", [(0, 0), (0, 1)])
    noise = laplace(2.0, 1.0, "p")
    new = Draws(0, "t", shared.runs)
    answers = [Curator(repeated(zeros, 2), draws, Budget(1.0)).release(query, noise) for draws in (shared, shared, new)]
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])


def test_the_seed_the_data_and_the_call_name_the_stream(repeated, zeros, query) -> None:
    noise = laplace(2.0, 0.4, "p")
    curators = [Curator(repeated(zeros, 1), Draws(*key, [(0, 0)]), Budget(1.0)) for key in ((0, "a"), (1, "a"), (0, "b"))]
    answers = [curator.release(query, noise)[0, 0] for curator in curators] + [curators[0].release(query, noise)[0, 0]]
    assert len(set(answers)) == 4


def test_only_so_many_numbers_are_cached(monkeypatch) -> None:
    """Draws beyond the limit are drawn again, and are the same."""
    monkeypatch.setattr("dpbench.privacy.standard_draws.MAX_CACHED_NUMBERS", 10)
    draws = Draws(0, "test", [(0, 0), (1, 0)])
    small, large = draws.standard(Laplace(), "q", 0, 4), draws.standard(Laplace(), "q", 0, 5)
    assert draws.standard(Laplace(), "q", 0, 4) is small
    again = draws.standard(Laplace(), "q", 0, 5)
    assert again is not large
    np.testing.assert_array_equal(again, large)
    assert draws.standard(Laplace(), "r", 0, 1) is draws.standard(Laplace(), "r", 0, 1), "what is small still fits"
