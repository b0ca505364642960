"""A metric is one object: announced by a plugin, it is recorded, listed, and part of every cell's key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dpbench
from dpbench.base.errors import Refused
from dpbench.cells.unit_runner import UnitRunner
from dpbench.contracts.metric import ConstantPredictions, Metric, Predictions, evaluate, evaluate_together
from dpbench.registry.lookup import registry
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan

SMALL = {"splits.repeats": 2, "dataset.n": 60, "dataset.d": 2}
GRID = ("dataset.n=60", "dataset.d=2", "splits.repeats=2")
LARGEST = """
    import numpy as np

    from dpbench import Metric, hookimpl


    def largest(rows):
        return float(np.abs(rows.y - rows.score).max())


    @hookimpl
    def dpbench_metrics():
        return [Metric("max_error", "largest error", "The largest absolute error.", "lower", compute_run=largest)]
"""


@pytest.fixture
def drop_in(drop_in: Callable[[str], None], tmp_path: Path) -> Callable[[str], None]:
    return drop_in


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Max Error"}, "name of a metric must be small letters"),
        ({"compute": None}, "must have one of 'compute', 'compute_run' and 'compare'"),
        ({"compute_run": lambda rows: 0.0}, "must have one of 'compute', 'compute_run' and 'compare'"),
        ({"compare": lambda comparison: np.zeros(1)}, "must have one of 'compute', 'compute_run' and 'compare'"),
        ({"better": "smaller"}, "must be lower, higher or neither"),
    ],
)
def test_nonsense_is_refused(changes, message) -> None:
    declared = {"name": "one", "label": "one", "meaning": "One.", "better": "lower", "compute": lambda predictions: np.ones(1)}
    with pytest.raises(Refused, match=message):
        Metric(**{**declared, **changes})


def test_a_stranger_s_metric_is_recorded_like_any_other(drop_in) -> None:
    drop_in(LARGEST)
    frame = dpbench.sweep(SMALL, dataset="gaussian", mechanism=["fm", "no_privacy"], record=False).full
    for name in (
        "utility/max_error",
        "utility/excess_max_error",
        "reference/no_privacy/max_error",
        "reference/mean_predictor/max_error",
    ):
        assert np.isfinite(frame[f"{name}_median"]).all(), name
    private, exact = frame.set_index("mechanism")["utility/max_error_median"][["fm", "no_privacy"]]
    assert private != exact == frame["reference/no_privacy/max_error_median"][0]


def test_a_stranger_s_metric_may_compare_a_fit_with_its_references(drop_in) -> None:
    drop_in(
        """
        from dpbench import Metric, hookimpl


        def ratio(comparison):
            return comparison.scores["mse"] / comparison.no_privacy["mse"]


        @hookimpl
        def dpbench_metrics():
            return [Metric("ratio", "ratio", "A ratio of errors.", "lower", compare=ratio)]
        """
    )
    frame = dpbench.sweep(SMALL, dataset="gaussian", mechanism=["fm", "no_privacy"], record=False).full.set_index("mechanism")
    assert frame["utility/ratio_median"]["no_privacy"] == 1 < frame["utility/ratio_median"]["fm"]
    assert not [name for name in frame if "/ratio" in name and not name.startswith("utility/ratio_")]


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_fits_that_are_scored_together_have_their_own_metrics_to_the_bit(model) -> None:
    """The rows of each run are read once for all of them; a constant prediction among them needs no rows for some metrics."""
    (unit,) = plan(grid_points(["dataset=gaussian", "mechanism=no_privacy", f"model={model}", "clipped=true", *GRID])).units()
    runner = UnitRunner(unit)
    block, weights = runner.block, runner.references.weights
    passes = []
    read = type(block.test).scores
    candidates = [
        Predictions(weights, block.test),
        ConstantPredictions(block.train, block.test),
        Predictions(weights / 3, block.test),
        Predictions(-5 * weights, block.test),
    ]
    alone = [evaluate(runner.metrics, predictions) for predictions in candidates]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(block.test), "scores", lambda self, run, vectors: passes.append(run) or read(self, run, vectors))
        together = evaluate_together(runner.metrics, candidates)
    assert passes == list(range(block.test.runs))
    assert [list(values) for values in together] == [list(values) for values in alone]
    for values, expected in zip(together, alone, strict=True):
        for name, numbers in expected.items():
            np.testing.assert_array_equal(values[name], numbers, name)


def test_its_code_is_part_of_a_cell_s_key(drop_in) -> None:
    overrides = ["dataset=gaussian", "dataset.n=60", "mechanism=fm"]

    def key() -> str:
        registry.cache_clear()
        (planned,) = plan(grid_points(overrides)).cells
        return planned.cell.key

    before = key()
    drop_in(LARGEST)
    assert key() != before


def test_a_metric_that_gives_no_value_per_run_fails_the_cell_with_its_name(drop_in) -> None:
    drop_in(LARGEST.replace("compute_run=largest", "compute=lambda predictions: np.zeros(1)"))
    frame = dpbench.sweep(SMALL, dataset="gaussian", mechanism="fm", record=False).full
    assert "The metric max_error must give one value per run, 10" in frame["reason"][0]


def test_what_is_no_metric_is_listed_as_broken_and_stops_nobody(drop_in) -> None:
    drop_in("from dpbench import hookimpl\n\n@hookimpl\ndef dpbench_metrics():\n    return [len]\n")
    (entry,) = [entry for entry in registry().entries if entry.health == "broken"]
    assert "A metric must be a Metric(…)" in entry.reason
    assert "rmse" in registry().names("metric")


def test_a_metric_that_a_key_asks_for_is_recorded_with_it_alone() -> None:
    plain = dpbench.sweep(SMALL, dataset="gaussian", mechanism="fm", record=False).full
    asked = dpbench.sweep({**SMALL, "clipped": True}, dataset="gaussian", mechanism=["fm", "no_privacy"], record=False).full
    assert "utility/rmse_clipped_median" not in plain
    assert (asked["utility/rmse_clipped_median"] <= asked["utility/rmse_median"] + 1e-12).all()
    assert {"reference/no_privacy/rmse_clipped_median", "utility/excess_rmse_clipped_median"} <= set(asked)
    assert asked["utility/rmse_median"].iloc[0] == plain["utility/rmse_median"].iloc[0]


def test_a_sweep_can_vary_the_key() -> None:
    points = grid_points(["dataset=gaussian", "mechanism=fm", "clipped=true,false", "splits.repeats=2", "dataset.n=60"])
    one, other = plan(points).cells
    assert [one.params["clipped"], other.params["clipped"]] == ["True", "False"]
    assert one.cell.shared != other.cell.shared, "the scores of the references differ"
