"""The kit has a fault planted for each of its checks: exactly this check fails, and says what to do."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.stats import laplace as laplace_law

from dpbench import Attack, Column, Dataset, Fit, LeastSquares, Metric, MetricInfo, Model, Paper, Table, option
from dpbench.contracts.hooks import OFFERS
from dpbench.noise import Laplace, laplace
from dpbench.queries import Loss, Polynomial, RowQuery
from dpbench.testing import check
from dpbench.testing.kinds import checks_of_kind

pytestmark = pytest.mark.long


def subclass(base: type, **members: Any) -> type:
    """A component class like another one, with some members of its own."""
    return dataclass(frozen=True)(type("Wrong", (base,), {"name": "wrong", "__doc__": base.__doc__, **members}))


def component_faults(base: type) -> dict[str, type]:
    """The faults that a component of any kind can have."""
    silent = {"__annotations__": {"power": float}, "power": option(1.0)}
    careless = {"__annotations__": {"power": float}, "power": option(1.0, low=0, help="a power")}
    return {
        "declaration": subclass(base, name="Not A Name"),
        "bad options": subclass(base, **careless, __post_init__=lambda self: None),
        "help of options": subclass(base, **silent),
        "docstring": subclass(base, __doc__=f"do something wrong\n\n{(base.__doc__ or '').partition(chr(10))[2]}"),
    }


# Mechanisms


@dataclass(frozen=True)
class RowSum(RowQuery):
    """The sum of the targets, wrongly centred or not."""

    centred: bool = False
    name: str = "targets"
    size: ClassVar[int] = 1

    def contribution(self, rows, run):
        return (rows.y - (rows.y.mean() if self.centred else 0.0))[:, None]


class RememberedRows(RowQuery):
    """The number of rows; it remembers the rows themselves."""

    name = "remembered rows"
    size = 1

    def __init__(self, memory: dict[int, np.ndarray], runs: int) -> None:
        self.memory = memory
        self.state = np.zeros((runs, 1))  # so that it is asked for each run
        self.rows: dict[int, int] = {}

    def contribution(self, rows, run):
        if rows.n > self.rows.get(run, 0):  # it is also asked for parts of the rows, and for others
            self.rows[run] = rows.n
            self.memory[run] = np.linalg.lstsq(rows.x, rows.y, rcond=None)[0]
        return np.ones((rows.n, 1))


class Narrow(Laplace):
    """Laplace noise of half the declared scale."""

    name = "narrow"

    def cdf(self, x, scale):
        return laplace_law.cdf(x, scale=scale)

    def shape(self, standard, scale):
        return 0.5 * super().shape(standard, scale)


@dataclass(frozen=True)
class ClippedSum(RowSum):
    """The sum of the targets, which are clipped where they lie: the rows that others share change."""

    def contribution(self, rows, run):
        numbers = (ctypes.c_double * rows.z.size).from_address(rows.z.ctypes.data)  # past NumPy, which refuses it
        shared = np.ctypeslib.as_array(numbers).reshape(rows.z.shape)
        shared[:, -1] = np.clip(shared[:, -1], -0.9, 0.9)
        return super().contribution(rows, run)


def fitted(self: Any, curator: Any, problem: Any, budget: Any, *, bound: float = 1.0, spent: float = 1.0, law: Any = None) -> Fit:
    """The plain mechanism with another bound, another share of the budget, or another law."""
    objective = problem.polynomial()
    noise = laplace(bound * objective.l1_bound("tight"), spent * budget.epsilon, objective.proof("tight"))
    noise = replace(noise, law=law) if law else noise
    return self.finish(problem, objective.quadratic(curator.release(objective, noise), problem.n))


def fit(**changes: Any) -> Callable[..., Fit]:
    return lambda self, curator, problem, budget: fitted(self, curator, problem, budget, **changes)


def asking(query: RowQuery) -> Callable[..., Fit]:
    """A fit that spends half of its budget on a query whose answer it does not use."""

    def ask(self, curator, problem, budget):
        curator.release(query, laplace(2.0, budget.epsilon / 2, "two targets differ by at most 2"))
        return fitted(self, curator, problem, budget, spent=0.5)

    return ask


def exact_fit(self: Any, curator: Any, problem: Any, budget: Any) -> Fit:
    memory: dict[int, np.ndarray] = {}
    curator.release(RememberedRows(memory, curator.runs), laplace(1.0, budget.epsilon / 2, "a row counts once"))
    weights = fitted(self, curator, problem, budget, spent=0.5).weights
    return Fit.good(np.stack([memory[run] for run in sorted(memory)]) * (1 + 1e-13 * np.tanh(weights)))


def one_row_fit(self: Any, curator: Any, problem: Any, budget: Any) -> Fit:
    return fitted(self, curator, problem, budget, bound=1 / problem.geometry.replaced_rows)


def growing_fit(self: Any, curator: Any, problem: Any, budget: Any) -> Fit:
    return fitted(self, curator, problem, budget, spent=0.05 if 1 < budget.epsilon < 100 else 1.0)


def finishing(change: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Fit]:
    """An end of the plain mechanism with other weights."""
    return lambda self, problem, noisy: Fit.good(change(problem.minimise(problem.regularised(noisy).trimmed())))


def seeding(weights: np.ndarray) -> np.ndarray:
    np.random.seed(1)
    return weights


def few_columns(weights: np.ndarray) -> np.ndarray:
    if weights.shape[1] > 8:
        raise np.linalg.LinAlgError("Singular matrix")
    return weights


def mechanism_faults(plain: type, folder: Path) -> dict[str, Any]:
    only = "it is tried on few tables, which saves time"
    small = subclass(
        plain,
        refuses=lambda self, model, geometry: None if (model.name, geometry.scaling) == ("linear", "box") else only,
        __doc__=plain.__doc__,
    )
    return {
        **component_faults(small),
        "signature": subclass(small, fit=lambda self, x, y: Fit.good(x @ y)),
        "capabilities": subclass(small, needs=frozenset({"polinomial"})),
        "result": subclass(small, finish=finishing(lambda weights: weights * np.nan)),
        "determinism": subclass(small, finish=finishing(lambda weights: weights + 1e-4 * np.random.default_rng().normal())),
        "batch equals alone": subclass(small, finish=finishing(lambda weights: 0 * weights + weights.mean(axis=0))),
        "inputs unchanged": subclass(small, fit=asking(ClippedSum())),
        "global random state": subclass(small, finish=finishing(seeding)),
        "noise falls": subclass(small, fit=growing_fit),
        "limit": subclass(small, finish=finishing(lambda weights: 2 * weights)),
        "every table": subclass(small, finish=finishing(few_columns)),
        "ledger equals budget": subclass(small, fit=fit(spent=0.5)),
        "additive answers": subclass(small, fit=asking(RowSum(centred=True))),
        "noise reaches weights": subclass(small, fit=exact_fit),
        "replay": subclass(small, fit=fit(bound=0.5)),
        "persons": subclass(small, fit=one_row_fit, handles_persons=True),
        "noise and statistics": subclass(small, fit=fit(law=Narrow())),
        "moments alone": subclass(small, fit=asking(RowSum()), moments_alone=True),
    }


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


def model_faults(plain: type, folder: Path) -> dict[str, Any]:
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

    def load(self, generator):
        return wages(generator)


def globally(self: Any, generator: np.random.Generator) -> Table:
    np.random.random()
    return wages(generator)


def dataset_faults(plain: type, folder: Path) -> dict[str, Any]:
    collected = {"load": lambda self, generator: wages(np.random.default_rng(0)), "synthetic": False, "public": True}
    return {
        **component_faults(Wages),
        "signature": subclass(Wages, load=lambda self: wages(np.random.default_rng(0))),
        "table": subclass(Wages, shape=lambda self: (3, 1)),
        "determinism": subclass(Wages, load=globally),
        "synthetic": subclass(Wages, synthetic=False),
        "bounds": subclass(Wages, load=lambda self, generator: wages(generator, high=10_000_000)),
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


def attack_faults(plain: type, folder: Path) -> dict[str, Any]:
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


def metric_faults(plain: type, folder: Path) -> dict[str, Any]:
    return {
        "description": metric(meaning="error"),
        "signature": metric(compute_run=lambda y, prediction: 0.0),
        "finite": metric(compute_run=lambda rows: float("nan")),
        "value range": metric(high=0.5),
        "direction": metric(better="higher"),
        "runs alone": metric(compute_run=None, compute=mean_over_runs),
        "mean predictor": metric(compute_constant=lambda constant: np.zeros(constant.test.runs)),
    }


def paper_faults(plain: type, folder: Path) -> dict[str, Any]:
    (folder / "torn" / "presets").mkdir(parents=True)
    (folder / "torn" / "presets" / "fig1.yaml").write_text("preset: [")
    (folder / "empty").mkdir()
    return {"files": Paper("wrong", "Wrong 2020", folder / "torn"), "presets": Paper("wrong", "Wrong 2020", folder / "empty")}


FAULTS = {
    "mechanism": mechanism_faults,
    "model": model_faults,
    "dataset": dataset_faults,
    "attack": attack_faults,
    "metric": metric_faults,
    "paper": paper_faults,
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
