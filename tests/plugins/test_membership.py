"""Membership inference: it stays under the cap of what is private, and exceeds that of what only claims to be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench.base.random_streams import stream
from dpbench.cells.summaries import record_of
from dpbench.cells.work_unit import Unit, run_unit
from dpbench.contracts.attack import Target
from dpbench.data.blocks import Block
from dpbench.data.scaling import Rows
from dpbench.data.splits import Splits
from dpbench.records.finished_cell import FinishedCell
from dpbench.registry.lookup import registry
from dpbench.sweeps.grid import loaded
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
FEW = ("dataset=gaussian", "dataset.n=80", "dataset.noise=1", "splits.folds=2", "attack=membership")


@pytest.fixture
def planted(drop_in: Callable[[str], None]) -> None:
    drop_in(PLANTED)


def records(*overrides: str) -> list[FinishedCell]:
    """The records of a grid; what is pruned is left out."""
    found = plan(loaded(overrides))
    parts = [part for unit in found.units() for part in run_unit(unit)]
    cells = {one.cell.key: one for one in found.to_run if one.cell is not None}
    assert [part.error for part in parts] == [""] * len(parts)
    return [record_of(cells[part.key].cell, [part], {}, {}, "rmse") for part in parts]


def upper(record: FinishedCell, name: str) -> float:
    return record.metrics[f"attack/{name}_ci_high"]


def test_every_sound_mechanism_stays_under_its_cap() -> None:
    """Upper end of the 95 % interval over 20 repeats against a cap of 0.24 or more: it lies 10 standard errors above."""
    names = ",".join(name for name in registry().names("mechanism") if name != "drop_sensitive")
    grid = ("dataset.d=4", "dataset.sensitive=[x1]", "splits.repeats=20", "epsilon=0.5", "attack.fits=64")
    found = [record for record in records(f"mechanism={names}", *FEW, *grid) if record.tags["dpbench.sound"] == "true"]
    assert {"fm", "dpba", "dpc", "privr", "cdp_irls"} <= {record.config["mechanism"]["name"] for record in found}
    for record in found:
        cap = record.metrics["attack/cap"]
        assert 0.24 < cap < 1
        for name in ("advantage", "loss/advantage"):
            assert upper(record, name) < cap, record.config["mechanism"]["name"]


@pytest.mark.usefixtures("planted")
def test_what_only_claims_to_be_private_exceeds_its_cap() -> None:
    """Twenty coefficients of forty rows remember who they were: both attacks see it, shadows better."""
    grid = ("dataset.d=20", "splits.repeats=20", "epsilon=0.1")
    honest, planted = records("mechanism=fm,planted", *FEW, *grid)
    assert planted.tags["dpbench.sound"] == "false"
    cap = planted.metrics["attack/cap"]
    assert cap == honest.metrics["attack/cap"] == pytest.approx(np.tanh(0.05))
    assert planted.metrics["attack/advantage_ci_low"] > 3 * cap
    assert planted.metrics["attack/loss/advantage_ci_low"] > cap
    assert planted.metrics["attack/auc_mean"] > planted.metrics["attack/loss/auc_mean"]
    assert planted.metrics["attack/tpr_at_1_fpr_mean"] > 0.03
    assert upper(honest, "advantage") < cap


@pytest.fixture
def aim(make: Callable[..., Any]) -> Callable[..., Target]:
    """A target on rows, with weights and shadow weights that follow from who trained: ``told(inside)`` of (runs, rows)."""

    def built(rows: Rows, told: Callable[[np.ndarray, np.random.Generator], np.ndarray], repeats: int) -> Target:
        splits = Splits("kfold", repeats, 2)
        drawn = {r: splits.assign(rows.n, rows.n, 0, "t", r) for r in range(repeats)}
        block = Block(lambda r: rows, lambda r: drawn[r], range(repeats), 2, 2)

        def weights(some: Block, seed: int) -> np.ndarray:
            inside = np.array([some.labels(repeat) != fold for repeat, fold in some.runs], dtype=float)
            return told(inside, np.random.default_rng(seed))

        problem = make("model", "linear", intercept=False)
        problem = problem.prepare(type("Public", (), {"geometry": rows.geometry, "n": block.train.n})())
        known: dict[Any, Any] = {}
        remember = lambda key, compute: known.setdefault(key, compute())  # noqa: E731
        streams = lambda *names: stream(0, *names)  # noqa: E731
        return Target(
            problem, weights(block, 1), block.train, block.test, 1.0, block, lambda other: weights(other, 2), streams, remember
        )

    return built


def test_a_weight_for_each_row_that_says_whether_it_trained_tells_everything(
    make: Any, aim: Any, geometry: Any, rows: Any
) -> None:
    table = rows(geometry(40), np.eye(40), np.zeros(40))
    target = aim(table, lambda inside, generator: inside + 0.05 * generator.standard_normal(inside.shape), 4)
    found = make("attack", "membership").run(target)
    for name in ("advantage", "auc", "accuracy_train", "accuracy_test", "balanced_accuracy", "tpr_at_1_fpr"):
        assert (found[name] == 1).all(), name
    assert (found["loss/advantage"] < 0.7).all(), "members have the larger loss here: only shadows know that"


def test_weights_that_know_nobody_tell_nothing(make: Any, aim: Any, geometry: Any, rows: Any) -> None:
    """t over 60 repeats: |t| > 4 once in 5,600 times."""
    generator = np.random.default_rng(3)
    table = rows(geometry(5), generator.uniform(-1, 1, (300, 5)), generator.uniform(-1, 1, 300))
    target = aim(table, lambda inside, noise: noise.standard_normal((len(inside), 5)), 60)
    found = make("attack", "membership").run(target)
    for name, nothing in (("advantage", 0.0), ("auc", 0.5), ("loss/advantage", 0.0), ("loss/auc", 0.5)):
        means = found[name].reshape(60, 2).mean(axis=1) - nothing
        assert abs(means.mean()) < 4 * means.std(ddof=1) / np.sqrt(60), name


def test_the_threshold_is_the_mean_loss_of_those_that_trained(make: Any, geometry: Any, rows: Any, aim: Any) -> None:
    """By hand, on every row: residuals are y, since the weights are zero."""
    generator = np.random.default_rng(4)
    table = rows(geometry(1), np.zeros((50, 1)), generator.uniform(-1, 1, 50))
    target = aim(table, lambda inside, noise: np.zeros((len(inside), 1)), 1)
    found = make("attack", "membership").run(target)
    for run in range(2):
        train, test = target.train.rows(run).y ** 2, target.test.rows(run).y ** 2
        told, alarms = np.mean(train < train.mean()), np.mean(test < train.mean())
        assert found["loss/accuracy_train"][run] == pytest.approx(told)
        assert found["loss/advantage"][run] == pytest.approx(told - alarms)
        assert found["loss/auc"][run] == pytest.approx(np.mean(train[:, None] < test))
        assert found["loss/tpr_at_1_fpr"][run] == pytest.approx(np.mean(train < test.min()))
    assert (found["advantage"] == 0).all(), "no shadow tells anything: nobody is accused"


def test_blocks_of_repeats_do_not_change_a_bit() -> None:
    """Heavy tables are cut into blocks, and engines put them where they like."""
    found = plan(loaded(["mechanism=fm", *FEW, "dataset.d=3", "splits.repeats=4", "attack.fits=16", "attack.targets=50"]))
    cells = tuple(one.cell for one in found.to_run if one.cell is not None)
    (whole,) = run_unit(Unit(cells, (0, 1, 2, 3)))
    pieces = [run_unit(Unit(cells, repeats))[0] for repeats in ((2, 3), (0, 1))]
    for name in (name for name in whole.runs if name.startswith("attack/")):
        np.testing.assert_array_equal(whole.runs[name], np.concatenate([pieces[1].runs[name], pieces[0].runs[name]]))


def test_a_table_drawn_for_each_repeat_is_attacked_on_its_own_rows() -> None:
    grid = ("dataset.redraw=true", "dataset.d=20", "splits.repeats=4", "attack.fits=32")
    (record,) = records("mechanism=no_privacy", *FEW, *grid)
    assert record.metrics["attack/advantage_mean"] > 0.15
    assert record.metrics["attack/cap"] == 1
