"""Checks of an attack: its metrics, its controls, its level of chance, and the cap that ε puts on its advantage."""

import numpy as np

from dpbench.audit.global_generators import watched_generators
from dpbench.base.errors import near_names
from dpbench.contracts.attack import advantage_cap
from dpbench.testing.attack_case import RELEASED_EPSILON, AttackCase
from dpbench.testing.checks import Failure, NotApplicable, law
from dpbench.testing.guarded import guarded

CHANCE = {"gap": 0.0, "advantage": 0.0, "balanced_accuracy": 0.5, "auc": 0.5}
"""What guessing reaches, by the names that attacks share."""
CHANCE_TOLERANCE = 0.25
"""How far the mean of 20 runs on 60 rows each may exceed chance: more than five standard errors of the coarsest metric."""
CAP_TOLERANCE = 0.1
"""How far the mean advantage of 20 runs may exceed the cap, with 60 rows on either side: five standard errors."""
CONTROL = "control/"


@law(
    "The attack runs on some model, and returns an array (runs,) of finite numbers for each of the metrics that it declares.",
    "Return {name: array} with the names of the MetricInfo in metrics, one number per run of target.block.runs; declare every "
    "metric "
    "that is returned, so that reports can explain it.",
    needed=True,
)
def result(case: AttackCase) -> None:
    case.require_attack()
    values = guarded("The attack", lambda: case.run(case.exact), case.rows)
    declared = [info.name for info in case.component.metrics]
    for name, array in values.items():
        if np.shape(array) != (len(case.block.runs),):
            raise Failure(f"The metric {name} must have the shape {(len(case.block.runs),)}. Got {np.shape(array)} instead.")
        if not np.isfinite(array).all():
            raise Failure(f"The metric {name} is not finite in some run, on rows like any others.")
        if name not in declared and "/utility/" not in name:
            raise Failure(f"The metric {name} is not declared.{near_names(name, declared)}")
    if missing := sorted({*declared} - {*values}):
        raise Failure(f"The metrics {', '.join(missing)} are declared and not returned.")


@law(
    "The same seed gives the same numbers, and neither rows, weights nor the global random generators change.",
    "Draw from target.stream(name) alone, and copy arrays before you change them.",
)
def determinism(case: AttackCase) -> None:
    case.require_attack()
    before, first = case.rows.z.copy(), case.run(case.exact)
    with watched_generators() as generators:
        second = case.run(case.exact)
    if any(not np.array_equal(first[name], second[name], equal_nan=True) for name in first):
        raise Failure("Two attacks with the same seed have different metrics.")
    if generators.used:
        raise Failure("It used numpy.random, which others share.")
    if not np.array_equal(before, case.rows.z):
        raise Failure("It changed the rows.")


@law(
    "Controls, which need no release, are the same whatever was released.",
    "Compute what is returned as control/… without target.weights and target.refit.",
)
def controls(case: AttackCase) -> None:
    case.require_attack()
    exact, unrelated = case.run(case.exact), case.run(case.unrelated, RELEASED_EPSILON)
    names = [name for name in exact if name.startswith(CONTROL)]
    if not names:
        raise NotApplicable("it returns no metric control/…")
    for name in names:
        if not np.array_equal(exact[name], unrelated[name], equal_nan=True):
            raise Failure(f"{name} is another number for another release.")


@law(
    "Against weights that follow from no row, the attack guesses as well as chance.",
    "Judge guesses on rows that the attack has not seen the answer of; a difference is a mistake in what it gets to know, or in "
    "the metric.",
)
def chance(case: AttackCase) -> None:
    case.require_attack()
    values = case.run(case.unrelated, RELEASED_EPSILON)
    judged = {name: level for name, level in CHANCE.items() if name in values}
    if not judged:
        raise NotApplicable(f"it returns none of the metrics {', '.join(CHANCE)}")
    for name, level in judged.items():
        reached = float(np.mean(values[name]))
        if reached > level + CHANCE_TOLERANCE:
            raise Failure(f"{name} is {reached:.3g} where guessing reaches {level:g}.")


@law(
    "The advantage about a row's part in training stays below the cap of the accounted ε, (e^ε - 1)/(e^ε + 1).",
    "Use a threshold that is fixed before the answers are known: the best of many thresholds exceeds the cap by chance.",
    after=(chance,),
)
def cap(case: AttackCase) -> None:
    case.require_attack()
    values, limit = case.run(case.unrelated, RELEASED_EPSILON), advantage_cap(RELEASED_EPSILON)
    judged = [name for name in ("gap", "advantage") if name in values]
    if not judged:
        raise NotApplicable("it returns neither gap nor advantage")
    for name in judged:
        reached = float(np.mean(values[name]))
        if reached > limit + CAP_TOLERANCE:
            raise Failure(f"{name} is {reached:.3g} at ε = {RELEASED_EPSILON:g}, whose cap is {limit:.3g}.")


CHECKS = (result, determinism, controls, chance, cap)
