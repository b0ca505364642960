"""Scaling: into the declared box or ball, onto the grid, and never beyond."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpbench.base.errors import Inapplicable, Refused
from dpbench.data import scaling as scaling_module
from dpbench.data.moments import EXACT_ROWS
from dpbench.data.scaling import FRACTION_BITS, scale, truncate
from dpbench.data.table import Column, Table
from dpbench.data.transforms import Transform


def wild(rows: int = 400, seed: int = 0) -> Table:
    """Columns of odd bounds, a third of the values outside of them, a one-hot group."""
    generator = np.random.default_rng(seed)
    bounds = [(0.0, 1.0), (-3.7, 1e4), (1e-3, 2e-3), (-1e6, -5e5)]
    columns = [Column(f"c{i}", *pair) for i, pair in enumerate(bounds)] + [Column(f"g{i}", 0, 1, group="g") for i in range(3)]
    numeric = [generator.uniform(low - (high - low) / 4, high + (high - low) / 4, rows) for low, high in bounds]
    features = np.column_stack([*numeric, np.eye(3)[generator.integers(3, size=rows)]])
    return Table(tuple(columns), Column("y", -50, 7), features, generator.uniform(-90, 40, rows))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("rows", [2, 400, 5_000])
def test_box_rows_keep_their_bounds_and_their_meaning(rows, intercept) -> None:
    table = wild(rows)
    scaled = scale(table, "box", intercept, "real")
    z = scaled.z
    assert (z[:, 0] == 1).all()
    assert np.abs(z).max() <= 1
    step = 2.0**-FRACTION_BITS
    for index, column in enumerate((*table.columns[:4], table.target)):
        raw = table.response if column is table.target else table.features[:, index]
        wanted = np.clip(2 * (raw - column.low) / (column.high - column.low) - 1, -1, 1)
        got = z[:, -1] if column is table.target else z[:, 1 + index]
        assert (np.abs(got) <= np.abs(wanted) + 1e-9).all(), "truncation is towards zero"
        assert np.abs(got - wanted).max() < step * (1 + 1e-9) + 1e-9
    np.testing.assert_array_equal(z[:, 5:8], table.features[:, 4:]), "one-hot columns keep 0 and 1"
    assert scaled.geometry.half_range == 57 / 2
    assert scaled.geometry.groups == ((4, 5, 6),)
    assert scaled.x.shape[1] == scaled.geometry.dimension == 7 + intercept


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("radius", [None, 0.5, 1e5, 1e7])
def test_ball_rows_have_norm_at_most_one_after_truncation(intercept, radius) -> None:
    table = wild()
    table = Table(table.columns, table.target, table.features, table.response, radius)
    scaled = scale(table, "ball", intercept, "real")
    norms = np.linalg.norm(scaled.x, axis=1)
    assert norms.max() <= 1 + 1e-15
    assert norms.max() > 0.5 or radius == 1e7
    assert np.abs(scaled.y).max() <= 1
    if intercept:
        assert np.ptp(scaled.x[:, 0]) == 0
        assert scaled.x[0, 0] == scaled.geometry.constant


def test_a_declared_norm_clips_only_what_is_beyond_it() -> None:
    columns = (Column("a", -9, 9), Column("b", -9, 9))
    features = np.array([[3.0, 4.0], [0.3, 0.4], [30.0, 40.0]])
    scaled = scale(Table(columns, Column("y", -1, 1), features, np.zeros(3), 5.0), "ball", False, "real")
    np.testing.assert_allclose(scaled.x, [[0.6, 0.8], [0.06, 0.08], [0.6, 0.8]], atol=2**-16)


@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_the_shares_of_clipped_values_are_direct_counts(scaling) -> None:
    table = wild()
    scaled = scale(table, scaling, True, "real")
    counts = []
    for column, values in zip((*table.columns, table.target), (*table.features.T, table.response), strict=True):
        counts.append(sum(not column.low <= value <= column.high for value in values))
    assert min(counts[:4]) > 50
    assert counts[4:7] == [0, 0, 0], "one-hot columns are never clipped"
    assert [share * table.rows for share in (*scaled.features_clipped, scaled.target_clipped)] == pytest.approx(counts)


def test_under_a_declared_norm_the_share_is_that_of_longer_rows() -> None:
    columns = (Column("a", -9, 9), Column("b", -9, 9))
    features = np.array([[3.0, 4.0], [0.3, 0.4], [30.0, 40.0], [5.0, 0.0]])
    scaled = scale(Table(columns, Column("y", -1, 1), features, np.zeros(4), 5.0), "ball", False, "real")
    assert scaled.features_clipped == (0.25, 0.25)


@pytest.mark.parametrize("columns", [1, 3, 4, 13])
def test_corner_rows_lie_in_the_positive_corner_of_the_unit_ball(columns) -> None:
    """(x - low) / ((high - low) √d) (Zhang et al. 2012, footnote 1), truncated to the grid, so never above 1/√d."""
    generator = np.random.default_rng(0)
    names = tuple(Column(f"c{index}", -3.0, 7.0 + index) for index in range(columns))
    features = generator.uniform(-6, 12, (500, columns))
    features[0] = 99.0
    table = Table(names, Column("y", -50, 7), features, generator.uniform(-90, 40, 500))
    scaled = scale(table, "corner", False, "real")
    high = np.array([column.high for column in names])
    wanted = np.clip((features + 3) / (high + 3), 0, 1) / math.sqrt(columns)
    step = 2.0**-FRACTION_BITS
    assert scaled.x.min() == 0
    assert scaled.x.max() <= scaled.geometry.value_range[1] == 1 / math.sqrt(columns)
    assert ((scaled.x <= wanted + 1e-12) & (scaled.x > wanted - step - 1e-12)).all()
    assert np.linalg.norm(scaled.x, axis=1).max() <= 1
    np.testing.assert_array_equal(scaled.x / step, np.round(scaled.x / step))
    np.testing.assert_array_equal(scaled.y, scale(table, "box", False, "real").y)


def test_the_corner_is_refused_with_an_intercept_and_with_one_hot_columns() -> None:
    with pytest.raises(Inapplicable, match=r"no intercept: set model\.intercept=false\.$"):
        scale(wild(), "corner", True, "real")
    with pytest.raises(Inapplicable, match="every column must be numeric, but 'g' is a one-hot group"):
        scale(wild(), "corner", False, "real")


@pytest.mark.parametrize("scaling", ["box", "ball"])
@pytest.mark.parametrize("rows", [2, 1_000])
def test_every_number_is_a_multiple_of_a_grid_on_which_sums_are_exact(rows, scaling) -> None:
    """A product is a multiple of 2⁻³²: up to 2²¹ of them, of at most 1 each, have a sum of 53 bits."""
    assert 2 * FRACTION_BITS + math.log2(EXACT_ROWS) == 53
    scaled = scale(wild(rows), scaling, True, "real")
    for values in (scaled.z, scaled.x):
        on_grid = values * 2.0**FRACTION_BITS
        np.testing.assert_array_equal(on_grid, np.round(on_grid))


def test_truncation_is_towards_zero() -> None:
    np.testing.assert_array_equal(truncate(np.array([0.3, -0.3, 0.25, -1.0, 1.0, 0.0]), 2), [0.25, -0.25, 0.25, -1, 1, 0])


def test_values_outside_the_bounds_count_as_the_bounds() -> None:
    columns = (Column("a", 0, 10),)
    features = np.array([[-1e300], [0], [10], [1e300], [5]])
    scaled = scale(Table(columns, Column("y", 0, 1), features, np.array([-9.0, 0, 1, 9, 0.5])), "box", False, "real")
    np.testing.assert_array_equal(scaled.x[:, 0], [-1, -1, 1, 1, 0])
    np.testing.assert_array_equal(scaled.y, [-1, -1, 1, 1, 0])


@pytest.mark.parametrize("bounds", [(-1.7e308, 1.7e308), (0.0, 5e-324), (1.0, 1.0 + 2**-52)])
def test_extreme_bounds_give_finite_rows_or_are_refused(bounds) -> None:
    try:
        table = Table((Column("a", *bounds),), Column("y", 0, 1), np.array([[bounds[0]], [bounds[1]], [0.5]]), np.zeros(3))
    except Refused:
        return
    x = scale(table, "box", False, "real").x[:, 0]
    assert np.isfinite(x).all()
    assert (x[0], x[1]) == (-1, 1)
    assert np.abs(x).max() <= 1


@pytest.mark.parametrize("scaling", ["box", "ball"])
@pytest.mark.parametrize("dirty", [(1, 1, 1), (1, 1, 0), (0.5, 0.5, 0.5), (0.6, 0, 0.4), (9, 9, -9)])
def test_a_row_that_breaks_its_one_hot_group_is_refused_or_made_one_hot(dirty, scaling) -> None:
    """The sensitivities count one 1 a group: a row with three would move the coefficients by more than is paid for."""
    clean = wild(20)
    features = clean.features.copy()
    features[7, 4:] = dirty
    try:
        scaled = scale(Table(clean.columns, clean.target, features, clean.response), scaling, False, "real")
    except Refused:
        return
    members = scaled.x[:, 4:]
    top = members.max()
    assert set(np.unique(members)) <= {0.0, top}
    assert ((members > 0).sum(axis=1) <= 1).all()


def test_a_binary_target_is_whether_the_public_threshold_is_exceeded() -> None:
    table = Table((Column("a", 0, 1),), Column("y", 0, 10), np.zeros((4, 1)), np.array([4.0, 5, 6, 11]), threshold=5)
    scaled = scale(table, "box", False, "binary")
    np.testing.assert_array_equal(scaled.y, [0, 0, 1, 1])
    assert scaled.geometry.half_range == 1
    with pytest.raises(Refused, match="threshold"):
        scale(Table(table.columns, table.target, table.features, table.response), "box", False, "binary")


def test_the_table_is_left_as_it_was() -> None:
    table = wild()
    before = table.features.copy(), table.response.copy()
    for scaling in ("box", "ball"):
        scale(table, scaling, True, "real")
    np.testing.assert_array_equal(table.features, before[0])
    np.testing.assert_array_equal(table.response, before[1])


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.uint8, bool])
def test_other_numbers_are_scaled_as_their_values(kind) -> None:
    values = np.array([[0], [1], [1]]).astype(kind)
    scaled = scale(Table((Column("a", 0, 1),), Column("y", 0, 1), values, values[:, 0]), "box", False, "real")
    np.testing.assert_array_equal(scaled.x[:, 0], [-1, 1, 1])
    np.testing.assert_array_equal(scaled.y, [-1, 1, 1])


def test_the_chunks_of_rows_are_the_rows_in_order(rows, geometry, monkeypatch) -> None:
    monkeypatch.setattr(scaling_module, "CHUNK", 3)
    table = rows(geometry(1), np.linspace(-1, 1, 7)[:, None], np.zeros(7))
    assert [chunk.n for chunk in table.chunks()] == [3, 3, 1]
    np.testing.assert_array_equal(np.concatenate([chunk.z for chunk in table.chunks()]), table.z)


def without_noise(binary_target: bool = False) -> Table:
    """A target that is linear in two numeric columns and a one-hot group; the values lie on the grid of scaled rows."""
    generator = np.random.default_rng(1)
    columns = (Column("a", 0, 4), Column("b", -2, 14), *(Column(f"g{level}", 0, 1, group="g") for level in range(2)))
    numeric = np.column_stack([generator.integers(0, 65, 300) / 16, generator.integers(0, 65, 300) / 4 - 2])
    features = np.column_stack([numeric, np.eye(3)[generator.integers(3, size=300), :2]])
    coefficients = (1.5, 2.0, -0.5, 4.0, -3.0)
    target = Column("y", 0, 1, kind="binary") if binary_target else Column("y", -28, 36)
    response = coefficients[0] + features @ coefficients[1:]
    return Table(columns, target, features, response > 0 if binary_target else response, threshold=0.5, coefficients=coefficients)


@pytest.mark.parametrize(("scaling", "tolerance"), [("box", 1e-12), ("ball", 2e-4)])
def test_least_squares_without_noise_gives_the_scaled_coefficients(scaling, tolerance) -> None:
    """To rounding in the box. Truncation moves the rows of a ball off the line by up to 2⁻¹⁶."""
    scaled = scale(without_noise(), scaling, True, "real")
    fitted = np.linalg.lstsq(scaled.x, scaled.y, rcond=None)[0]
    assert scaled.coefficients is not None
    np.testing.assert_allclose(scaled.coefficients, fitted, rtol=0, atol=tolerance)
    assert np.abs(fitted).min() > 100 * tolerance


@pytest.mark.parametrize("scaling", ["box", "ball", "corner"])
@pytest.mark.parametrize("constant_is_needed", [False, True])
def test_without_an_intercept_the_coefficients_are_known_if_no_constant_is_needed(scaling, constant_is_needed) -> None:
    table = without_noise()
    table = replace(table, columns=table.columns[:2], features=table.features[:, :2], coefficients=(1.5, 2.0, -0.5))
    response = 1.5 + table.features @ [2.0, -0.5]
    # what the features' scaling maps to 0, the target's must as well
    centre = 1.5 + (np.array([0.0, -2.0]) if scaling == "corner" else np.array([2.0, 6.0])) @ [2.0, -0.5] + constant_is_needed
    table = replace(table, response=response, target=Column("y", centre - 16, centre + 16))
    scaled = scale(table, scaling, False, "real")
    if constant_is_needed:
        assert scaled.coefficients is None
    else:
        fitted = np.linalg.lstsq(scaled.x, scaled.y, rcond=None)[0]
        np.testing.assert_allclose(scaled.coefficients, fitted, rtol=0, atol=2e-4)


@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_coefficients_of_log_odds_give_the_scaled_rows_the_same_log_odds(scaling) -> None:
    table = without_noise(binary_target=True)
    scaled = scale(table, scaling, True, "binary")
    log_odds = table.coefficients[0] + table.features @ table.coefficients[1:]
    np.testing.assert_allclose(scaled.x @ scaled.coefficients, log_odds, rtol=0, atol=2e-3)


def test_coefficients_are_unknown_where_the_scaled_model_is_another_one() -> None:
    table = without_noise()
    assert scale(table, "box", True, "binary").coefficients is None, "the coefficients are those of a real target"
    assert scale(without_noise(binary_target=True), "box", True, "real").coefficients is None
    assert scale(replace(table, radius=9.0), "ball", True, "real").coefficients is None
    assert scale(replace(table, radius=9.0), "box", True, "real").coefficients is not None
    assert scale(replace(table, coefficients=None), "box", True, "real").coefficients is None
    log = replace(table.columns[0], low=1, transform=Transform("log"))
    assert scale(replace(table, columns=(log, *table.columns[1:])), "box", True, "real").coefficients is None
    assert scale(table, "box", True, "real").take(slice(0, 9)).coefficients is None


@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_spreads_are_standard_deviations_in_steps_of_the_grid(scaling, monkeypatch) -> None:
    monkeypatch.setattr(scaling_module, "CHUNK", 128)
    scaled = scale(wild(), scaling, True, "real")
    wanted = scaled.z[:, 1:-1].std(axis=0) * 2.0**FRACTION_BITS
    np.testing.assert_allclose(scaling_module.spreads_in_steps(scaled), wanted, rtol=1e-9)


def test_a_constant_column_has_no_spread(table) -> None:
    features = np.column_stack([np.full(50, 0.3), np.linspace(-1, 1, 50)])
    spreads = scaling_module.spreads_in_steps(scale(table(features, features[:, 1]), "box", True, "real"))
    assert spreads[0] == pytest.approx(0, abs=1e-2)
    assert spreads[1] > 10_000
