"""The coefficients of the objective are the released numbers, and give the objective back."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import scale
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws, Laplace, Noise
from dpbench.privacy.queries.polynomial import Loss, Polynomial
from dpbench.privacy.queries.query import exact_answer


def test_a_query_s_exact_answer_is_the_sum_of_its_contributions(make, table, row_by_row) -> None:
    """To the bit, since the rows lie on a grid; in the box and in the ball, every convention."""
    generator = np.random.default_rng(0)
    x = np.column_stack([generator.uniform(-1, 1, (20_000, 3)), np.eye(3)[generator.integers(3, size=20_000)]])
    for scaling in ("box", "ball"):
        sample = WholeSample(scale(table(x, generator.uniform(-1, 1, 20_000), (3,)), scaling, True, "real"))
        problem = make("model", "linear").prepare(Curator(sample, Draws(0, "t", [(0, 0)]), Budget()))
        for convention in ("monomial", "matrix", "code"):
            query = problem.polynomial(convention)
            np.testing.assert_array_equal(exact_answer(query, sample), sample.sums(row_by_row(query)))


def test_coefficients_without_noise_give_the_objective_back(make, table) -> None:
    """Every convention, and the public coefficients in their places: M = X'X and c = -2X'y."""
    generator = np.random.default_rng(0)
    x = np.column_stack([generator.uniform(-1, 1, (200, 3)), np.eye(3)[generator.integers(3, size=200)]])
    for scaling, intercept in (("box", True), ("ball", True), ("ball", False)):
        rows = scale(table(x, generator.uniform(-1, 1, 200), (3,)), scaling, intercept, "real")
        sample = WholeSample(rows)
        problem = make("model", "linear").prepare(Curator(sample, Draws(0, "t", [(0, 0)]), Budget()))
        for convention in ("monomial", "matrix", "code"):
            query = problem.polynomial(convention)
            objective = query.quadratic(exact_answer(query, sample), sample.n)
            np.testing.assert_allclose(objective.matrix[0], rows.x.T @ rows.x, rtol=1e-14, atol=1e-14)
            np.testing.assert_allclose(objective.linear[0], -2 * rows.x.T @ rows.y, rtol=1e-14, atol=1e-14)


@pytest.fixture
def polynomial(geometry):
    """The query of linear regression on two numeric columns, one-hot groups of 3 and 2 levels, and an intercept or none."""
    loss = Loss(curvature=1.0, slope=(0.0, -2.0), printed_slope=2.0, printed_constant=1.0)
    return lambda convention, intercept=True: Polynomial(loss, geometry(2, (3, 2), intercept=intercept), convention)


def test_public_coefficients_are_not_released(polynomial) -> None:
    """The intercept's own is n, and products of two columns of a one-hot group are 0."""
    assert polynomial("monomial").quadratic_size == 36 - 1 - 3 - 1
    assert polynomial("code").quadratic_size == 64 - 1 - 6 - 2
    assert polynomial("monomial", intercept=False).size == 28 - 3 - 1 + 7


def test_an_unknown_convention_is_refused(polynomial) -> None:
    with pytest.raises(ValueError, match=r"must be one of monomial, matrix, code\. Got 'triangle' instead"):
        polynomial("triangle")


@pytest.mark.parametrize(("convention", "share"), [("monomial", 0.25), ("matrix", 1.0), ("code", 0.5)])
def test_the_noise_of_an_entry_off_the_diagonal_follows_from_its_convention(convention, share, polynomial) -> None:
    """A monomial's coefficient is twice the entry, and the two draws of the authors' program are averaged."""
    query = polynomial(convention)
    noise = Noise(Laplace(), np.array([[3.0], [5.0]]), 1.0, "p")
    np.testing.assert_allclose(query.off_diagonal_std(noise), np.sqrt(share * 2 * np.array([3.0, 5.0]) ** 2))
    assert query.quadratic_variance(noise).shape == (2, query.quadratic_size)


def test_products_of_column_factors_lie_as_the_released_coefficients_do(polynomial) -> None:
    query = polynomial("matrix")
    factors = np.arange(1.0, 9.0)
    j, k = query.pairs
    np.testing.assert_array_equal(query.products(factors), np.r_[factors[j] * factors[k], factors])
    np.testing.assert_array_equal(query.scales(2.0, 7.0), np.r_[np.full(query.quadratic_size, 2.0), np.full(8, 7.0)])


def test_a_printed_bound_below_the_supremum_is_refused(geometry) -> None:
    """A slope of up to 2, printed as ½: 2(D² + D/2) is 21 at D = 3, above (D + 1)² = 16, but 3 at D = 1, below 4."""
    loss = Loss(curvature=1.0, slope=(0.0, -2.0), printed_slope=0.5, printed_constant=0.0)
    assert Polynomial(loss, geometry(3)).l1_bound("fang") == 21
    for rule in ("fang", "paper"):
        with pytest.raises(Refused, match=f"sensitivity={rule} gives 3 here, but neighbours can change the answer by 4"):
            Polynomial(loss, geometry(1)).l1_bound(rule)
    assert Polynomial(loss, geometry(1)).l1_bound("code") == 6


def test_the_square_comes_last_and_changes_no_other_number(polynomial, geometry, rows) -> None:
    """Where it costs nothing: the squared error in the box. Objectives, bounds, factors and scales are those without it."""
    generator = np.random.default_rng(0)
    x = np.column_stack([generator.uniform(-1, 1, (50, 2)), np.eye(3)[generator.integers(3, size=50)], np.eye(2)[[0, 1] * 25]])
    for convention in ("monomial", "matrix", "code"):
        query = polynomial(convention)
        longer = query.with_square()
        sample = WholeSample(rows(query.geometry, x, generator.uniform(-1, 1, 50)))
        answer, short = exact_answer(longer, sample), exact_answer(query, sample)
        assert longer.size == query.size + 1 == answer.shape[1]
        np.testing.assert_array_equal(answer[:, :-1], short)
        np.testing.assert_allclose(longer.released_square(answer), sample.moments.yy)
        assert query.released_square(short) is None
        for one, other in zip(longer.quadratic(answer, sample.n).linear, query.quadratic(short, sample.n).linear, strict=True):
            np.testing.assert_array_equal(one, other)
        for rule in ("paper", "fang", "code", "tight"):
            assert longer.l1_bound(rule) == query.l1_bound(rule)
        factors = generator.uniform(0.5, 2, (3, 8))
        np.testing.assert_array_equal(longer.rescaled_bound(factors), query.rescaled_bound(factors))
        for one, other, last in (
            (longer.products(factors), query.products(factors), 1.0),
            (longer.scales(2.0, 7.0), query.scales(2.0, 7.0), 7 / (2 + 2 / 7)),  # two groups, b_q/b_l of 2/7
            (longer.ranges, query.ranges, 1.0),
        ):
            np.testing.assert_array_equal(one[..., :-1], other)
            np.testing.assert_allclose(one[..., -1], last)
        assert longer.identity != query.identity


def test_where_the_square_would_cost_it_is_not_released(geometry) -> None:
    squared, logistic = Loss(1.0, (0.0, -2.0), 2.0, 1.0), Loss(1 / 8, (0.5, -1.0), 1.5, 0.0)
    for loss, g in (
        (squared, geometry(2, scaling="ball")),
        (squared, geometry(2, scaling="corner")),
        (squared, geometry(0)),
        (logistic, geometry(2, target="binary")),
        (Loss(1.0, (0.0, -1.0), 2.0, 1.0), geometry(2)),
        (Loss(1.0, (1.0, -2.0), 2.0, 1.0), geometry(2)),
    ):
        query = Polynomial(loss, g)
        assert query.with_square() is query
        with pytest.raises(ValueError, match="for the squared error in the box alone"):
            Polynomial(loss, g, square=True).l1_bound("tight")


def test_auto_is_the_supremum(polynomial) -> None:
    query = polynomial("monomial")
    assert query.l1_bound("auto") == query.l1_bound("tight")
    assert query.proof("auto") == query.proof("tight")
    assert len({query.proof(rule) for rule in ("paper", "fang", "code", "tight")}) == 4
