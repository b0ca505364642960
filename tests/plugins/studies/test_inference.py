"""The study of intervals: its grid, and a first look at its cells."""

from __future__ import annotations

import dpbench
from dpbench.experiments.presets import experiments, select
from dpbench.registry.lookup import registry
from dpbench.sweeps.hydra.composition import grid_points

DESIGNS = [options["design"] for options in registry().get("dataset", "designs").variants()]


def test_the_grid_is_every_design_method_mechanism_and_epsilon_with_two_thousand_tables() -> None:
    points = [point.config for point in grid_points(["experiment=inference/coverage"])]
    assert {point["dataset"]["design"] for point in points} == set(DESIGNS)
    assert {point["mechanism"]["name"] for point in points} == {"ssp", "adassp", "fm", "dpba"}
    assert {point["inference"]["method"] for point in points} == {"naive", "delta", "bootstrap"}
    assert {point["epsilon"] for point in points} == {0.3, 1, 3}
    assert {(point["splits"]["repeats"], point["budget"], point["delta"]) for point in points} == {(2000, "matched", 1e-6)}
    assert len(points) == 18 * 4 * 3 * 3


def test_every_descent_has_four_hundred_tables_and_covers_both() -> None:
    points = [point.config for point in grid_points(["experiment=inference/descent"])]
    assert {point["splits"]["repeats"] for point in points} == {400}
    assert {point["dataset"]["design"] for point in points} == set(DESIGNS)
    assert {point["mechanism"]["name"] for point in points} == {"dp_gd", "boosted_adassp", "best"}
    assert {point["inference"]["covers"] for point in points} == {"population", "table"}


def test_each_preset_says_what_is_chosen() -> None:
    for experiment in select("inference", experiments()):
        assert experiment.preset.chosen


def test_intervals_cover_where_the_textbook_formula_does_not() -> None:
    frame = dpbench.sweep(
        experiment="inference/coverage", mechanism=["ssp", "fm"], record=False, epsilon=1,
        **{"dataset.design": "n2000_d5", "splits.repeats": 60, "inference.method": ["naive", "delta"]},
    ).full  # fmt: skip
    coverage = frame.groupby("inference.method")["inference/coverage_mean"].mean()
    assert coverage["delta"] > 0.9
    assert coverage["naive"] < 0.4
