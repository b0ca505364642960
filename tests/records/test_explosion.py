"""A run explodes if its error is above three times the mean predictor's in the same run."""

from __future__ import annotations

import math

import numpy as np

from dpbench.records.explosion import Explosion, explosion_of


def test_runs_are_compared_with_the_mean_predictor_of_the_same_run() -> None:
    runs = {"utility/rmse": np.array([0.7, 0.7, math.inf]), "reference/mean_predictor/rmse": np.array([0.2, 0.3, 0.2])}
    found = explosion_of(runs, "rmse")
    assert found == Explosion(2, 3, math.inf)
    assert found.text == "2 of 3 runs, up to inf"
    assert Explosion(1, 1, 8.0).text == "1 of 1 run, up to 8"


def test_without_the_errors_or_where_none_is_large_there_is_none() -> None:
    assert explosion_of({}, "rmse") is None
    calm = {"utility/rmse": np.array([0.6, np.nan]), "reference/mean_predictor/rmse": np.array([0.2, 0.2])}
    assert explosion_of(calm, "rmse") is None
