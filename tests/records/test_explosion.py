"""A run fails if the mean predictor of the same run is as good, and explodes if it is more than three times better."""

from __future__ import annotations

import math

import numpy as np

from dpbench.records.explosion import Explosion, explosion_of, failed_share


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


def test_a_run_failed_if_the_mean_predictor_is_as_good_and_a_clip_at_its_loss_hides_none() -> None:
    lost = np.array([0.2, 0.999, 1.0, 57.0, -0.1, np.nan, np.nan])
    error = np.array([0.1, 0.2, 0.3, 0.9, 0.1, np.nan, 0.1])
    runs = {"utility/share_lost": lost, "utility/rmse": error}
    assert failed_share(runs, "rmse") == 0.5, "1, 57 and the run without an error of six; where nothing can be lost none counts"
    assert failed_share({**runs, "utility/share_lost": lost[:2], "utility/rmse": error[:2]}, "rmse") == 0.0


def test_where_nothing_can_be_lost_or_nothing_is_known_there_is_no_share_of_failed_runs() -> None:
    assert failed_share({"utility/rmse": np.array([0.1])}, "rmse") is None
    assert failed_share({"utility/share_lost": np.array([np.nan]), "utility/rmse": np.array([0.1])}, "rmse") is None
