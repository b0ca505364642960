"""The suprema by hand at small sizes, and the scale at which y'y is free."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from dpbench.privacy.queries.supremum import free_square_scale, supremum


def test_one_column_has_the_suprema_of_the_page(geometry) -> None:
    """Box and corner (D + 1)² = 4; the ball's bound is 4.71."""
    for scaling, value in (("box", 4.0), ("corner", 4.0), ("ball", 4.71)):
        assert supremum(geometry(1, scaling=scaling), False, 1.0, 2.0, np.ones(1)) == pytest.approx(value, abs=0.005)
    assert supremum(geometry(3), False, 1.0, 2.0, np.ones((2, 3))) == pytest.approx(np.full(2, 16.0))
    assert supremum(geometry(3), True, 1.0, 2.0, np.ones(3)) == pytest.approx((9 + 15) / 2 + 6 / 4)


@pytest.mark.parametrize("triangle", [False, True])
@pytest.mark.parametrize(
    ("numeric", "groups", "intercept"),
    [(1, (), False), (5, (), False), (1, (), True), (4, (), True), (0, (2,), False), (0, (3, 2), True), (3, (2, 2), True)],
)
def test_y_y_is_free_at_its_scale(numeric, groups, intercept, triangle, geometry) -> None:
    """Over a fine grid the largest bound of docs/sensitivities.md with y² is the supremum without it.

    k stands for |u_y|, and |v_y| is 1 - k. With a numeric column and no group no smaller scale is free.
    """
    g = geometry(numeric, groups, intercept)
    p, k = np.meshgrid(np.linspace(0, numeric, 801), np.linspace(0, 1, 801))
    u, v = p + intercept, numeric - p
    overlap = p * (numeric - p) / max(numeric, 1)
    twice, many = 1.0 if triangle else 2.0, len(groups)
    for b_q, b_l in product((0.05, 0.4, 1.0, 3.0, 30.0), (0.5, 1.0)):
        tight = supremum(g, triangle, 1 / b_q, 2 / b_l, np.ones(g.dimension))
        b_y = free_square_scale(g, b_q, b_l)
        others = (2 * twice * (u * v - overlap) + 4 * overlap) / b_q + 4 / b_l * (k * v + (1 - k) * u)
        others += 4 * many * np.maximum(k, 1 - k) / b_l
        others += (2 * twice * many * (numeric + intercept) + 2 * many + twice * many * (many - 1)) / b_q
        assert others.max() == pytest.approx(tight, rel=1e-5)
        assert (others + 4 * k * (1 - k) / b_y).max() <= tight * (1 + 1e-12)
        if numeric and not groups and not triangle:
            assert (others + 4 * k * (1 - k) / (0.9 * b_y)).max() > tight * (1 + 1e-9)


def test_the_free_scale_follows_the_smaller_of_columns_and_the_ratio(geometry) -> None:
    g = geometry(3, (2, 2), True)
    assert free_square_scale(g, 1.0, 1.0) == pytest.approx(1 / (2 + 1))
    assert free_square_scale(g, 100.0, 1.0) == pytest.approx(1 / (2 + 4))
    assert free_square_scale(geometry(4), 2.0, 5.0) == pytest.approx(25 / 2)
    assert free_square_scale(geometry(0), 1.0, 1.0) == math.inf
