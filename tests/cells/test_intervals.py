"""The intervals of a cell: what is compared, what is recorded, and what is not."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from dpbench.cells.intervals import CellIntervals, Truth, intervals_of, made_intervals, smallest_coverage, summarised
from dpbench.contracts.fit import Fit
from dpbench.contracts.uncertainty import Intervals
from dpbench.inference.known_covariance import KnownCovariance
from dpbench.inference.settings import InferenceSettings

N = np.full(2, 50.0)
KNOWN = KnownCovariance(np.tile(np.eye(2), (2, 1, 1)), np.tile(np.eye(2), (2, 1, 1)))
FIT = Fit.good(np.array([[0.0, 1.0], [0.0, 2.0]])).knowing(KNOWN)


def compared(settings: InferenceSettings | None = None, known: Any = None, fit: Fit = FIT) -> CellIntervals:
    known = np.full((2, 2), np.nan) if known is None else known
    truth = Truth(N, fit.weights + 9.0, np.ones((2, 2)), known, False, True)
    return intervals_of(fit, settings or InferenceSettings(), truth, np.random.default_rng)


def test_the_population_is_compared_with_known_coefficients_and_the_table_with_its_own_fit() -> None:
    population = compared(known=np.array([[0.0, 1.0], [0.0, 99.0]]))
    assert population.metrics["inference/coverage"].tolist() == [1.0, 0.0]
    assert "known coefficients of the synthetic table" in population.sentences[-1]
    table = compared(InferenceSettings(covers="table"))
    assert table.metrics["inference/coverage"].tolist() == [0.0, 0.0]
    assert "the noise of privacy alone" in table.sentences[0]


def test_where_nothing_is_known_coverage_is_absent_and_the_sentence_says_why() -> None:
    found = compared()
    assert np.isnan(found.metrics["inference/coverage"]).all()
    assert "Coverage is not measured" in found.sentences[-1]


@pytest.mark.parametrize(
    ("fit", "settings", "reason"),
    [
        (Fit.good(np.zeros((2, 2))), {}, "the mechanism does not say how its noise moves the coefficients"),
        (FIT, {"method": "none"}, "none were asked for"),
        (FIT, {"method": "delta"}, "inference.method must be covariance for this mechanism"),
    ],
)
def test_without_intervals_there_is_a_sentence_and_no_number(fit, settings, reason) -> None:
    found = compared(InferenceSettings(**settings), fit=fit)
    assert found.sentences == (f"No intervals: {reason}.",)
    assert not found.metrics
    assert not found.columns
    assert made_intervals(fit, InferenceSettings(**settings), N, True, np.random.default_rng) == reason


def test_where_persons_have_several_rows_only_the_table_has_intervals() -> None:
    reason = made_intervals(FIT, InferenceSettings(), N, False, np.random.default_rng)
    assert isinstance(reason, str)
    assert "rows of one person resemble each other" in reason
    table = made_intervals(FIT, InferenceSettings(covers="table"), N, False, np.random.default_rng)
    assert isinstance(table, Intervals)


def test_intervals_that_take_long_are_made_of_one_run_or_on_request() -> None:
    class Slow(KnownCovariance):
        takes_long: ClassVar[bool] = True

    slow = Slow(KNOWN.privacy, KNOWN.sampling)
    reason = made_intervals(FIT.knowing(slow), InferenceSettings(), N, True, np.random.default_rng)
    assert reason == "they take as long as the fits; inference.method=covariance makes them"
    asked = made_intervals(FIT.knowing(slow), InferenceSettings(method="covariance"), N, True, np.random.default_rng)
    assert isinstance(asked, Intervals)
    one = Fit.good(FIT.weights[:1]).knowing(KnownCovariance(KNOWN.privacy[:1], KNOWN.sampling[:1]))
    assert isinstance(made_intervals(one, InferenceSettings(), N[:1], True, np.random.default_rng), Intervals)


def test_the_record_has_the_first_run_and_coverage_over_all_runs() -> None:
    parts = [compared(known=np.array([[0.0, 1.0], [0.0, 99.0]])).columns] * 2
    table = summarised(parts, ("intercept", "x"), exact=True)
    assert table["x"]["coverage"] == 0.5
    assert table["intercept"]["coverage"] == 1.0
    assert table["x"]["low"] == parts[0]["low"][0, 1]
    assert table["x"]["estimate"] == FIT.weights[0, 1]
    assert table["x"]["truth"] == 1.0
    assert smallest_coverage(table) == 0.5


def test_runs_in_which_an_interval_is_infinite_count_as_having_none() -> None:
    known = {"low": np.array([[0.0, -np.inf], [0.0, 1.0]]), "high": np.array([[1.0, np.inf], [1.0, 3.0]])}
    truth = {f"reference_{end}": np.zeros((2, 2)) for end in ("low", "high")} | {"truth": np.full((2, 2), 5.0)}
    table = summarised([{**known, **truth}], ("intercept", "x"), exact=True)
    assert (table["x"]["shown"], table["x"]["coverage"], table["x"]["width"]) == (0.5, 0.0, 2.0)
    assert not {"low", "high"} & set(table["x"])
    never = summarised([{name: values[:1] for name, values in {**known, **truth}.items()}], ("intercept", "x"), exact=True)
    assert (never["x"]["shown"], "coverage" in never["x"], "width" in never["x"]) == (0.0, False, False)


def test_the_smallest_coverage_is_that_of_a_slope_and_absent_without_a_truth() -> None:
    assert smallest_coverage({"intercept": {"coverage": 0.1}, "x": {"coverage": 0.9}, "z": {"coverage": 0.8}}) == 0.8
    assert smallest_coverage({"intercept": {"coverage": 0.1}, "x": {"low": 0.0}}) is None


def test_what_no_noise_protects_is_left_out_of_the_record_of_a_private_table() -> None:
    table = summarised([compared(known=np.zeros((2, 2))).columns], ("intercept", "x"), exact=False)
    assert set(table["x"]) == {"estimate", "low", "high", "coverage", "width"}


def test_a_cell_without_intervals_has_no_table() -> None:
    assert summarised([{}], ("intercept", "x"), exact=True) == {}
    assert summarised([], ("intercept", "x"), exact=True) == {}
