"""The numbers of a record, against numbers worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpbench.cells.summaries import SUFFIXES, summaries

REPEAT = np.array([0, 0, 1, 1])
T_OF_ONE = 12.706204736174698
"""The 97.5 % quantile of Student's t with one degree of freedom: tan(0.475 π)."""


def summary(values: Any, repeat: Any = REPEAT) -> dict[str, float]:
    found = summaries({"utility/x": np.asarray(values, dtype=float)}, np.asarray(repeat))
    return {name.removeprefix("utility/x_"): value for name, value in found.items()}


def test_every_suffix_by_hand() -> None:
    found = summary([1, 2, 3, 6])
    reach = T_OF_ONE * math.sqrt(4.5) / math.sqrt(2)  # the repeats' means are 1.5 and 4.5
    expected = {
        "median": 2.5,
        "mean": 3.0,
        "std": math.sqrt(14 / 3),
        "p20": 1.6,
        "p80": 4.2,
        "ci_low": 3 - reach,
        "ci_high": 3 + reach,
    }
    assert list(found) == list(SUFFIXES)
    assert found == pytest.approx(expected, rel=1e-12)
    assert pytest.approx(math.tan(0.475 * math.pi), rel=1e-9) == T_OF_ONE


def test_the_interval_is_over_the_repeats_not_over_the_runs() -> None:
    """Twice as many folds that say the same make no narrower interval: they share their training rows."""
    once = summary([1, 2, 4], [0, 1, 2])
    doubled = summary([1, 1, 2, 2, 4, 4], [0, 0, 1, 1, 2, 2])
    assert doubled["ci_low"] == pytest.approx(once["ci_low"])
    assert doubled["ci_high"] == pytest.approx(once["ci_high"])
    assert doubled["std"] < once["std"]


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    """1,000 intervals from 5 repeats of 3 folds: 95 % of them, give or take four standard deviations (false alarm 6e-5)."""
    generator = np.random.default_rng(1)
    draws = generator.normal(size=(1000, 5, 1)) + 0.5 * generator.normal(size=(1000, 5, 3))
    found = summaries({f"utility/{i}": row.ravel() for i, row in enumerate(draws)}, np.repeat(np.arange(5), 3))
    covered = sum(found[f"utility/{i}_ci_low"] <= 0 <= found[f"utility/{i}_ci_high"] for i in range(1000))
    assert abs(covered - 950) < 4 * math.sqrt(1000 * 0.95 * 0.05)


def test_one_repeat_has_no_interval_and_one_run_no_spread() -> None:
    assert set(summary([1, 2], [0, 0])) == set(SUFFIXES) - {"ci_low", "ci_high"}
    assert summary([7], [0]) == {"median": 7, "mean": 7, "p20": 7, "p80": 7}


def test_equal_runs_have_an_interval_of_no_width() -> None:
    found = summary([2.0, 2.0, 2.0, 2.0])
    assert (found["std"], found["ci_low"], found["ci_high"]) == (0, 2, 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_runs_without_a_finite_value_are_left_out(bad: float) -> None:
    assert summary([1, bad, 3, 6]) == summary([1, 3, 6], [0, 1, 1])
    assert summary([bad, bad, 3, 6]) == summary([3, 6], [1, 1])
    assert summary([bad] * 4) == {}


def test_a_metric_with_gaps_does_not_touch_its_neighbours() -> None:
    whole, gaps = np.array([1.0, 2, 3, 6]), np.array([1.0, np.nan, 3, 6])
    found = summaries({"a": whole, "b": gaps, "c": whole}, REPEAT)
    assert {name: value for name, value in found.items() if name[0] == "b"} == summaries({"b": gaps}, REPEAT)
    for name in ("a", "c"):
        assert {key: value for key, value in found.items() if key[0] == name} == summaries({name: whole}, REPEAT)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "values", [[1e200, 2e200, 3e200, 6e200], [1e308, 1.5e308, 1.6e308, 1.7e308], [1e308, -1e308, 1e308, -1e308]]
)
def test_no_number_is_ever_infinite_or_undefined(values: list[float]) -> None:
    """Finite runs whose squares or sums are not: what cannot be said is left out."""
    found = summary(values)
    assert "p20" in found, "what can be said is said"
    assert [name for name, value in found.items() if not math.isfinite(value)] == []


def test_nothing_gives_nothing() -> None:
    assert summaries({}, REPEAT) == {}
