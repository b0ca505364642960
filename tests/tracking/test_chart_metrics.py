"""MLflow's charts get a metric for each problem, and the logarithm of ε."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpbench.records.cell_record import CellRecord
from dpbench.tracking.chart_metrics import chart_metrics

MakeRecord = Callable[..., CellRecord]


def test_the_error_is_named_by_its_problem_and_epsilon_is_a_logarithm(make_record: MakeRecord) -> None:
    record = make_record(metrics={"utility/rmse_median": 0.25, "privacy/epsilon_accounted": 0.01})
    assert chart_metrics(record) == {"error/linear on wine": 0.25, "privacy/epsilon_accounted_log10": pytest.approx(-2)}


def test_what_has_no_epsilon_and_no_error_has_no_point(make_record: MakeRecord) -> None:
    assert chart_metrics(make_record(metrics={"privacy/epsilon_accounted": 0.0})) == {}


def test_the_name_has_the_options_of_the_problem_alone_in_letters_that_mlflow_accepts(make_record: MakeRecord) -> None:
    options = {"dataset.target": "x=1, y", "model.ridge": "2", "mechanism.floor": "3", "splits": "4 x 5-fold"}
    record = make_record(metrics={"utility/rmse_median": 0.25})
    record = make_record(params={**record.params, **options}, metrics={"utility/rmse_median": 0.25})
    assert list(chart_metrics(record)) == ["error/linear on wine dataset.target:x_1_ y model.ridge:2"]
