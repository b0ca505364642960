"""The kit has a fault planted for each of its checks: exactly this check fails, and says what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from faulty_mechanisms import component_faults, mechanism_faults, subclass

from dpbench import Attack, Column, Dataset, Fit, LeastSquares, Metric, MetricInfo, Model, Paper, Table
from dpbench.contracts.hooks import OFFERS
from dpbench.queries import Loss, Polynomial
from dpbench.testing import check
from dpbench.testing.kinds import checks_of_kind

pytestmark = pytest.mark.long


# Models


@dataclass(frozen=True)
class Squares(Model):
    """Least squares."""

    name = "squares"
    provides = frozenset({"polynomial", "gradient", "likelihood", "reweighted", "smoothness", "weighted"})
    problem: ClassVar[type] = LeastSquares

    def prepare(self, curator):
        return self.problem(curator.geometry, curator.n)


class SmallBound(Polynomial):
    def l1_bound(self, rule="auto"):
        return 0.5 * super().l1_bound(rule)


def solved(self: Any, sample: Any) -> Fit:
    return Fit.good(np.linalg.solve(sample.moments.xx, sample.moments.xy[..., None])[..., 0])


def changed(change: Callable[[np.ndarray], np.ndarray]) -> dict[str, Any]:
    """Fits of all rows and of weighted ones with other weights."""
    return {
        "exact": lambda self, sample: Fit.good(change(LeastSquares.exact(self, sample).weights)),
        "weighted": lambda self, x, y, weight: change(LeastSquares.weighted(self, x, y, weight)[None])[0],
    }


def of(**members: Any) -> type:
    return subclass(Squares, problem=type("Problem", (LeastSquares,), members))


def model_faults() -> dict[str, Any]:
    loss = Loss(curvature=1.0, slope=(0.0, -2.0), printed_slope=2.0, printed_constant=1.0)
    return {
        **component_faults(Squares),
        "signature": subclass(Squares, prepare=lambda self, x, y: self.problem(x, y)),
        "capabilities": subclass(Squares, provides=frozenset({"gradiant"})),
        "result": of(**changed(lambda weights: weights * np.nan)),
        "every table": of(exact=solved),
        "batch equals alone": of(**changed(lambda weights: 0 * weights + weights.mean(axis=0))),
        "determinism": of(**changed(lambda weights: weights + 1e-11 * np.random.default_rng().normal())),
        "scores": subclass(Squares, primary="rmsee"),
        "weighted rows": of(weighted=lambda self, x, y, weight: LeastSquares.weighted(self, x, y, np.sqrt(weight))),
        "derivatives": of(
            gradient=lambda self, x, y, weights: x @ weights - y, curvature=lambda self, x, y, weights: np.ones(len(y))
        ),
        "largest derivatives": of(largest_curvature=1.0),
        "minimum": of(**changed(lambda weights: weights + 1e-3)),
        "likelihood": of(log_likelihood=lambda self, x, y, weights, variance: (y - x @ weights) ** 2),
        "reweighting": of(steady_weights=False, irls_weights=lambda self, residuals, kappa: 2 * kappa + 0 * residuals),
        "sensitivities": of(polynomial=lambda self, convention="monomial": SmallBound(loss, self.geometry, convention)),
    }


# Datasets


def wages(generator: np.random.Generator, high: float = 75, threshold: float = 40) -> Table:
    age = generator.uniform(15, 75, 200)
    wage = np.clip(age + generator.normal(0, 10, 200), 0, 99)
    return Table((Column("age", 15, high),), Column("wage", 0, 100), age[:, None], wage, threshold=threshold)


@dataclass(frozen=True)
class Wages(Dataset):
    """Wages that rise with age, drawn from the seed."""

    name = "wages"
    synthetic = True
    bounds_source = "the law that the wages are drawn from"

    def load(self, generator):
        return wages(generator)


def globally(self: Any, generator: np.random.Generator) -> Table:
    np.random.random()
    return wages(generator)


def dataset_faults() -> dict[str, Any]:
    collected = {"load": lambda self, generator: wages(np.random.default_rng(0)), "synthetic": False, "public": True}
    return {
        **component_faults(Wages),
        "signature": subclass(Wages, load=lambda self: wages(np.random.default_rng(0))),
        "table": subclass(Wages, shape=lambda self: (3, 1)),
        "determinism": subclass(Wages, load=globally),
        "synthetic": subclass(Wages, synthetic=False),
        "bounds": subclass(Wages, load=lambda self, generator: wages(generator, high=10_000_000)),
        "bounds source": subclass(Wages, **{**collected, "public": False}, bounds_source=""),
        "scaled rows": subclass(Wages, load=lambda self, generator: wages(generator, threshold=99.5)),
        "origin": subclass(Wages, **collected),
        "attributes": subclass(Wages, subsets=lambda self: {1: ("agee",)}),
    }


# Attacks


@dataclass(frozen=True)
class Guess(Attack):
    """Guess at random, which is no better than chance."""

    name = "guess"
    metrics = tuple(MetricInfo(name, name, "A number.", "higher") for name in ("gap", "auc", "control/coin"))

    def run(self, target):
        return self.values(target, target.stream("coin").normal(0, 0.01, len(target.block.runs)))

    def values(self, target, coin):
        return {"gap": coin, "auc": 0.5 + coin, "control/coin": coin}


def best_threshold(target: Any) -> np.ndarray:
    """The largest difference between both shares over all thresholds: above chance, whatever was released."""
    gaps = []
    for run, weights in enumerate(target.weights):
        errors = []
        for sample in (target.train, target.test):
            y, (score,) = sample.scores(run, [weights])
            errors.append(np.abs(y - score))
        thresholds = np.concatenate(errors)
        shares = [(errors[0] <= at).mean() - (errors[1] <= at).mean() for at in thresholds]
        gaps.append(np.abs(shares).max())
    return np.array(gaps)


def valued(**changes: Callable[[Any, np.ndarray], np.ndarray]) -> type:
    """The guess with other values of some metrics, whose names are written without the slash."""

    def values(self, target, coin):
        found = Guess.values(self, target, coin)
        return found | {name.replace("control_", "control/"): value(target, coin) for name, value in changes.items()}

    return subclass(Guess, values=values)


def attack_faults() -> dict[str, Any]:
    return {
        **component_faults(Guess),
        "signature": subclass(Guess, run=lambda self, weights, rows: {}),
        "result": valued(gpa=lambda target, coin: coin),
        "determinism": valued(gap=lambda target, coin: np.random.default_rng().normal(0, 0.01, len(coin))),
        "controls": valued(control_coin=lambda target, coin: target.weights.mean(axis=1)),
        "chance": valued(auc=lambda target, coin: np.ones(len(coin))),
        "cap": valued(gap=lambda target, coin: best_threshold(target)),
    }


# Metrics and papers


def largest_error(rows: Any) -> float:
    return np.abs(rows.y - rows.score).max()


def mean_over_runs(predictions: Any) -> np.ndarray:
    return np.full(predictions.test.runs, predictions.squared_errors.mean())


def metric(**members: Any) -> Metric:
    kept = {"label": "largest error", "meaning": "The largest absolute error.", "better": "lower", "low": 0.0}
    return Metric("wrong", **{"compute_run": largest_error, **kept, **members})


def metric_faults() -> dict[str, Any]:
    return {
        "description": metric(meaning="error"),
        "signature": metric(compute_run=lambda y, prediction: 0.0),
        "finite": metric(compute_run=lambda rows: float("nan")),
        "value range": metric(high=0.5),
        "direction": metric(better="higher"),
        "runs alone": metric(compute_run=None, compute=mean_over_runs),
        "mean predictor": metric(compute_constant=lambda constant: np.zeros(constant.test.runs)),
    }


def paper_faults(folder: Path) -> dict[str, Any]:
    (folder / "torn" / "presets").mkdir(parents=True)
    (folder / "torn" / "presets" / "fig1.yaml").write_text("preset: [")
    (folder / "empty").mkdir()
    return {"files": Paper("wrong", "Wrong 2020", folder / "torn"), "presets": Paper("wrong", "Wrong 2020", folder / "empty")}


FAULTS: dict[str, Callable[[type, Path], dict[str, Any]]] = {
    "mechanism": lambda plain, folder: mechanism_faults(plain),
    "model": lambda plain, folder: model_faults(),
    "dataset": lambda plain, folder: dataset_faults(),
    "attack": lambda plain, folder: attack_faults(),
    "metric": lambda plain, folder: metric_faults(),
    "paper": lambda plain, folder: paper_faults(folder),
}
CHECKS = [(kind, each.name) for kind in OFFERS for each in checks_of_kind(kind)]


@pytest.mark.parametrize(("kind", "name"), CHECKS, ids=[f"{kind} {name}" for kind, name in CHECKS])
def test_exactly_the_check_of_the_planted_fault_fails(kind: str, name: str, plain: type, tmp_path: Path) -> None:
    state = np.random.get_state()
    try:
        findings = check(FAULTS[kind](plain, tmp_path)[name])
    finally:
        np.random.set_state(state)
    assert [failure.check for failure in findings.failures] == [name], "\n".join(findings.lines())
    (failure,) = findings.failures
    assert failure.text.endswith((".", "?")) or ": " in failure.text
    assert failure.advice.endswith(".")
