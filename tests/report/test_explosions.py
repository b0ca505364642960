"""Runs that explode are counted, with the largest error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from cell_factory import make_cell

from dpbench.records.cell_record import CellRecord
from dpbench.records.explosion import Explosion
from dpbench.report.explosions import explosion, explosion_sentences, failed_sentences


def with_runs(errors: Any, mean_predictor: float = 0.2, name: str = "fm", **more: Any) -> CellRecord:
    table = np.asarray(errors, dtype=float)
    runs = {"reference/mean_predictor/rmse": np.full(len(table), mean_predictor)}
    return make_cell(name, table, runs=runs, **more)


def test_a_run_explodes_above_three_times_the_mean_predictor_of_the_same_run() -> None:
    assert explosion(with_runs([0.1, 0.6, 0.6001, 8.49])) == Explosion(2, 4, 8.49)
    assert explosion(with_runs([0.1, 0.6])) is None
    assert explosion(with_runs([0.1, np.nan])) is None
    runs = {"utility/rmse": np.array([0.1, math.inf]), "reference/mean_predictor/rmse": np.full(2, 0.2)}
    assert explosion(make_cell("fm", 0.1, repeats=1, runs=runs)) == Explosion(1, 2, math.inf)


def test_without_runs_nothing_is_known() -> None:
    assert explosion(make_cell("fm", 9.0)) is None


def test_one_sentence_names_the_worst_and_counts_the_others() -> None:
    cells = [with_runs([0.1] * 9 + [size], name=f"m{size}") for size in (1, 2, 3, 4)]
    (sentence,) = explosion_sentences([*cells, with_runs([0.1] * 10, name="calm")])
    assert "m4 at ε = 0.8 in 1 of 10 runs, up to 4;" in sentence
    assert "and 1 more cell" in sentence
    assert "calm" not in sentence
    assert explosion_sentences([with_runs([0.1] * 10)]) == []


def test_the_problem_is_named_if_there_are_several() -> None:
    cells = [with_runs([0.1, 5.0], params={"dataset": name}) for name in ("wine", "adult")]
    (sentence,) = explosion_sentences(cells)
    assert "fm for linear on adult at ε = 0.8 in 1 of 2 runs, up to 5" in sentence


def test_what_the_metrics_say_is_not_read_from_the_runs() -> None:
    """Thousands of cells have thousands of files: only those that are named are read."""
    calm = with_runs([9.0, 9.0], name="calm", metrics={"health/exploding": 0.0})
    assert explosion(calm) is None
    cells = []
    for name, size in {"a": 4.0, "b": 1.0, "c": 3.0, "d": 2.0}.items():
        metrics = {"health/exploding": 0.5, "health/largest_explosion": size}
        cells.append(with_runs([0.1, size], name=name, metrics=metrics))
    (sentence,) = explosion_sentences([calm, *cells])
    places = [sentence.index(f"{name} at") for name in "acd"]
    assert places == sorted(places)
    assert "and 1 more cell" in sentence


def test_runs_that_lost_everything_are_named_the_worst_first() -> None:
    cells = [make_cell(f"m{share}", 0.16, metrics={"utility/failed_share": share / 100}) for share in (0, 1, 2, 3, 0.4)]
    (sentence,) = failed_sentences(cells, several=False)
    assert sentence.endswith(
        "m3 at ε = 0.8 in 3 % of the runs; m2 at ε = 0.8 in 2 % of the runs; m1 at ε = 0.8 in 1 % of the runs; and 1 more cell."
    )
    assert failed_sentences(cells[:1], several=False) == []
    assert "m3 for linear on wine at ε = 0.8 in 3 %" in failed_sentences(cells, several=True)[0]
