"""Comparisons of cells: ties, references, units and timings."""

from __future__ import annotations

import numpy as np
import pytest
from made_cells import (
    AB,
    NOISE,
    A,
    against_reference,
    answer,
    cell,
    findings,
    level,
    pair,
)

from dpbench.base.errors import Refused


def test_one_of_several_repeats_is_no_interval() -> None:
    assert answer("within", {**AB, "ratio": 2.0}, pair([1.0], [1.0])) is None


def test_equal_cells_are_not_below_each_other() -> None:
    assert answer("below", AB, pair(level(0.1), level(0.1))) is False


def test_a_reference_is_a_metric_of_the_same_cell() -> None:
    rows = [against_reference(level(1.2), level(1), "reference/mean_predictor/rmse")]
    options = {"cells": A, "reference": "reference/mean_predictor/", "ratio": 1.0}
    assert answer("within", options, rows) is False
    assert answer("within", {**options, "ratio": 1.3}, rows) is True


def test_a_difference_is_in_the_metrics_own_unit_and_has_the_medians_beside_it() -> None:
    # half of the repeats go wrong: the middle of the differences is larger than the other's median
    wild = np.where(np.arange(40) < 19, 1.0, 50.0) + 0.001 * NOISE[0]
    tame = np.where(np.arange(40) < 18, 50.0, 1.0) + 0.001 * NOISE[1]
    for first, other in ((wild, tame), (tame, wild)):
        bound = findings("below", AB, pair(first, other))[0].bounds[0]
        assert (bound.unit, "%" in str(bound)) == ("utility/rmse", False)
        assert str(bound).startswith("rmse differs by ")
        assert f"medians {np.median(first):.3g} against {np.median(other):.3g}" in str(bound)
    lower = findings("below", AB, pair(level(0.1), level(0.3)))[0].bounds[0]
    assert lower.value == pytest.approx(-0.2)
    assert lower.slack == pytest.approx(0.2 / np.median(level(0.3)))


def test_a_log_likelihood_may_be_negative() -> None:
    assert answer("above", AB, pair(level(-1), level(-2))) is True
    assert answer("skewed", {"cells": A, "times": 1.0}, [cell("a", [*[-1.0] * 30, *[-9.0] * 10])]) is None


def test_medians_may_be_near_where_single_runs_decide_the_means() -> None:
    """One run in forty at 100 pulls the mean to 3.5 and leaves the median."""
    wild = [100.0, *level(1, 0.001)[1:]]
    for check in ("within", "near"):
        assert answer(check, {**AB, "ratio": 1.05}, pair(wild, level(1, 0.001, 1))) is not True
        assert answer(check, {**AB, "ratio": 1.05, "statistic": "median"}, pair(wild, level(1, 0.001, 1))) is True


def test_a_range_may_have_one_end_and_needs_one() -> None:
    assert answer("in_range", {"low": 0.9}, [cell("a", level(5.0))]) is True
    assert answer("in_range", {"high": 0.9}, [cell("a", level(5.0))]) is False
    with pytest.raises(Refused, match="needs 'low', 'high' or both"):
        findings("in_range", {}, [])


def test_a_range_names_the_number_with_its_interval() -> None:
    row = cell("a", np.zeros(2000), more={"inference/smallest_coverage": 0.93})
    (found,) = findings("in_range", {"metric": ["inference/smallest_coverage"], "low": 0.9}, [row])
    assert found.holds is True
    assert "smallest coverage 0.93 (0.9179 to 0.9408)" in str(found)
