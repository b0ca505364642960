"""The presets of the leaderboard have every table and every mechanism that may be ranked, and what ships agrees with them."""

from __future__ import annotations

import pytest

from dpbench.experiments.presets import experiments, papers, values_of
from dpbench.registry.lookup import registry
from dpbench.report.leaderboard.scores import read_scores
from dpbench.sweeps.hydra.composition import grid_points

MODELS = {"linear": "real", "logistic": "binary"}
NOT_RANKED = {
    "no_privacy": "not private",
    "truncated": "not private",
    "drop_sensitive": "another mechanism on fewer columns",
    "diffprivlib": "never sound, and needs a package in an environment of its own",
    "opendp_theil_sen": "the same",
    "dpc": "needs sensitive columns, which these tables do not declare",
}
STUDY = next(paper for paper in papers() if paper.name == "leaderboard")


@pytest.mark.parametrize("model", MODELS)
def test_every_table_of_the_models_kind_is_on_it(model: str) -> None:
    tables = [dict(options)["table"] for options in registry().get("dataset", "open").variants()]
    wanted = [name for name in tables if registry().get("dataset", "open").build({"table": name})._facts["task"] == MODELS[model]]
    assert sorted(values_of(experiments()[f"leaderboard/{model}"].grid["dataset.table"])) == sorted(wanted)


def test_every_mechanism_that_may_be_ranked_is_on_it() -> None:
    shipped = {
        entry.name
        for entry in registry().entries
        if entry.kind == "mechanism" and entry.plugin.distribution == "dp-regression-bench"
    }
    listed = {name for model in MODELS for name in values_of(experiments()[f"leaderboard/{model}"].grid["mechanism"])}
    assert shipped - NOT_RANKED.keys() == listed


@pytest.mark.parametrize("model", MODELS)
def test_all_cells_have_one_budget_and_one_number_of_runs(model: str) -> None:
    points = grid_points([f"experiment=leaderboard/{model}"])
    assert {(point.config["budget"], point.config["sensitivity"], point.config["delta"]) for point in points} == {
        ("matched", "tight", 1e-6)
    }
    assert experiments()[f"leaderboard/{model}"].runs >= 100
    assert {point.config["epsilon"] for point in points} == {0.1, 0.3, 1, 3, 10}


@pytest.mark.parametrize("model", MODELS)
def test_a_quick_run_takes_two_small_tables(model: str) -> None:
    points = grid_points([f"experiment=leaderboard/{model}", "quick=true"])
    assert len({point.config["dataset"]["table"] for point in points}) == 2
    assert len({point.config["epsilon"] for point in points}) <= 2


def test_the_shipped_scores_are_of_these_tables() -> None:
    scores = read_scores(STUDY.scores_file)
    for model in MODELS:
        tables = set(values_of(experiments()[f"leaderboard/{model}"].grid["dataset.table"]))
        assert {score.table for score in scores if score.model == model} <= tables
