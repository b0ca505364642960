"""Shapes of curves: steps, timings, values that are left out, and where a curve arrives."""

from __future__ import annotations

import pytest
from made_cells import (
    ALPHA,
    CURVE,
    NEEDS,
    TIME,
    answer,
    at_epsilons,
    by_rows,
    findings,
    level,
    shaped,
)


def test_the_smallest_sample_may_be_left_out() -> None:
    rows = at_epsilons(level(2), level(1, index=1), level(1, index=2))
    assert answer("stable", CURVE, rows) is False
    assert answer("stable", {**CURVE, "leave_out": [0.1]}, rows) is True


def test_timings_have_a_margin() -> None:
    options = {**CURVE, "metric": ["time/fit_seconds"]}
    assert answer("stable", {**options, "share": 0.4}, at_epsilons(1.0, 1.1, **TIME)) is True
    assert answer("stable", {**options, "share": 0.4}, at_epsilons(1.0, 2.0, **TIME)) is False


def test_a_curve_that_never_arrives_needs_more() -> None:
    never, arrives = (0.0, 0.1, 0.2), (0.2, 0.9, 1.0)
    assert answer("needs_less", NEEDS, [*by_rows(arrives, "a"), *by_rows(never, "b")]) is True
    assert answer("needs_less", NEEDS, [*by_rows(never, "a"), *by_rows(arrives, "b")]) is False
    assert answer("needs_less", NEEDS, [*by_rows(never, "a"), *by_rows(never, "b")]) is None


def test_a_share_of_the_way_is_found_between_two_points() -> None:
    rows = [*by_rows((0.0, 1.0, 1.0), "a", 0.0), *by_rows((0.0, 0.0, 1.0), "b", 0.0)]
    bound = findings("needs_less", NEEDS, rows)[0].bounds[0]
    assert bound.value == pytest.approx(0.1)
    assert "316 against 3.16e+03" in bound.what


def test_a_log_likelihood_may_be_negative() -> None:
    assert answer("u_shape", ALPHA, shaped(-1, -2, -1)) is True
    assert answer("u_shape", ALPHA, shaped(-2, -1, -2)) is False
