"""Faulty mechanisms for the tests of the conformance kit, each with one fault, and what faults of all kinds share."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, option
from dpbench.noise import Laplace, laplace
from dpbench.queries import RowQuery


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
        tail = np.exp(-np.abs(x) / scale) / 2
        return np.where(x < 0, tail, 1 - tail)

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


def leaking_fit(self: Any, curator: Any, problem: Any, budget: Any) -> Fit:
    curator.leak("the mean target", "it is shown to the reader", lambda sample: sample.moments.xy[:, 0])
    return fitted(self, curator, problem, budget)


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


def mechanism_faults(plain: type) -> dict[str, Any]:
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
        "ledger within budget": subclass(small, fit=leaking_fit),
        "additive answers": subclass(small, fit=asking(RowSum(centred=True))),
        "noise reaches weights": subclass(small, fit=exact_fit),
        "replay": subclass(small, fit=fit(bound=0.5)),
        "persons": subclass(small, fit=one_row_fit, handles_persons=True),
        "noise and statistics": subclass(small, fit=fit(law=Narrow())),
        "moments alone": subclass(small, fit=asking(RowSum()), moments_alone=True),
    }
