"""Captions say where no fit is better than the mean, and which penalties were chosen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpbench.records.cell_record import CellRecord
from dpbench.report.figures.findings import sentences_about


@pytest.fixture
def measured(make_cell: Callable[..., CellRecord]) -> Callable[..., CellRecord]:
    def cell(error: float, exact: float, mean: float, **metrics: float) -> CellRecord:
        references = {"reference/no_privacy/rmse_median": exact, "reference/mean_predictor/rmse_median": mean}
        return make_cell("fm", error, metrics={**references, **metrics})

    return cell


def test_where_no_fit_is_better_than_the_mean_the_caption_says_so(measured: Callable[..., CellRecord]) -> None:
    (sentence,) = sentences_about([measured(0.52, 0.504, 0.49), measured(0.61, 0.504, 0.49)])
    assert "every fit, the one without privacy included, is worse than predicting the mean" in sentence
    assert "0.504, that of the mean 0.49" in sentence


@pytest.mark.parametrize(("error", "exact"), [(0.48, 0.504), (0.52, 0.48), (0.49, 0.49)])
def test_one_fit_that_is_as_good_is_enough_to_say_nothing(
    error: float, exact: float, measured: Callable[..., CellRecord]
) -> None:
    assert sentences_about([measured(0.52, 0.504, 0.49), measured(error, exact, 0.49)]) == []


def test_chosen_penalties_have_their_range(measured: Callable[..., CellRecord]) -> None:
    first = {"health/penalty": 0.1, "health/penalty_min": 0.03, "health/penalty_max": 1.0}
    other = {"health/penalty": 0.3, "health/penalty_min": 0.1, "health/penalty_max": 3.0}
    (sentence,) = sentences_about([measured(0.3, 0.2, 0.4, **first), measured(0.3, 0.2, 0.4, **other), measured(0.3, 0.2, 0.4)])
    assert sentence == "Cross-validation chose λ from 0.03 to 3 (medians of a cell: 0.1 to 0.3)."
    assert sentences_about([measured(0.3, 0.2, 0.4)]) == []
