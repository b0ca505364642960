"""What all checks have in common: their names, the metric, and how pairs are described."""

from __future__ import annotations

import pytest
from made_cells import cell, level

from dpbench.base.errors import Refused
from dpbench.experiments.checks.check import describe_pair, name_of, reference_metric
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
