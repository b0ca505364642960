"""Fits without noise are those of an independent solver on the same rows, whatever the spreads of the columns.

The oracle is scripts/agreement_benchmarks.py, which measures how far they are apart.
"""

from __future__ import annotations

import numpy as np
import pytest
from script_loader import load_script

from dpbench.data.samples import WholeSample
from dpbench.data.scaling import scale

agreement = load_script("agreement_benchmarks")
least_squares, table_of, unequal = agreement.least_squares, agreement.table_of, agreement.unequal
OFFSETS, ROWS, TOLERANCE = agreement.OFFSETS, agreement.ROWS, agreement.TOLERANCE


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_fits_without_noise_are_those_of_the_oracle(make, curate, scaling, intercept) -> None:
    rows = scale(table_of(np.random.default_rng(0).uniform(-1, 1, (ROWS, 6)), 1), scaling, intercept, "real")
    problem = make("model", "linear", intercept=intercept).prepare(curate(rows))
    weights = problem.exact(WholeSample(rows)).weights[0]
    np.testing.assert_allclose(weights, least_squares(rows), rtol=TOLERANCE, atol=0)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("ratio", [1e3, 1e5, 1e6])
def test_they_are_also_where_the_spreads_of_columns_differ_a_millionfold(make, curate, ratio, offset, intercept) -> None:
    rows = scale(table_of(unequal(ratio, offset, 2), 3), "box", intercept, "real")
    spreads = rows.z[:, 1:-1].std(axis=0)
    assert spreads.max() / spreads.min() == pytest.approx(ratio, rel=0.4)
    problem = make("model", "linear", intercept=intercept).prepare(curate(rows))
    weights = problem.exact(WholeSample(rows)).weights[0]
    np.testing.assert_allclose(weights, least_squares(rows), rtol=TOLERANCE, atol=0)


@pytest.mark.parametrize("intercept", [True, False])
def test_they_are_also_where_two_columns_are_nearly_the_same(make, curate, intercept) -> None:
    features = np.random.default_rng(6).uniform(-1, 1, (ROWS, 5))
    features[:, 1] = np.clip(features[:, 0] + np.random.default_rng(7).normal(0, 1e-4, ROWS), -1, 1)
    rows = scale(table_of(features, 8), "box", intercept, "real")
    assert np.linalg.cond(rows.x.T @ rows.x) > 1e7
    weights = make("model", "linear", intercept=intercept).prepare(curate(rows)).exact(WholeSample(rows)).weights[0]
    np.testing.assert_allclose(weights, least_squares(rows), rtol=TOLERANCE, atol=0)


def test_columns_that_depend_on_each_other_keep_the_smallest_weights(make, curate) -> None:
    features = np.random.default_rng(4).uniform(-1, 1, (500, 3))
    features[:, 2] = features[:, 1]
    rows = scale(table_of(features, 5), "box", True, "real")
    weights = make("model", "linear").prepare(curate(rows)).exact(WholeSample(rows)).weights[0]
    assert weights[2] == pytest.approx(weights[3], rel=1e-9)
    np.testing.assert_allclose(weights, np.linalg.lstsq(rows.x, rows.y, rcond=None)[0], rtol=1e-9)


def test_the_measured_agreement_is_within_its_limit_and_a_wrong_weight_is_seen(monkeypatch) -> None:
    assert all(figure.ok for figure in agreement.measure_agreement())
    monkeypatch.setattr(agreement, "least_squares", lambda rows: least_squares(rows) * (1 + 2e-9))
    assert not any(figure.ok for figure in agreement.measure_agreement())
