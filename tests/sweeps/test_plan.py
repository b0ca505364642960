"""The plan says of every cell whether it runs, why it does not, and in which unit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpbench.base import memory
from dpbench.base.errors import Refused
from dpbench.cells import code_versions
from dpbench.data.splits import Splits
from dpbench.sweeps import plan as plan_module
from dpbench.sweeps.feasibility import sums_bytes
from dpbench.sweeps.plan import SweepPlan, refuse_pruned
from dpbench.sweeps.resolution import QUICK_REPEATS

DropIn = Callable[[str, str], Path]
Planner = Callable[..., SweepPlan]

SHAPELESS = '''
    """A model whose loss is no polynomial, and an attack that needs what it does not have."""

    from dataclasses import dataclass

    import numpy as np

    from dpbench import Attack, Model, hookimpl
    from dpbench.contracts.fit import Fit
    from dpbench.contracts.model import Problem

    class Middle(Problem):
        def exact(self, sample):
            weights = np.zeros((len(sample.n), self.geometry.dimension))
            weights[:, 0] = sample.moments.y / sample.n
            return Fit.good(weights)

        def predict(self, x, weights):
            return x @ weights

    @dataclass(frozen=True)
    class Shapeless(Model):
        """Predicts the middle."""

        name = "shapeless"

        def prepare(self, curator):
            return Middle(curator.geometry, curator.n)

    @dataclass(frozen=True)
    class Curious(Attack):
        """Wants to know."""

        name = "curious"
        needs = frozenset({"likelihood"})

        def run(self, target):
            return {"auc": np.full(len(target.weights), 0.5)}

        def refuses(self, model, sensitive):
            return None if model.intercept else "it needs an intercept"

    @hookimpl
    def dpbench_models():
        return [Shapeless]

    @hookimpl
    def dpbench_attacks():
        return [Curious]
'''
SMALL = ("splits.repeats=1", "splits.folds=2", "dataset=gaussian", "dataset.n=60", "dataset.d=2")


def states(planned: SweepPlan) -> list[tuple[str, str, str]]:
    return [(cell.params["mechanism"], cell.params["model"], cell.state) for cell in planned.cells]


def keys(planned: SweepPlan) -> list[str]:
    return [cell.cell.key for cell in planned.cells if cell.cell]


def test_a_model_that_a_mechanism_does_not_support_is_pruned_with_the_reason(drop_in: DropIn, planned: Planner) -> None:
    drop_in("shapeless", SHAPELESS)
    found = planned("mechanism=fm,dpba,no_privacy", "model=linear,shapeless", *SMALL)
    assert states(found) == [
        ("fm", "linear", "run"),
        ("fm", "shapeless", "pruned"),
        ("dpba", "linear", "run"),
        ("dpba", "shapeless", "pruned"),
        ("no_privacy", "linear", "run"),
        ("no_privacy", "shapeless", "run"),
    ]
    reasons = [cell.reason for cell in found.cells if cell.state == "pruned"]
    assert reasons == [f"{name} does not fit shapeless: the model provides no polynomial." for name in ("fm", "dpba")]
    with pytest.raises(Refused, match="fm does not fit shapeless: the model provides no polynomial"):
        refuse_pruned(found)


def test_an_attack_that_makes_no_sense_is_pruned_too(drop_in: DropIn, planned: Planner) -> None:
    drop_in("shapeless", SHAPELESS)
    found = planned("mechanism=no_privacy", "attack=none,curious", "model=linear,shapeless", "model.intercept=true,false", *SMALL)
    pruned = {
        (cell.params["model"], cell.params["model.intercept"]): cell.reason for cell in found.cells if cell.state == "pruned"
    }
    assert pruned == {
        ("linear", "False"): "The attack curious does not run on linear: it needs an intercept.",
        ("shapeless", "True"): "The attack curious does not run on shapeless: the model provides no likelihood.",
        ("shapeless", "False"): "The attack curious does not run on shapeless: the model provides no likelihood.",
    }


def test_the_corner_with_an_intercept_is_pruned_in_a_sweep_and_refused_alone(planned: Planner, empty: Any) -> None:
    reason = "With dataset.scaling=corner there is no intercept: set model.intercept=false."
    found = planned("dataset.scaling=box,corner", "model.intercept=true,false", *SMALL)
    pruned = {
        (cell.params["dataset.scaling"], cell.params["model.intercept"]): cell.reason for cell in found.cells if cell.reason
    }
    assert pruned == {("corner", "True"): reason}
    assert len(found.to_run) == 3
    answer = empty.run("dataset.scaling=corner", *SMALL)
    assert answer.refused(reason)
    assert empty.files == []


def test_a_sweep_prunes_runs_the_rest_and_says_so(drop_in: DropIn, home: Any) -> None:
    drop_in("shapeless", SHAPELESS)
    answer = home.run("-m", "mechanism=fm,no_privacy", "model=shapeless", *SMALL)
    assert answer.code == 0, answer.err
    assert "PRUNED (1 cell of fm): fm does not fit shapeless: the model provides no polynomial." in answer.out
    assert answer.counted == "Cells: 1 run, 1 pruned."
    assert [run.data.params["mechanism"] for run in home.runs()] == ["no_privacy"]


def test_a_sweep_of_which_nothing_is_left_says_why(drop_in: DropIn, home: Any) -> None:
    drop_in("shapeless", SHAPELESS)
    answer = home.run("-m", "mechanism=fm,dpba", "model=shapeless", *SMALL)
    assert answer.counted == "Cells: 0 run, 2 pruned."
    assert answer.out.count("the model provides no polynomial.") == 2
    assert "Traceback" not in answer.err
    assert home.runs() == []


def test_a_single_run_of_a_pruned_cell_is_refused_and_writes_nothing(drop_in: DropIn, empty: Any) -> None:
    drop_in("shapeless", SHAPELESS)
    answer = empty.run("mechanism=fm", "model=shapeless", *SMALL)
    assert answer.refused("fm does not fit shapeless: the model provides no polynomial.")
    assert empty.files == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["mechanism=fm", "epsilon=1", "seed=0"], ["seed=0", "epsilon=1", "mechanism=fm"]),
        (["epsilon=1"], ["epsilon=1.0"]),
        ([], ["epsilon=1.0", "mechanism.repair=trim", "dataset.color=white", "splits.repeats=50", "attack=none"]),
        (["mechanism.ridge=4"], ["mechanism.ridge=4.0"]),
        (["dataset.attributes=[ph]"], ["dataset.attributes=['ph']"]),
        (["engine=serial"], ["engine=local", "engine.workers=7", "rerun=true"]),
        (["tracking.experiment=a"], ["tracking.uri=sqlite:///elsewhere.db"]),
        (["quick=true"], [f"splits.repeats={QUICK_REPEATS}"]),
    ],
    ids=["order", "spelling of ε", "defaults", "spelling of an option", "quotes", "engine", "store", "quick"],
)
def test_the_key_of_a_cell_depends_on_what_is_computed_alone(planned: Planner, one: list[str], other: list[str]) -> None:
    assert keys(planned(*one)) == keys(planned(*other))


@pytest.mark.parametrize(
    "change",
    [
        "epsilon=1.0000001",
        "delta=1e-7",
        "seed=1",
        "mechanism=dpba",
        "mechanism.ridge=3",
        "model=ridge",
        "model.intercept=false",
        "dataset.color=red",
        "dataset.scaling=ball",
        "dataset.sample_rate=0.5",
        "dataset.resample=true",
        "splits.repeats=49",
        "splits.folds=4",
        "splits=holdout",
    ],
)
def test_whatever_changes_the_result_changes_the_key(planned: Planner, change: str) -> None:
    assert keys(planned(change)) != keys(planned())


def test_the_key_is_the_same_in_another_process(planned: Planner, tmp_path: Path) -> None:
    code = (
        "from dpbench.sweeps.hydra.composition import grid_points; from dpbench.sweeps.plan import plan\n"
        "print(plan(grid_points(['dataset=wine'])).cells[0].cell.key)"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert [result.stdout.strip()] == keys(planned()), result.stderr


def test_the_versions_of_what_is_run_are_part_of_the_key(planned: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    before = keys(planned())
    monkeypatch.setattr(code_versions, "__version__", "99")
    assert keys(planned()) != before


def test_an_edited_plugin_has_another_key(drop_in: DropIn, planned: Planner) -> None:
    asked = ("mechanism=no_privacy", "model=shapeless", *SMALL)
    drop_in("shapeless", SHAPELESS)
    before = keys(planned(*asked))
    drop_in("shapeless", SHAPELESS)
    assert keys(planned(*asked)) == before
    drop_in("shapeless", SHAPELESS.replace("sample.moments.y / sample.n", "0.5"))
    assert keys(planned(*asked)) != before


def test_a_plugin_that_was_edited_since_it_was_imported_is_not_planned(drop_in: DropIn, planned: Planner) -> None:
    """Its key would be that of the new code, and the old code would run."""
    asked = ("mechanism=no_privacy", "model=shapeless", *SMALL)
    file = drop_in("shapeless", SHAPELESS)
    planned(*asked)
    file.write_text(file.read_text() + "\n# edited\n")
    with pytest.raises(Refused, match=r"shapeless\.py' was edited after this process imported it: restart the process to use it"):
        planned(*asked)
    planned("mechanism=no_privacy", *SMALL)


def test_the_key_of_a_sweep_is_that_of_the_set_of_its_cells(planned: Planner) -> None:
    assert planned("epsilon=1,2").key == planned("epsilon=2,1").key
    assert planned("epsilon=1,2").key != planned("epsilon=1,3").key


def test_cells_that_turn_out_equal_are_one(planned: Planner) -> None:
    assert len(planned("epsilon=1,1.0").cells) == 1
    assert len(planned("dataset.attributes=[ph,alcohol],[ph,alcohol]").cells) == 1


def test_params_tell_the_cells_apart(planned: Planner) -> None:
    """Every option that was swept is a parameter, so that no two cells look alike."""
    found = planned(
        "mechanism=fm,dpba", "mechanism.ridge=1,2", "model=ridge", "model.penalty=0.1,0.2", "epsilon=0.5,1", "seed=1,2"
    )
    params = [tuple(sorted(cell.params.items())) for cell in found.cells]
    assert len(set(params)) == len(params) == 32
    assert set(dict(params[0])) == {
        *("mechanism", "model", "dataset", "attack", "epsilon", "delta", "splits"),
        *("mechanism.ridge", "model.penalty", "seed"),
    }


def test_close_values_of_epsilon_stay_apart(planned: Planner) -> None:
    found = planned("epsilon=0.3333333,0.3333334", "delta=1.2345678e-7,1.2345679e-7")
    assert {float(cell.params["epsilon"]) for cell in found.cells} == {0.3333333, 0.3333334}
    assert {float(cell.params["delta"]) for cell in found.cells} == {1.2345678e-7, 1.2345679e-7}


def test_units_hold_every_cell_and_repeat_once(planned: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "BLOCK_ROWS", 150)
    grid = ("mechanism=fm,dpba,no_privacy", "epsilon=0.1,0.8,3.2", "dataset=gaussian", "dataset.n=60,100,400", "splits.repeats=5")
    found = planned(*grid)
    expected = sorted((cell.cell.key, repeat) for cell in found.to_run if cell.cell for repeat in range(5))
    units = found.units()
    assert sorted((cell.key, repeat) for unit in units for cell in unit.cells for repeat in unit.repeats) == expected
    assert all(len({cell.shared for cell in unit.cells}) == 1 for unit in units)
    sizes: dict[int, int] = {}
    for unit in units:
        n = unit.cells[0].dataset.options["n"]
        sizes[n] = max(sizes.get(n, 0), len(unit.repeats))
    assert sizes == {60: 2, 100: 1, 400: 1}


def test_large_tables_are_equal_blocks_of_at_most_four_million_rows_with_all_cells(planned: Planner) -> None:
    """4,898 rows: 816 repeats pass over 4 million of them, so 1,000 are two blocks."""
    epsilons = ",".join(map(str, range(1, 11)))
    units = planned(f"epsilon={epsilons}", "splits.repeats=1000").units()
    assert [(len(unit.cells), len(unit.repeats)) for unit in units] == [(10, 500), (10, 500)]


def test_sweeps_of_which_nothing_is_left_differ_by_what_was_pruned(planned: Planner) -> None:
    """One of them is not a repetition of another."""
    first, second = (planned("mechanism=fm", "model=robust", "dataset=wine", f"epsilon={epsilon}") for epsilon in (1, 2))
    assert not first.to_run
    assert not second.to_run
    assert first.key != second.key


def test_resumed_cells_are_not_run(planned: Planner) -> None:
    found = planned("epsilon=1,2,3")
    first, second, third = keys(found)
    left = found.resumed({second: object()})
    assert [cell.state for cell in left.cells] == ["run", "resumed", "run"]
    assert [cell.cell.key for cell in left.to_run if cell.cell] == [first, third]
    assert left.key == found.key


def test_the_plan_is_printed_and_nothing_is_run_or_written(drop_in: DropIn, empty: Any) -> None:
    drop_in("shapeless", SHAPELESS)
    answer = empty.run("plan", "mechanism=fm,no_privacy", "model=linear,shapeless", "epsilon=0.1,0.8", *SMALL)
    assert answer.code == 0, answer.err
    assert [row[:3] for row in answer.table] == [
        ["run", "fm", "linear"],
        ["pruned", "fm", "shapeless"],
        *[["run", "no_privacy", model] for model in ("linear", "shapeless")],
    ]
    assert "Pruned: fm does not fit shapeless: the model provides no polynomial." in answer.out
    assert "4 cells to run, 0 already recorded, 2 pruned." in answer.out
    assert empty.files == []
    flagged = empty.run("plan", "-m", "mechanism=fm,no_privacy", "model=linear,shapeless", "epsilon=0.1,0.8", *SMALL)
    assert flagged.out == answer.out


@pytest.mark.parametrize("override", ["epsilon=0", "mechanism=fn", "mechanism.rigde=1", "splits.repeats=0", "dataset.color=blue"])
def test_a_plan_of_nonsense_is_refused(empty: Any, override: str) -> None:
    assert empty.run("plan", "dataset=wine", override).refused()
    assert empty.files == []


def test_what_a_dataset_remarks_about_itself_is_recorded(planned: Any) -> None:
    (wine,) = planned("mechanism=fm").cells
    assert wine.provenance.remarks == wine.cell.build("dataset").remark != ""
    (gaussian,) = planned("dataset=gaussian", "mechanism=fm").cells
    assert gaussian.provenance.remarks == ""


def test_that_rows_are_resampled_is_recorded_and_only_fits_are_made_of_them(planned: Any) -> None:
    """A row may train and be tested: an attack that tells the two apart would look weaker than it is."""
    gaussian = "dataset=gaussian", "mechanism=fm"
    run, pruned = planned(*gaussian, "dataset.resample=true", "attack=none,membership").cells
    assert (
        run.provenance.remarks
        == "Each repeat draws its rows from the table with replacement: the table stands for the population."
    )
    assert (run.state, pruned.state) == ("run", "pruned")
    assert pruned.reason.startswith("The attack membership does not run with dataset.resample=true: a training row")
    assert [cell.state for cell in planned(*gaussian, "attack=none,membership").cells] == ["run", "run"]
    assert keys(planned(*gaussian, "dataset.resample=false")) == keys(planned(*gaussian))


def test_a_wide_table_has_blocks_of_few_repeats(planned: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = planned("dataset=gaussian", "dataset.n=200", "dataset.d=3", "mechanism=fm")
    assert [len(unit.repeats) for unit in narrow.units()] == [50]
    monkeypatch.setattr(plan_module, "BLOCK_BYTES", 7 * sums_bytes(3, Splits()))
    assert [len(unit.repeats) for unit in narrow.units()] == [7] * 7 + [1]
    monkeypatch.setattr(plan_module, "BLOCK_BYTES", 1)
    assert [unit.repeats for unit in narrow.units()] == [(repeat,) for repeat in range(50)]


def test_levels_whose_products_of_two_do_not_fit_are_refused_once_the_table_is_known(
    planned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "machine_memory", lambda: 10**6)
    with pytest.raises(Refused, match=r"The sums of products of \d+ columns, for the 5 parts of one repeat, would take"):
        planned("dataset=adult", "model=logistic", "mechanism=fm")
