"""A bound holds where its whole interval lies on the right side of the limit, and a finding where all of its bounds do."""

from __future__ import annotations

import math

import pytest

from dpbench.experiments.checks.findings import Bound, Finding, Side, bounded


@pytest.mark.parametrize(
    ("side", "low", "high", "answer"),
    [
        ("at most", 0.0, 1.0, True),
        ("at most", 1.0, 2.0, None),
        ("at most", 1.1, 2.0, False),
        ("below", 0.0, 0.9, True),
        ("below", 0.0, 1.0, None),
        ("below", 1.0, 2.0, False),
        ("above", 1.1, 2.0, True),
        ("above", 1.0, 2.0, None),
        ("above", 0.0, 1.0, False),
        ("at most", math.nan, math.nan, None),
    ],
)
def test_a_bound_holds_if_its_whole_interval_does(side: Side, low: float, high: float, answer: bool | None) -> None:
    assert Bound("x", (low + high) / 2, low, high, 1.0, side).holds is answer


def test_slack_is_positive_on_the_right_side_and_finite() -> None:
    assert Bound("x", 0.5, 0, 1, 1.0, "below").slack == 0.5
    assert Bound("x", 0.5, 0, 1, 1.0, "above", scale=2.0).slack == -0.25
    assert Bound("x", math.inf, 0, math.inf, 1.0).slack == -1e9
    assert Bound("x", math.nan, 0, 1, 1.0).slack == -1e9


def test_a_bound_is_printed_with_its_interval_and_unit() -> None:
    assert str(Bound("ratio", 1.0, 0.5, 2.0, 1.0)) == "ratio 1 (0.5 to 2)"
    assert str(Bound("spread", 0.1, 0.05, 0.2, 0.1, unit="%")) == "spread +10 % (+5 to +20)"
    assert str(Bound("ratio", 1.0, -math.inf, math.inf, 1.0)) == "ratio 1 (too few repeats)"
    assert "(0.5 to 2; medians)" in str(Bound("ratio", 1.0, 0.5, 2.0, 1.0, context="medians"))


def test_without_numbers_there_is_no_bound() -> None:
    assert bounded("x", None, 1.0) == ()
    assert bounded("x", (0.5, 0.4, 0.6), 1.0)[0].holds is True


@pytest.mark.parametrize(
    ("values", "answer"), [([0.0, 0.0], True), ([0.0, 9.0], False), ([0.0, 5.0], None), ([9.0, 5.0], False), ([], None)]
)
def test_a_finding_holds_if_all_of_its_bounds_do(values: list[float], answer: bool | None) -> None:
    bounds = tuple(Bound("x", value, value - 1, value + 1, 5.0) for value in values)
    assert Finding("here", (), bounds).holds is answer
    assert Finding("here", (), bounds).slack == min((5.0 - value for value in values), default=0.0)


def test_a_finding_is_printed_with_its_place_and_each_number_once() -> None:
    bound = Bound("ratio", 1.0, 0.5, 2.0, 1.0)
    assert str(Finding("linear on wine", (), (bound, bound), "a against b")) == "linear on wine, a against b: ratio 1 (0.5 to 2)"
    assert str(Finding("linear on wine", (), ())) == "linear on wine: nothing to compare by"
