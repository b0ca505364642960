"""What all checks have in common: names, metrics, descriptions of pairs, and findings that hold if all of their bounds do."""

from __future__ import annotations

import math

import pytest
from made_cells import cell, level

from dpbench.base.errors import Refused
from dpbench.experiments.checks.check import Bound, Finding, Side, bounded, describe_pair, name_of, reference_metric
from dpbench.experiments.checks.comparisons import Below, Skewed
from dpbench.experiments.checks.curve_shapes import NeedsLess, UShape


def test_a_check_is_named_by_the_words_of_its_class() -> None:
    assert [name_of(check) for check in (Below, NeedsLess, UShape)] == ["below", "needs_less", "u_shape"]


def test_a_required_option_cannot_be_left_out() -> None:
    with pytest.raises(Refused, match="check below needs the option 'against'"):
        Below()


def test_a_cell_takes_the_first_metric_that_it_has_and_by_default_its_primary_one() -> None:
    row = cell("a", level(1), more={"utility/mae": level(2)})
    assert Skewed().metric_of(row) == "utility/rmse"
    assert Skewed(metric=("utility/auc", "utility/mae")).metric_of(row) == "utility/mae"
    assert Skewed(metric=("utility/auc", "utility/log_loss")).metric_of(row) == "utility/auc"


def test_a_reference_ends_with_a_slash_or_is_a_whole_metric() -> None:
    assert reference_metric("reference/no_privacy/", "utility/rmse") == "reference/no_privacy/rmse"
    assert reference_metric("attack/accuracy_test", "attack/accuracy_train") == "attack/accuracy_test"


def test_models_are_named_where_models_are_compared() -> None:
    first, other = cell("a", level(1), model="linear"), cell("b", level(1), model="ridge")
    assert describe_pair(first, other, {"mechanism": "b"}) == "a against b"
    assert describe_pair(first, other, {"model": "ridge"}) == "a linear against b ridge"


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
