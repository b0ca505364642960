"""The simulated table: its laws are as declared, and its coefficients are the true ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from dpbench.base.errors import Refused
from dpbench.base.random_streams import stream
from dpbench.cells.loading import DatasetRows
from dpbench.data.scaling import Rows, scale
from dpbench.data.splits import Splits
from dpbench.data.table import Table

ROWS = 40_000
DEVIATION = {"uniform": 10 / math.sqrt(12), "binary": math.sqrt(0.21), "rare": math.sqrt(0.03 * 0.97), "skewed": 0.5}


def errors_of(table: Table) -> np.ndarray:
    assert table.coefficients is not None
    return np.asarray(table.response - table.coefficients[0] - table.features @ table.coefficients[1:])


def distances(rows: Rows) -> np.ndarray:
    """The distance of least squares from the known coefficients, in standard errors that allow unequal variances."""
    assert rows.coefficients is not None
    inverse = np.linalg.inv(rows.x.T @ rows.x)
    fitted = inverse @ (rows.x.T @ rows.y)
    weighted = rows.x * (rows.y - rows.x @ fitted)[:, None]
    return np.asarray((fitted - rows.coefficients) / np.sqrt(np.diag(inverse @ (weighted.T @ weighted) @ inverse)))


@pytest.mark.parametrize("errors", ["normal", "t4", "heteroscedastic"])
@pytest.mark.parametrize("features", ["uniform", "lognormal", "binary", "rare", "skewed"])
def test_the_known_coefficients_and_the_declared_r_squared_are_those_of_large_draws(features, errors, make) -> None:
    """Coefficients within 4 standard errors: a false alarm in 1 of 200 seeds over all tables."""
    if (features, errors) == ("rare", "heteroscedastic"):
        pytest.skip("1 in 100 targets lie beyond their bounds, and clipping them moves the coefficients")
    dataset = make("dataset", "simulated", n=ROWS, d=4, features=features, errors=errors, r_squared=0.4)
    table = dataset.select(stream(1))
    assert np.abs(distances(scale(table, "box", True, "real"))).max() < 4
    residuals = errors_of(table)
    # six standard errors of a mean of squares, whose law has heavy tails for t4
    slack = 6 * np.sqrt(np.var(residuals**2) / ROWS) / np.mean(residuals**2)
    assert np.mean(residuals**2) / table.response.var() == pytest.approx(0.6, rel=max(slack, 0.03))
    assert table.target.high - table.target.low == pytest.approx(10 * table.response.std(), rel=max(slack, 0.03))


@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_the_coefficients_are_known_in_the_ball_and_without_an_intercept(scaling, make) -> None:
    """The middle of a uniform feature is its mean, so that no constant is needed."""
    table = make("dataset", "simulated", n=ROWS, correlation=0.5).select(stream(2))
    for intercept in (True, False):
        assert np.abs(distances(scale(table, scaling, intercept, "real"))).max() < 4
    lognormal = make("dataset", "simulated", n=50, features="lognormal").select(stream(2))
    assert scale(lognormal, scaling, False, "real").coefficients is None


@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.95])
def test_each_pair_of_uniform_features_has_the_declared_correlation(correlation, make) -> None:
    """Within 5 standard errors of normal pairs; the marginals stay uniform (Kolmogorov's distance, p > 1e-4), and R² holds."""
    rows = 4 * ROWS
    table = make("dataset", "simulated", n=rows, d=3, correlation=correlation).select(stream(0))
    features = table.features
    pairs = np.corrcoef(features.T)[np.triu_indices(3, 1)]
    np.testing.assert_allclose(pairs, correlation, rtol=0, atol=5 * (1 - correlation**2) / math.sqrt(rows))
    assert errors_of(table).var() / table.response.var() == pytest.approx(0.5, rel=0.03)
    assert min(stats.kstest(column / 10, "uniform").pvalue for column in features.T) > 1e-4


def test_binary_features_are_1_with_probability_03_and_log_normal_ones_are_clipped_at_10(make) -> None:
    binary = make("dataset", "simulated", n=ROWS, features="binary").select(stream(0)).features
    assert set(np.unique(binary)) == {0, 1}
    assert np.abs(binary.mean(axis=0) - 0.3).max() < 5 * math.sqrt(0.21 / ROWS)
    lognormal = make("dataset", "simulated", n=ROWS, features="lognormal").select(stream(0)).features
    assert lognormal.max() == 10
    inside = lognormal[lognormal < 10]
    assert stats.kstest(inside, lambda x: stats.lognorm.cdf(x, 1) / stats.lognorm.cdf(10, 1)).pvalue > 1e-4


def test_the_default_slopes_are_in_standard_deviations_of_the_population(make) -> None:
    wanted = np.array([1, -0.8, 0.6, -0.4, 0.2])
    for features, deviation in DEVIATION.items():
        slopes = make("dataset", "simulated", n=9, features=features).select(stream(0)).coefficients[1:]
        np.testing.assert_allclose(np.array(slopes) * deviation, wanted, rtol=1e-12)
    slopes = make("dataset", "simulated", n=9, features="lognormal").select(stream(0)).coefficients[1:]
    beyond = stats.lognorm.sf(10, 1)
    mean, square = (quad(lambda x, k=k: x**k * stats.lognorm.pdf(x, 1), 0, 10, epsabs=1e-12)[0] + 10**k * beyond for k in (1, 2))
    np.testing.assert_allclose(np.array(slopes) * math.sqrt(square - mean**2), wanted, rtol=1e-8)
    assert make("dataset", "simulated", n=9, d=1).select(stream(0)).coefficients[1] * DEVIATION["uniform"] == pytest.approx(1)


def test_the_design_e1_of_lin_2026_has_errors_of_variance_1(make) -> None:
    options = {"n": ROWS, "d": 3, "coefficients": [1.5, -2, 0.5], "r_squared": 0.98187}
    table = make("dataset", "simulated", **options).select(stream(0))
    assert table.coefficients == (0, 1.5, -2, 0.5)
    assert [(column.low, column.high) for column in table.columns] == [(0, 10)] * 3
    # half the declared range is five standard deviations of the target
    assert ((table.target.high - table.target.low) / 10) ** 2 == pytest.approx(6.5 * 100 / 12 + 1, abs=3e-4)
    assert errors_of(table).var() == pytest.approx(1, abs=5 * math.sqrt(2 / ROWS))


def test_unequal_errors_grow_with_the_distance_from_the_first_mean(make) -> None:
    """Their square over the square of the distance has mean σ², everywhere; within 5 standard errors."""
    table = make("dataset", "simulated", n=ROWS, errors="heteroscedastic").select(stream(0))
    squared = (errors_of(table) / (table.features[:, 0] - 5)) ** 2
    far = np.abs(table.features[:, 0] - 5) > 2.5
    for part in (far, ~far):
        assert abs(squared[part].mean() / squared.mean() - 1) < 5 * math.sqrt(2 / part.sum())


@pytest.mark.parametrize(
    ("options", "most"),
    [({}, 2e-4), ({"errors": "t4", "r_squared": 0.1}, 2.5e-3), ({"features": "lognormal", "r_squared": 0.9}, 4e-4)],
)
def test_few_targets_and_no_features_are_clipped(options, most, make) -> None:
    rows = scale(make("dataset", "simulated", n=ROWS, **options).select(stream(0)), "box", True, "real")
    assert rows.target_clipped <= most
    assert max(rows.features_clipped) == 0


@pytest.mark.parametrize("features", ["uniform", "lognormal", "binary"])
def test_a_logistic_model_sees_targets_of_the_known_log_odds(features, make) -> None:
    """The score at the true coefficients, measured by the information, is χ² with D degrees of freedom: p > 1e-4."""
    dataset = make("dataset", "simulated", n=ROWS, features=features, log_odds_std=1.5, redraw=False)
    rows = DatasetRows(dataset, make("model", "logistic"), Splits(), 0).scaled(0).rows
    assert set(np.unique(rows.y)) == {0, 1}
    log_odds = rows.x @ rows.coefficients
    assert log_odds.mean() == pytest.approx(0, abs=0.05)
    assert log_odds.std() == pytest.approx(1.5, rel=0.03)
    chance = 1 / (1 + np.exp(-log_odds))
    score = rows.x.T @ (rows.y - chance)
    information = (rows.x * (chance * (1 - chance))[:, None]).T @ rows.x
    assert stats.chi2.sf(score @ np.linalg.solve(information, score), len(score)) > 1e-4


def test_the_kind_of_the_target_is_the_model_s_unless_it_is_said(make) -> None:
    dataset = make("dataset", "simulated", n=50)
    assert dataset.for_target("binary").select(stream(0)).target.kind == "binary"
    assert dataset.for_target("real").select(stream(0)).target.kind == "continuous"
    real = make("dataset", "simulated", n=50, target="real")
    assert real.for_target("binary") is real
    rows = scale(real.select(stream(0)), "box", True, "binary")
    assert rows.coefficients is None, "whether a real target exceeds its mean follows no logistic law"
    assert 0 < rows.y.mean() < 1


def test_the_table_depends_on_its_generator_and_its_bounds_do_not(make) -> None:
    dataset = make("dataset", "simulated", n=50)
    first, same, other = (dataset.select(stream(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.response, same.response)
    assert (first.features != other.features).all()
    assert (first.columns, first.target, first.coefficients) == (other.columns, other.target, other.coefficients)
    assert dataset.redrawn()
    assert not make("dataset", "simulated", redraw=False).redrawn()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"features": "binary", "correlation": 0.2}, r"features=uniform only\. Got 0\.2 with dataset\.features=binary"),
        ({"coefficients": [1, 2]}, r"must list dataset\.d=5 numbers, not all of them 0\. Got \[1\.0, 2\.0\] instead"),
        ({"d": 2, "coefficients": [0, 0]}, "not all of them 0"),
        ({"correlation": 1.0}, r"in the range \[0, 1\)"),
        ({"r_squared": 0.0}, r"in the range \(0, 1\]"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, sentence, make) -> None:
    with pytest.raises(Refused, match=sentence):
        make("dataset", "simulated", **options)
