"""Each law about an attack is broken by an attack that is wrong on purpose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench import Attack, MetricInfo
from dpbench.testing import attacks as checks


def attack(run: Any, names: tuple[str, ...] = ("gap",)) -> type:
    infos = tuple(MetricInfo(name, name, "A number.", "higher") for name in names)
    body = {"name": "wrong", "__doc__": "Guess.", "run": run, "metrics": infos}
    return dataclass(frozen=True)(type("Wrong", (Attack,), body))


def runs(target: Any) -> int:
    return len(target.block.runs)


def test_an_attack_that_guesses_keeps_every_law(outcome) -> None:
    def run(self, target):
        coin = target.stream("coin").normal(0, 0.01, runs(target))
        return {"gap": coin, "control/coin": coin}

    good = attack(run, ("gap", "control/coin"))
    assert {check.name: outcome(check, good) for check in checks.CHECKS} == {check.name: "ok: " for check in checks.CHECKS}


def test_metrics_that_are_not_declared_not_returned_or_not_finite_are_named(outcome) -> None:
    assert "The metric gpa is not declared. Did you mean gap?" in outcome(
        checks.result, attack(lambda self, target: {"gpa": np.zeros(runs(target))})
    )
    assert "declared and not returned" in outcome(checks.result, attack(lambda self, target: {}))
    nan = attack(lambda self, target: {"gap": np.full(runs(target), np.nan)})
    assert "The metric gap is not finite in some run" in outcome(checks.result, nan)
    assert "must have the shape (20,)" in outcome(checks.result, attack(lambda self, target: {"gap": np.zeros(3)}))


def test_an_attack_with_randomness_of_its_own_is_named(outcome) -> None:
    random = attack(lambda self, target: {"gap": np.random.default_rng().normal(size=runs(target))})
    assert outcome(checks.determinism, random) == "failed: Two attacks with the same seed have different metrics."


def test_a_control_that_looks_at_the_release_is_named(outcome) -> None:
    peeking = attack(lambda self, target: {"control/mean": target.weights.mean(axis=1)}, ("control/mean",))
    assert outcome(checks.controls, peeking) == "failed: control/mean is another number for another release."


def test_an_attack_that_is_told_the_answers_exceeds_chance_and_the_cap(outcome) -> None:
    told = attack(lambda self, target: {"gap": np.ones(runs(target)), "auc": np.ones(runs(target))}, ("gap", "auc"))
    assert outcome(checks.chance, told) == "failed: gap is 1 where guessing reaches 0."
    assert outcome(checks.cap, told) == "failed: gap is 1 at ε = 0.01, whose cap is 0.005."
