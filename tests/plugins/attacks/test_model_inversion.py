"""Model inversion: cases computed by hand, cases in which it must fail, and the sentences of pruned cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.cells.unit_runner import run_unit
from dpbench.cells.work_unit import BlockResult
from dpbench.contracts.attack import AttackTarget
from dpbench.data.blocks import Block
from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows, scale
from dpbench.data.splits import Splits
from dpbench.data.table import Column, Table
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan, refuse_pruned

Aim = Callable[..., AttackTarget]
SMALL = ("dataset=census", "dataset.sample_n=400", "splits.repeats=2", "splits.folds=2", "model=linear")


@pytest.fixture
def aim(make: Callable[..., Any], curate: Callable[..., Any], attack_target: Callable[..., AttackTarget]) -> Aim:
    """A target: a model with these weights or its exact fit, on these labels (0 is the test part) or one random hold-out."""

    def built(rows: Rows, model: str, weights: Any = None, labels: Any = None, seed: int = 0) -> AttackTarget:
        splits = Splits("holdout", 1, test_fraction=0.3)
        parts = splits.assign(rows.n, rows.n, seed, "t", 0) if labels is None else np.array(labels)
        block = Block(lambda repeat: rows, lambda repeat: parts, [0], 2, 1)
        problem = make("model", model, intercept=rows.geometry.intercept).prepare(curate(block.train, runs=block.runs))
        vectors = problem.exact(block.train).weights if weights is None else np.array([weights], float)
        return attack_target(problem, block, vectors, seed=seed, epsilon=np.inf)

    return built


@pytest.fixture
def sensitive_rows(geometry: Callable[..., Geometry], rows: Callable[..., Rows]) -> Callable[..., Rows]:
    """Rows of one sensitive column that is -1 or 1."""

    def built(x: list[float], y: list[float], target: str) -> Rows:
        return rows(replace(geometry(1, target=target), levels=(2,), sensitive=("x0",)), np.array(x)[:, None], y)

    return built


class TestByHand:
    def test_a_linear_model_of_one_feature(self, make: Any, aim: Aim, sensitive_rows: Any) -> None:
        """s² = .53/5, p(+) = 3/5: the odds are 1.6 y / (2 s²) + ln 1.5, so the guess is + where y > -.054."""
        table = sensitive_rows([1, 1, -1, -1, 1, 1, -1], [0.5, 0.3, -0.5, 0.1, -0.1, 0.2, 0.2], "real")
        metrics = make("attack", "model_inversion", share=1).run(aim(table, "linear", [0.4], [1, 1, 1, 1, 1, 0, 0]))
        assert metrics["accuracy_train"] == pytest.approx(3 / 5)
        assert metrics["accuracy_test"] == pytest.approx(1 / 2)
        assert metrics["gap"] == pytest.approx(1 / 10)
        assert metrics["advantage"] == pytest.approx(0, abs=1e-15)
        assert metrics["balanced_accuracy"] == pytest.approx((2 / 3 + 1 / 2) / 2)
        assert metrics["auc"] == pytest.approx(5 / 6)

    @pytest.mark.parametrize(("last", "accuracy"), [(-0.5, 1), (-0.1, 3 / 4)])
    def test_predictions_outside_the_target_are_clipped(
        self, last: float, accuracy: float, make: Any, aim: Aim, sensitive_rows: Any
    ) -> None:
        """w = 3 predicts ±3, which is ±1: the last row's odds are ln 3 + 2 y / s², 1.1 - 4 with s² = .25, 1.1 - .5 with .39.

        Unclipped s² is above 6, so the first is wrong; with clipped errors and unclipped odds, 6 y / s², the second is right.
        """
        table = sensitive_rows([1, 1, 1, -1, 1, -1], [0.5, 0.5, 0.5, last, 1, -1], "real")
        metrics = make("attack", "model_inversion", share=1).run(aim(table, "linear", [3], [1, 1, 1, 1, 0, 0]))
        assert metrics["accuracy_train"] == pytest.approx(accuracy)

    CLASSES = ([1, 1, 1, 1, 1, -1, -1, -1, 1, -1], [1, 1, 1, 1, 0, 0, 0, 1, 1, 1], "binary")
    LABELS = (1, 1, 1, 1, 1, 1, 1, 1, 0, 0)

    def test_a_logistic_model_by_its_confusion_matrix(self, make: Any, aim: Aim, sensitive_rows: Any) -> None:
        """π(1|1) = 4/5, π(1|0) = 1/3, p(+) = 5/8: y = 1 weighs 4/8 to 1/8, y = 0 weighs 1/8 to 2/8."""
        metrics = make("attack", "model_inversion", share=1).run(
            aim(sensitive_rows(*self.CLASSES), "logistic", [0.02], self.LABELS)
        )
        assert metrics["accuracy_train"] == pytest.approx(6 / 8)
        assert metrics["accuracy_test"] == pytest.approx(1 / 2)
        assert metrics["advantage"] == pytest.approx(1 / 8)

    def test_the_share_is_that_of_the_class_among_those_predicted(self, make: Any, aim: Aim, sensitive_rows: Any) -> None:
        """π(0|1) = 2/7, π(0|0) = 1: y = 0 weighs 2/8 to 1/8. Shares of the predictions within a class say 0 to 1/3."""
        table = sensitive_rows([1, 1, 1, 1, 1, 1, 1, -1, 1, -1], [1, 1, 1, 1, 1, 0, 0, 0, 1, 0], "binary")
        labels = [1, 1, 1, 1, 1, 1, 1, 1, 0, 0]
        metrics = make("attack", "model_inversion", share=1).run(aim(table, "logistic", [1], labels))
        assert metrics["accuracy_train"] == pytest.approx(7 / 8)

    def test_a_logistic_model_by_its_probabilities(self, make: Any, aim: Aim, sensitive_rows: Any) -> None:
        """σ(.2) = .55: y = 0 weighs 5/8 · .45 to 3/8 · .55, so that + is guessed for everybody; at w = 1 it is not."""
        soft = make("attack", "model_inversion", share=1, likelihood="soft")
        weak = soft.run(aim(sensitive_rows(*self.CLASSES), "logistic", [0.2], self.LABELS))
        strong = soft.run(aim(sensitive_rows(*self.CLASSES), "logistic", [1.0], self.LABELS))
        assert weak["accuracy_train"] == pytest.approx(5 / 8)
        assert strong["accuracy_train"] == pytest.approx(6 / 8)

    def test_between_equals_the_larger_value_is_guessed(self, make: Any, aim: Aim, sensitive_rows: Any) -> None:
        table = sensitive_rows([1, -1, -1, 1, -1], [0, 0, 0, 0, 0], "real")
        metrics = make("attack", "model_inversion", share=1, prior="uniform").run(aim(table, "linear", [0], [1, 1, 1, 0, 0]))
        assert metrics["accuracy_train"] == pytest.approx(1 / 3)
        assert metrics["advantage"] == pytest.approx(-1 / 3)


@pytest.fixture
def people() -> Callable[..., Table]:
    """1,000 rows of a number, a level of three, a count from 1 to 5; the target is ``own`` of one, 0.2 of the others."""

    def built(sensitive: str, own: float = 1.0, seed: int = 0, noise: float = 0.0) -> Table:
        generator = np.random.default_rng(seed)
        number = generator.uniform(0, 10, 1000)
        level = generator.integers(3, size=1000)
        count = generator.integers(1, 6, size=1000)
        parts = {"number": number / 10, "level": np.array([0.0, 0.3, 1.0])[level], "count": count / 5}
        response = sum((own if name == sensitive else 0.2) * part for name, part in parts.items())
        response = response + noise * generator.standard_normal(1000)
        columns = (
            Column("number", 0, 10),
            *(Column(f"level={index}", 0, 1, group="level") for index in range(3)),
            Column("count", 1, 5, kind="integer"),
        )
        features = np.column_stack([number, np.eye(3)[level], count])
        return Table(columns, Column("y", -1, 3), features, response, sensitive=(sensitive,), threshold=0.8)

    return built


@pytest.mark.parametrize("scaling", ["box", "ball"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("sensitive", ["number", "level", "count"])
def test_a_linear_relation_without_noise_is_inverted_perfectly(
    sensitive: str, intercept: bool, scaling: Any, make: Any, aim: Aim, people: Any
) -> None:
    """A group as a whole, a count to its value, a number to its bin (rounding to 2⁻¹⁶ moves a few across its edge)."""
    target = aim(scale(people(sensitive), scaling, intercept, "real"), "linear")
    metrics = make("attack", "model_inversion", share=0.5).run(target)
    least = 0.995 if sensitive == "number" else 1.0
    for name in ("accuracy_train", "accuracy_test", "balanced_accuracy", "auc"):
        assert (metrics[name] >= least).all(), name
    assert (metrics["advantage"] > 0.5).all()


@pytest.mark.parametrize(("model", "likelihood"), [("linear", "soft"), ("logistic", "hard"), ("logistic", "soft")])
@pytest.mark.parametrize("sensitive", ["number", "level", "count"])
def test_weights_of_zero_give_the_prior(sensitive: str, model: str, likelihood: str, make: Any, aim: Aim, people: Any) -> None:
    rows = scale(people(sensitive), "box", True, make("model", model).target)
    metrics = make("attack", "model_inversion", likelihood=likelihood).run(aim(rows, model, [0] * rows.geometry.dimension))
    for name in ("accuracy_train", "accuracy_test", "gap", "balanced_accuracy"):
        np.testing.assert_array_equal(metrics[name], metrics[f"control/majority/{name}"])
    assert (metrics["advantage"] == 0).all()
    assert (metrics["auc"] == 0.5).all()
    for name in ("advantage", "auc", "accuracy_test"):
        np.testing.assert_array_equal(metrics[f"control/without_sensitive/{name}"], metrics[name])


@pytest.mark.parametrize("scaling", ["box", "ball"])
@pytest.mark.parametrize("model", ["linear", "logistic"])
@pytest.mark.parametrize("sensitive", ["level", "count"])
def test_it_is_the_likeliest_value_put_into_the_row(
    sensitive: str, model: str, scaling: Any, make: Any, aim: Aim, people: Any
) -> None:
    """Against the definition: every value written into every row, the whole design multiplied out."""
    rows = scale(people(sensitive, noise=0.3), scaling, True, make("model", model).target)
    target = aim(rows, model)
    (weights,), (train,) = target.weights, [target.train.rows(0)]
    columns = [1, 2, 3] if sensitive == "level" else [4]
    columns = [1 + index for index in columns] if sensitive == "count" else [2, 3, 4]
    truth = np.unique(train.z[:, columns], axis=0, return_inverse=True)
    values, level = truth[0], np.asarray(truth[1]).ravel()
    prior = np.bincount(level) / len(level)
    predicted = target.problem.predict(train.x, weights)
    spread = float(np.mean((train.y - np.clip(predicted, -1, 1)) ** 2))
    scores = []
    for value, share in zip(values, prior, strict=True):
        z = train.z.copy()
        z[:, columns] = value
        changed = Rows(z, train.geometry)
        if model == "linear":
            errors = train.y - np.clip(changed.x @ weights, -1, 1)
            scores.append(np.log(share) - errors**2 / (2 * spread))
        else:
            chance = target.problem.predict(changed.x, weights)
            scores.append(np.log(share) + np.log(np.where(train.y > 0.5, chance, 1 - chance)))
    expected = np.mean(np.argmax(scores, axis=0) == level)
    metrics = make("attack", "model_inversion", share=1, likelihood="soft").run(target)
    assert metrics["accuracy_train"] == pytest.approx(expected, abs=1.5 / train.n), "except for one tie that rounding decides"
    assert expected > prior.max() + 0.03, "and the attack is better than the prior here"


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_an_unknown_attribute_is_summed_out(model: str, make: Any, aim: Aim, people: Any) -> None:
    """Against the definition: every level and every count written into every row, weighted by how often both occur together."""
    rows = scale(people("level", noise=0.3), "box", True, make("model", model).target)
    target = aim(rows, model)
    (weights,), train = target.weights, target.train.rows(0)
    levels, level = np.unique(train.z[:, 2:5], axis=0, return_inverse=True)
    counts, count = np.unique(train.z[:, 5], return_inverse=True)
    level = np.asarray(level).ravel()
    spread = float(np.mean((train.y - np.clip(target.problem.predict(train.x, weights), -1, 1)) ** 2))
    weight = np.zeros((len(levels), train.n))
    for index, value in enumerate(levels):
        for position, number in enumerate(counts):
            z = train.z.copy()
            z[:, 2:5], z[:, 5] = value, number
            together = np.mean((level == index) & (count == position))
            predicted = target.problem.predict(Rows(z, train.geometry).x, weights)
            if model == "linear":
                weight[index] += together * np.exp(-((train.y - np.clip(predicted, -1, 1)) ** 2) / (2 * spread))
            else:
                weight[index] += together * np.where(train.y > 0.5, predicted, 1 - predicted)
    expected = np.mean(np.argmax(weight, axis=0) == level)
    attack = make("attack", "model_inversion", share=1, likelihood="soft", unknown=("count",))
    metrics = attack.run(target)
    assert metrics["accuracy_train"] == pytest.approx(expected, abs=1.5 / train.n), "except for one tie that rounding decides"
    known = make("attack", "model_inversion", share=1, likelihood="soft").run(target)
    assert metrics["control/imputation/accuracy_train"] < known["control/imputation/accuracy_train"]


def test_an_unknown_attribute_without_a_weight_changes_nothing(make: Any, aim: Aim, people: Any) -> None:
    rows = scale(people("level", noise=0.3), "box", True, "real")
    weights = aim(rows, "linear").weights[0].copy()
    weights[5] = 0
    target = aim(rows, "linear", weights)
    metrics, known = (make("attack", "model_inversion", unknown=names).run(target) for names in (("count",), ()))
    for name in ("accuracy_train", "accuracy_test", "balanced_accuracy"):
        np.testing.assert_array_equal(metrics[name], known[name])


def test_a_column_of_a_user_that_is_declared_by_its_values_is_not_binned(make: Any, aim: Aim) -> None:
    """The middles of bins are never observed: the model is asked about people who do not exist."""
    generator = np.random.default_rng(5)
    flag = generator.integers(2, size=400).astype(float)
    response = np.clip(0.25 + 0.4 * flag + 0.1 * generator.standard_normal(400), 0, 1)
    attack = make("attack", "model_inversion", share=1)
    remarks = {}
    for kind in ("continuous", "integer"):
        columns = (Column("flag", 0, 1, kind=kind),)
        table = Table(columns, Column("y", 0, 1), flag[:, None], response, sensitive=("flag",))
        target = aim(scale(table, "box", True, "real"), "linear")
        remarks[kind] = attack.remarks(target.problem.geometry)
    assert remarks["integer"] == ()
    assert "treats flag as 16 equal bins" in remarks["continuous"][0]


def test_what_is_guessed_in_bins_is_recorded_and_said() -> None:
    from dpbench.report.warning_texts import health_sentences
    from dpbench.sweeps.execution import run_unrecorded

    request = ["attack=model_inversion", "attack.sensitive=is_married,age", "mechanism=no_privacy", *SMALL]
    points = grid_points(request)
    married, age = run_unrecorded(plan(points), points[0].config)
    assert married.remarks == ""
    assert age.tags["dpbench.remarks"].startswith("model_inversion treats age as 16 equal bins")
    assert any("treats age as 16 equal bins" in sentence for sentence in health_sentences([married, age]))


def test_shuffled_labels_give_no_advantage(make: Any, aim: Aim, people: Any) -> None:
    """t over 20 tables, each with its own rows: |t| > 4 happens once in 1,300 times. Unshuffled it is above 10."""

    def t_of(shuffled: bool, name: str) -> float:
        advantages = []
        for seed in range(20):
            table = people("level", seed=seed, noise=0.3)
            if shuffled:
                features = table.features.copy()
                features[:, 1:4] = np.random.default_rng(100 + seed).permutation(features[:, 1:4])
                table = replace(table, features=features)
            attack = make("attack", "model_inversion", share=1, prior="uniform")
            answer = attack.run(aim(scale(table, "box", True, "real"), "linear", seed=seed))
            advantages.append(float(answer[name][0]) - 1 / 3)
        return float(np.mean(advantages) / (np.std(advantages, ddof=1) / np.sqrt(20)))

    for name in ("accuracy_test", "control/imputation/accuracy_test"):
        assert abs(t_of(True, name)) < 4
        assert t_of(False, name) > 10


def test_imputation_needs_no_model(make: Any, aim: Aim, people: Any) -> None:
    """The target determines the attribute, so the control guesses it right for any weights."""
    rows = scale(people("level"), "box", True, "real")
    metrics = make("attack", "model_inversion").run(aim(rows, "linear", [0] * rows.geometry.dimension))
    assert metrics["control/imputation/accuracy_train"] > 0.99
    assert metrics["control/imputation/accuracy_test"] > 0.99


def test_imputation_has_not_seen_the_rows_it_guesses(make: Any, aim: Aim, geometry: Any, rows: Any) -> None:
    """60 columns of noise fit 70 rows: seen before, most would be right. 10 tables, 700 guesses: 4 standard errors are .076."""
    advantages = []
    for seed in range(10):
        generator = np.random.default_rng(seed)
        x = np.column_stack([generator.choice([-1, 1], 200), generator.uniform(-1, 1, (200, 60))])
        table = rows(replace(geometry(61), levels=(2,) + 60 * (0,), sensitive=("x0",)), x, generator.uniform(-1, 1, 200))
        target = aim(table, "linear", [0] * 61, seed=seed)
        advantages.append(make("attack", "model_inversion", share=0.5).run(target)["control/imputation/accuracy_train"][0])
    assert abs(np.mean(advantages) - 0.5) < 0.076


def test_the_model_without_the_attribute_is_scored(make: Any, aim: Aim, people: Any) -> None:
    """Its error is that of least squares on the other columns."""
    target = aim(scale(people("level"), "box", True, "real"), "linear")
    metrics = make("attack", "model_inversion").run(target)
    train, test = target.train.rows(0), target.test.rows(0)
    kept = [0, 1, 5]
    weights = np.linalg.lstsq(train.x[:, kept], train.y, rcond=None)[0]
    expected = np.sqrt(np.mean((test.y - test.x[:, kept] @ weights) ** 2))
    assert metrics["control/without_sensitive/utility/rmse"] == pytest.approx(expected, rel=1e-9)


def test_uniform_priors_leave_out_what_never_occurs(make: Any, aim: Aim, people: Any) -> None:
    """No row is without a level: with weights of zero the largest level is guessed, not `none of them`, and not always wrong."""
    rows = scale(people("level"), "box", True, "real")
    metrics = make("attack", "model_inversion", prior="uniform").run(aim(rows, "linear", [0] * 6))
    assert 0.25 < metrics["accuracy_test"][0] < 0.42
    assert metrics["balanced_accuracy"] == pytest.approx(1 / 3)


def parts(*overrides: str) -> list[BlockResult]:
    return [part for unit in plan(grid_points(overrides)).units() for part in run_unit(unit)]


def test_controls_and_attacked_rows_are_the_same_for_every_mechanism_and_epsilon() -> None:
    results = parts("mechanism=fm,no_privacy", "attack=model_inversion", "epsilon=0.5,2", *SMALL)
    assert [part.error for part in results] == [""] * 3, "one of no_privacy"
    controls = [name for name in results[0].runs if name.startswith("attack/control/")]
    assert {name.split("/")[2] for name in controls} == {"majority", "imputation", "without_sensitive"}
    for part in results[1:]:
        for name in controls:
            np.testing.assert_array_equal(part.runs[name], results[0].runs[name])
        np.testing.assert_array_equal(
            part.runs["attack/accuracy_train"] - part.runs["attack/advantage"],
            results[0].runs["attack/control/majority/accuracy_train"],
        )


def test_leaving_the_attribute_out_leaves_the_prior() -> None:
    (part,) = parts("mechanism=drop_sensitive", "attack=model_inversion", *SMALL)
    assert (part.runs["attack/advantage"] == 0).all()
    assert (part.runs["attack/auc"] == 0.5).all()


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        (
            ("dataset=wine",),
            "The attack model_inversion does not run on linear: the dataset declares no sensitive attribute. "
            "Name one with attack.sensitive=…. Known: alcohol, chlorides, citric_acid,",
        ),
        (
            ("dataset=census", "attack.sensitive=maried"),
            "The attack model_inversion does not run on linear: the table has no attribute named 'maried'. "
            "Did you mean is_married? Known: age, automobiles, children,",
        ),
        (
            ("dataset=census", "attack.unknown=[is_singel]"),
            "the table has no attribute named 'is_singel'. Did you mean is_",
        ),
        (
            ("dataset=census", "attack.sensitive=is_married", "attack.unknown=[is_married]"),
            "the attribute 'is_married' is guessed, so attack.unknown cannot name it",
        ),
        (
            ("dataset=census", "attack.sensitive=is_married", "attack.unknown=[age,hours_per_week,children]", "attack.bins=64"),
            "combinations of values, more than 4,096",
        ),
        (("dataset=census", "attack.likelihood=hard"), "the hard likelihood counts predicted classes, and the target is real"),
    ],
)
def test_a_grid_point_without_an_attribute_to_attack_is_pruned_with_a_sentence(overrides: tuple[str, ...], says: str) -> None:
    sweep = plan(grid_points(["mechanism=fm", "model=linear", "attack=none,model_inversion", *overrides]))
    assert [cell.state for cell in sweep.cells] == ["run", "pruned"]
    assert says in sweep.cells[1].reason
    with pytest.raises(Refused, match="does not run on linear"):
        refuse_pruned(sweep)


def test_any_attribute_can_be_named() -> None:
    sweep = plan(grid_points(["attack=model_inversion", "attack.sensitive=alcohol", "model=linear", "dataset=wine"]))
    assert [cell.state for cell in sweep.cells] == ["run"]
