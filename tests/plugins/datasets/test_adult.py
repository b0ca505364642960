"""The Adult table: whole, coded by its declared levels, and as predictable as it is known to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.base.random_streams import stream
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale
from dpbench.data.table import Table
from dpbench.privacy.ledger import Budget
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan

GROUPS = {"workclass": 8, "marital_status": 7, "occupation": 14, "relationship": 6, "race": 5, "native_country": 41}
MISSING = {"workclass": 2_799, "occupation": 2_809, "native_country": 857}


@pytest.fixture(scope="module")
def adult(make):
    def table(**options: Any) -> Table:
        drawn = make("dataset", "adult", **options).select(stream(0))
        assert isinstance(drawn, Table)
        return drawn

    return table


def test_every_row_is_there_within_its_public_bounds(adult) -> None:
    table = adult(target="income_over_50k")
    assert table.rows == 48_842
    assert table.dropped == 0
    low, high = np.array([(column.low, column.high) for column in table.columns]).T
    assert (table.features >= low).all()
    assert (table.features <= high).all()
    assert table.response.sum() == 11_687
    assert not table.leaks


def test_one_hot_levels_are_the_declared_ones_and_a_missing_value_is_one_of_them(adult) -> None:
    table = adult()
    for name, levels in GROUPS.items():
        columns = [index for index, column in enumerate(table.columns) if column.group == name]
        assert len(columns) == levels + (name in MISSING)
        assert (table.features[:, columns].sum(axis=1) == 1).all()
        if name in MISSING:
            assert table.columns[columns[-1]].name == f"{name}_unknown"
            assert table.features[:, columns[-1]].sum() == MISSING[name]
    counts = {column.name: table.features[:, index].sum() for index, column in enumerate(table.columns)}
    assert counts["sex"] == 16_192
    assert counts["race_black"] == 4_685
    assert counts["native_country_outlying_us_guam_usvi_etc"] == 23
    assert counts["marital_status_married_af_spouse"] == 37


def test_dropped_rows_are_counted_in_the_table_and_in_the_record(adult) -> None:
    table = adult(missing="drop")
    assert (table.rows, table.dropped) == (45_222, 3_620)
    assert not any(column.name.endswith("_unknown") for column in table.columns)
    assert all((table.features[:, [c.group == name for c in table.columns]].sum(axis=1) == 1).all() for name in GROUPS)
    cells = plan(
        grid_points(["dataset=adult", "dataset.missing=level,drop", "dataset.coding=numeric", "mechanism=no_privacy"])
    ).cells
    assert [cell.provenance.rows_dropped for cell in cells] == [0, 3_620]
    assert [cell.provenance.synthetic for cell in cells] == [False, False]


def test_the_target_follows_the_model_by_default(make, adult) -> None:
    dataset = make("dataset", "adult")
    assert dataset.for_target("real").select(stream(0)).target.name == "hours_per_week"
    binary = dataset.for_target("binary").select(stream(0))
    assert (binary.target.name, binary.threshold) == ("income_over_50k", 0.5)
    assert "hours_per_week" in binary.attributes
    said = make("dataset", "adult", target="hours_per_week")
    assert said.for_target("binary") is said
    assert (said.select(stream(0)).threshold, said.select(stream(0)).target.unit) == (40, "hours")
    assert "income_over_50k" in adult().attributes
    with pytest.raises(Refused, match="income_over_50k"):
        make("dataset", "adult", target="income")


def test_sensitive_attributes_are_declared_in_both_codings(adult) -> None:
    assert adult().sensitive == ("marital_status", "race", "sex")
    assert adult(coding="numeric").sensitive == ("is_married", "sex")
    assert adult(sensitive=["race"]).sensitive == ("race",)


REFERENCE = {"intercept": 0.6998, "none": 0.7045, "mean": 0.8544}


def test_least_squares_and_logistic_regression_meet_the_reference_numbers(adult) -> None:
    """Nine numeric columns, income as ±1, 80/20, mean of the splits of seeds 0 to 9: RMSE within 0.0005, logistic within 0.002.

    The rows are permuted by ``default_rng(seed)``, the first fifth is tested. The reference scaled with the rows' own
    ranges, we scale with public bounds: the fit without an intercept feels it, in capital losses alone.
    It names neither its columns nor its splits: these were chosen because they meet it (many other sets of nine do as
    well), so this guards the file and its coding, and confirms nothing about the reference.
    """
    rows = scale(adult(target="income_over_50k", coding="numeric"), "box", True, "real")
    assert rows.geometry.features == 9
    errors: dict[str, list[float]] = {"intercept": [], "none": [], "mean": [], "error": []}
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(rows.n)
        test, train = rows.take(order[: rows.n // 5]), rows.take(order[rows.n // 5 :])
        for name, first in (("intercept", 0), ("none", 1)):
            weights = np.linalg.lstsq(train.x[:, first:], train.y, rcond=None)[0]
            errors[name].append(_rmse(test.y - test.x[:, first:] @ weights))
        errors["mean"].append(_rmse(test.y - train.y.mean()))
        errors["error"].append(float(np.mean((test.x @ _logistic(train) > 0) != (test.y > 0))))
    for name, expected in REFERENCE.items():
        assert np.mean(errors[name]) == pytest.approx(expected, abs=0.0005), name
    assert 1 - np.mean(errors["intercept"]) ** 2 / np.mean(errors["mean"]) ** 2 == pytest.approx(0.329, abs=0.001)
    assert np.mean(errors["error"]) == pytest.approx(0.159, abs=0.002)


def _rmse(residuals: np.ndarray) -> float:
    return float(np.sqrt(np.mean(residuals**2)))


def _logistic(train: Rows) -> np.ndarray:
    """Newton's method on the whole likelihood."""
    weights = np.zeros(train.x.shape[1])
    for _ in range(12):
        p = 1 / (1 + np.exp(-train.x @ weights))
        curvature = (train.x * (p * (1 - p))[:, None]).T @ train.x
        weights += np.linalg.solve(curvature, train.x.T @ ((train.y > 0) - p))
    return weights


def test_sensitivities_see_six_groups_and_not_eighty_four_columns(adult, make, curate) -> None:
    """m² + 4Gm + 2G² with m = 6 numeric columns, the intercept and the target."""
    rows = scale(adult(sample_n=500), "box", True, "real")
    assert rows.geometry.numeric == 6
    assert len(rows.geometry.groups) == 6
    objective = make("model", "linear").prepare(curate(rows)).polynomial()
    assert objective.l1_bound("tight") == 8**2 + 4 * 6 * 8 + 2 * 6**2
    assert objective.l1_bound("paper") == 2 * (91 + 1) ** 2


@pytest.mark.parametrize("mechanism", ["fm", "dpba", "no_privacy"])
def test_a_singular_design_is_fitted(mechanism, adult, make, curate, score) -> None:
    """Six whole groups and an intercept: six directions in which no two rows differ."""
    rows = scale(adult(sample_n=4_000), "box", True, "real")
    assert np.linalg.matrix_rank(rows.x) <= rows.geometry.dimension - 6
    chosen = make("mechanism", mechanism)
    curator = curate(rows, epsilon=0.8)
    problem = make("model", "linear").prepare(curator)
    fit = chosen.fit(curator, problem, Budget(0.8))
    assert np.isfinite(fit.weights).all()
    if mechanism == "no_privacy":
        error = score("linear", fit.weights, WholeSample(rows))["rmse"][0]
        best = _rmse(rows.y - rows.x @ np.linalg.lstsq(rows.x, rows.y, rcond=None)[0])
        assert error == pytest.approx(best, abs=1e-6)
