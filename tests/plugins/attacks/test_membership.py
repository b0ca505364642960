"""Membership inference: it stays below the cap of private mechanisms and exceeds that of one that only claims privacy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench.cells.summaries import record_of
from dpbench.cells.unit_runner import run_unit
from dpbench.cells.work_unit import Unit
from dpbench.contracts.attack import AttackTarget
from dpbench.data.blocks import Block
from dpbench.data.scaling import Rows
from dpbench.records.cell_record import CellRecord
from dpbench.records.cell_tags import Provenance
from dpbench.registry.lookup import registry
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan

PLANTED = '''
    from dataclasses import dataclass

    import numpy as np

    from dpbench import Fit, Mechanism, hookimpl
    from dpbench.accounting.costs import Pure

    @dataclass(frozen=True)
    class Planted(Mechanism):
        """Publishes the exact coefficients, and claims ε."""

        name = "planted"
        guarantee = "ε-DP"
        needs = frozenset({"polynomial"})

        def fit(self, curator, problem, budget):
            objective = problem.polynomial()
            sampler = lambda exact, generator: exact
            answer = curator.unproven(objective, sampler, Pure(budget.epsilon), "planted")
            return Fit.good(problem.minimise(problem.regularised(objective.quadratic(answer, problem.n))))

    @hookimpl
    def dpbench_mechanisms():
        return [Planted]
'''
SMALL_TABLE = ("dataset=gaussian", "dataset.n=80", "dataset.noise=1", "splits.folds=2", "attack=membership")


@pytest.fixture
def planted(drop_in: Callable[[str], None]) -> None:
    drop_in(PLANTED)


def records(*overrides: str) -> list[CellRecord]:
    """The records of a grid, without its pruned cells."""
    sweep = plan(grid_points(overrides))
    parts = [part for unit in sweep.units() for part in run_unit(unit)]
    cells = {cell.cell.key: cell for cell in sweep.to_run if cell.cell is not None}
    assert [part.error for part in parts] == [""] * len(parts)
    return [record_of(cells[part.key].cell, [part], {}, Provenance(False, 0, "plugins 1", "2", "cpu"), "rmse") for part in parts]


def upper(record: CellRecord, name: str) -> float:
    return record.metrics[f"attack/{name}_ci_high"]


def test_every_sound_mechanism_stays_under_its_cap() -> None:
    """Upper end of the 95 % interval over 20 repeats against a cap of 0.24 or more: it lies 10 standard errors above."""
    names = ",".join(name for name in registry().names("mechanism") if name != "drop_sensitive")
    grid = ("dataset.d=4", "dataset.sensitive=[x1]", "splits.repeats=20", "epsilon=0.5", "attack.fits=64")
    proven = [record for record in records(f"mechanism={names}", *SMALL_TABLE, *grid) if record.ranked]
    assert {"fm", "dpba", "dpc", "privr", "cdp_irls"} <= {record.detail.config["mechanism"]["name"] for record in proven}
    for record in proven:
        cap = record.metrics["attack/cap"]
        assert 0.24 < cap < 1
        for name in ("advantage", "loss/advantage"):
            assert upper(record, name) < cap, record.detail.config["mechanism"]["name"]


@pytest.mark.usefixtures("planted")
def test_a_mechanism_that_only_claims_to_be_private_exceeds_its_cap() -> None:
    """Twenty exact coefficients of forty rows reveal the members: both attacks see it, the one with shadow fits better."""
    grid = ("dataset.d=20", "splits.repeats=20", "epsilon=0.1")
    honest, planted = records("mechanism=fm,planted", *SMALL_TABLE, *grid)
    assert planted.tags["dpbench.guarantee"] == "unproven"
    cap = planted.metrics["attack/cap"]
    assert cap == honest.metrics["attack/cap"] == pytest.approx(np.tanh(0.05))
    assert planted.metrics["attack/advantage_ci_low"] > 3 * cap
    assert planted.metrics["attack/loss/advantage_ci_low"] > cap
    assert planted.metrics["attack/auc_mean"] > planted.metrics["attack/loss/auc_mean"]
    assert planted.metrics["attack/tpr_at_1_fpr_mean"] > 0.03
    assert upper(honest, "advantage") < cap


@pytest.fixture
def aim(
    make: Callable[..., Any], split: Callable[..., Block], attack_target: Callable[..., AttackTarget]
) -> Callable[..., AttackTarget]:
    """Builds a target whose weights follow from the members: ``weights_of(is_member, generator)``, (runs, rows) of 0 and 1."""

    def built(rows: Rows, weights_of: Callable[[np.ndarray, np.random.Generator], np.ndarray], repeats: int) -> AttackTarget:
        block = split(rows, range(repeats), folds=2)

        def weights(block: Block, seed: int) -> np.ndarray:
            is_member = np.array([block.labels(repeat) != fold for repeat, fold in block.runs], dtype=float)
            return weights_of(is_member, np.random.default_rng(seed))

        model = make("model", "linear", intercept=False)
        problem = model.prepare(type("Public", (), {"geometry": rows.geometry, "n": block.train.n})())
        return attack_target(problem, block, weights(block, 1), refit=lambda shadows: weights(shadows, 2))

    return built


def test_a_weight_per_row_that_says_whether_it_trained_reveals_every_member(
    make: Any, aim: Any, geometry: Any, rows: Any
) -> None:
    table = rows(geometry(40), np.eye(40), np.zeros(40))
    target = aim(table, lambda member, generator: member + 0.05 * generator.standard_normal(member.shape), 4)
    metrics = make("attack", "membership").run(target)
    for name in ("advantage", "auc", "accuracy_train", "accuracy_test", "balanced_accuracy", "tpr_at_1_fpr"):
        assert (metrics[name] == 1).all(), name
    assert (metrics["loss/advantage"] < 0.7).all(), "members have the larger loss here: only shadow fits show that"


def test_weights_that_ignore_the_rows_reveal_nothing(make: Any, aim: Any, geometry: Any, rows: Any) -> None:
    """t over 60 repeats: |t| > 4 once in 5,600 times."""
    generator = np.random.default_rng(3)
    table = rows(geometry(5), generator.uniform(-1, 1, (300, 5)), generator.uniform(-1, 1, 300))
    target = aim(table, lambda member, generator: generator.standard_normal((len(member), 5)), 60)
    metrics = make("attack", "membership").run(target)
    for name, chance in (("advantage", 0.0), ("auc", 0.5), ("loss/advantage", 0.0), ("loss/auc", 0.5)):
        means = metrics[name].reshape(60, 2).mean(axis=1) - chance
        assert abs(means.mean()) < 4 * means.std(ddof=1) / np.sqrt(60), name


def test_the_threshold_of_the_loss_is_the_mean_loss_of_the_training_rows(make: Any, geometry: Any, rows: Any, aim: Any) -> None:
    """By hand on every row: the weights are zero, so the residuals are y."""
    generator = np.random.default_rng(4)
    table = rows(geometry(1), np.zeros((50, 1)), generator.uniform(-1, 1, 50))
    target = aim(table, lambda member, generator: np.zeros((len(member), 1)), 1)
    metrics = make("attack", "membership").run(target)
    for run in range(2):
        train, test = target.train.rows(run).y ** 2, target.test.rows(run).y ** 2
        true, false = np.mean(train < train.mean()), np.mean(test < train.mean())
        assert metrics["loss/accuracy_train"][run] == pytest.approx(true)
        assert metrics["loss/advantage"][run] == pytest.approx(true - false)
        assert metrics["loss/auc"][run] == pytest.approx(np.mean(train[:, None] < test))
        assert metrics["loss/tpr_at_1_fpr"][run] == pytest.approx(np.mean(train < test.min()))
    assert (metrics["advantage"] == 0).all(), "no shadow fit separates the rows: none is guessed to be a member"


def test_blocks_of_repeats_do_not_change_a_bit() -> None:
    """Large tables are processed in blocks, which engines run in any order and place."""
    sweep = plan(
        grid_points(["mechanism=fm", *SMALL_TABLE, "dataset.d=3", "splits.repeats=4", "attack.fits=16", "attack.targets=50"])
    )
    cells = tuple(cell.cell for cell in sweep.to_run if cell.cell is not None)
    (whole,) = run_unit(Unit(cells, (0, 1, 2, 3)))
    pieces = [run_unit(Unit(cells, repeats))[0] for repeats in ((2, 3), (0, 1))]
    for name in (name for name in whole.runs if name.startswith("attack/")):
        np.testing.assert_array_equal(whole.runs[name], np.concatenate([pieces[1].runs[name], pieces[0].runs[name]]))


def test_a_table_drawn_for_each_repeat_is_attacked_on_its_own_rows() -> None:
    grid = ("dataset.redraw=true", "dataset.d=20", "splits.repeats=4", "attack.fits=32")
    (record,) = records("mechanism=no_privacy", *SMALL_TABLE, *grid)
    assert record.metrics["attack/advantage_mean"] > 0.15
    assert record.metrics["attack/cap"] == 1
