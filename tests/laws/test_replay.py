"""A replay passes sound mechanisms at the worst neighbours and catches planted faults."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest

from dpbench.contracts.mechanism import Fit, Mechanism, OneRunMechanism
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.curator import Draws
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import laplace
from dpbench.privacy.polynomial import Polynomial
from dpbench.privacy.replay import ReplayCurator, Violation

BUDGET = Budget(1.3, 1e-6, "pure")


@dataclass(frozen=True)
class Quarter(Mechanism):
    """The planted fault: a quarter of the sensitivity."""

    name: ClassVar[str] = "quarter"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = problem.polynomial()
        noise = laplace(query.l1_bound("tight") / 4, budget.epsilon, "wrong")
        return Fit.good(query.quadratic(curator.release(query, noise), curator.n).trimmed().minimiser())


@dataclass(frozen=True)
class OneRunQuarter(OneRunMechanism):
    """The same fault, written for a single run."""

    name: ClassVar[str] = "one_run_quarter"

    def fit_run(self, curator: Any, problem: Any, budget: Any) -> np.ndarray:
        query = problem.polynomial()
        noise = laplace(query.l1_bound("tight") / 4, budget.epsilon, "wrong")
        return np.asarray(query.quadratic(curator.release(query, noise), np.array(curator.n)).trimmed().minimiser())


@dataclass(frozen=True)
class Narrow(Mechanism):
    """Fits without the first attribute; ``divisor`` plants the fault."""

    name: ClassVar[str] = "narrow"
    divisor: float = 1.0

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        narrow = curator.without(["x0"])
        query = Polynomial(problem.loss, narrow.geometry)
        noise = laplace(query.l1_bound("tight") / self.divisor, budget.epsilon, "tight, but for the divisor")
        return Fit.good(query.quadratic(narrow.release(query, noise), narrow.n).trimmed().minimiser())


@dataclass(frozen=True)
class Peeking(Mechanism):
    """The planted fault: the number, the scale or the name of the queries depends on the exact rows."""

    name: ClassVar[str] = "peeking"
    what: str = "budget"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        large = curator.reveal("peek", lambda sample: sample.moments.xy[0, 0] > 2.5, "a fault")
        query = problem.polynomial(self.what if self.what in ("matrix", "code") and large else "monomial")
        sensitivity, share = 2000.0, 0.4
        if large and self.what in ("sensitivity", "price"):
            sensitivity /= 2
        if large and self.what in ("budget", "price"):
            share /= 2  # with both, the noise is the same one, and only what is paid differs
        noise = laplace(sensitivity, budget.epsilon * share, "loose")
        asked = 2 if (self.what == "more" and not large) or (self.what == "fewer" and large) else 1
        for _ in range(asked):
            answer = curator.release(query, noise)
        return Fit.good(query.quadratic(answer, curator.n).trimmed().minimiser())


@dataclass(frozen=True)
class Renamed(Mechanism):
    """The planted fault: another query under the name of the first one's place."""

    name: ClassVar[str] = "renamed"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        large = curator.reveal("peek", lambda sample: sample.moments.xy[0, 0] > 2.5, "a fault")
        query = problem.polynomial()
        object.__setattr__(query, "name", "large" if large else "small")
        answer = curator.release(query, laplace(2000.0, budget.epsilon, "loose"))
        return Fit.good(query.quadratic(answer, curator.n).trimmed().minimiser())


@pytest.fixture
def replayed(make, curate):  # type: ignore[no-untyped-def]
    """The mechanism on some rows, then on their neighbour with the first answers: both fits and the replay."""

    def both(mechanism: Any, rows: Rows, neighbour: Rows, model: str = "linear") -> tuple[Fit, Fit, ReplayCurator]:
        curator = curate(rows, epsilon=BUDGET.epsilon)
        problem = make("model", model, intercept=rows.geometry.intercept).prepare(curator)
        first = mechanism.fit(curator, problem, BUDGET)
        replay = ReplayCurator(WholeSample(neighbour), Draws(0, "test", [(0, 0)]), BUDGET, curator.tape)
        second = mechanism.fit(replay, make("model", model, intercept=rows.geometry.intercept).prepare(replay), BUDGET)
        replay.finish()
        return first, second, replay

    return both


def pair(geometry: Any, rows: Any, D: int, intercept: bool = False) -> tuple[Rows, Rows]:
    """Two tables that differ in one row, the attaining pair of the monomials: 2 rows of zeros and (1, …, 1)."""
    g = geometry(D, intercept=intercept)
    x, y = np.vstack([np.zeros((2, D)), np.ones(D)]), np.array([0.5, 0, 1.0])
    other, target = x.copy(), y.copy()
    other[2], target[2] = (0.0 if intercept else 1 / D), -1.0
    return rows(g, x, y), rows(g, other, target)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("D", [1, 2, 4])
def test_tight_fm_passes_with_equality_at_the_attaining_pair(D, intercept, make, geometry, rows, replayed) -> None:  # type: ignore[no-untyped-def]
    for convention, repair in product(["monomial", "code"], ["trim", "floor", "none"]):
        mechanism = make("mechanism", "fm", sensitivity="tight", convention=convention, repair=repair)
        first, second, replay = replayed(mechanism, *pair(geometry, rows, D, intercept))
        assert replay.ratios == [pytest.approx(1.0, rel=1e-12)]
        np.testing.assert_array_equal(first.weights, second.weights)


@pytest.mark.parametrize("scaling", ["box", "ball"])
@pytest.mark.parametrize("model", ["linear", "ridge"])
def test_every_mechanism_passes_at_adversarial_neighbours(scaling, model, make, geometry, adversary, replayed) -> None:  # type: ignore[no-untyped-def]
    g = geometry(3, (2,), True, scaling, constant=1.0 if scaling == "box" else 5**-0.5)
    start = adversary.neighbours(g, np.random.default_rng(0)).rows(30)
    problem = make("model", "linear").prepare(type("Public", (), {"geometry": g, "n": np.array([30.0])})())
    chosen = [
        ("fm", {"convention": c, "sensitivity": s})
        for c, s in product(["monomial", "matrix", "code"], ["paper", "code", "tight"])
    ]
    chosen += [("fm", {"until_bounded": True, "sensitivity": "tight"})]
    chosen += [("dpba", {"alpha": alpha}) for alpha in ("paper", "opt", 0.6)]
    query = problem.polynomial()
    first, second = adversary.hostile(query)
    for at in np.argsort(adversary.moved(query, first, second))[-3:]:
        tables = []
        for row in (first.z[at], second.z[at]):
            z = start.z.copy()
            z[-1] = row
            tables.append(Rows(z, g))
        for name, options in chosen:
            before, after, replay = replayed(make("mechanism", name, **options), *tables, model)
            assert replay.ratios
            assert max(replay.ratios) <= 1 + 1e-12
            np.testing.assert_array_equal(before.weights, after.weights)


@pytest.mark.parametrize("fault", [Quarter(), OneRunQuarter()], ids=lambda fault: fault.name)
def test_too_small_a_sensitivity_is_caught(fault, geometry, rows, replayed) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Violation, match=r"moved by 4 times its declared L1 sensitivity"):
        replayed(fault, *pair(geometry, rows, 4))


@pytest.mark.parametrize("what", ["budget", "sensitivity", "price", "more", "fewer", "matrix", "code"])
def test_control_flow_that_depends_on_the_rows_is_caught(what, geometry, rows, replayed) -> None:  # type: ignore[no-untyped-def]
    """Also another query under the same name: the upper triangle has as many numbers as the monomials, the program has more."""
    g = geometry(2)
    large, small = rows(g, np.ones((3, 2)), [1, 1, 1]), rows(g, [[1, 1], [1, 1], [0, 1]], [1, 1, 1])
    with pytest.raises(Violation, match="control flow"):
        replayed(Peeking(what), large, small)


def test_a_fit_without_an_attribute_is_replayed_on_what_is_left(geometry, rows, replayed) -> None:  # type: ignore[no-untyped-def]
    """At the pair that attains the bound of the 3 columns left: equality, and a quarter of the bound is caught."""
    g = geometry(4)
    x, y = np.vstack([np.zeros((2, 4)), np.ones(4)]), np.array([0.5, 0, 1.0])
    other, target = x.copy(), y.copy()
    other[2], target[2] = 1 / 3, -1.0
    first, second, replay = replayed(Narrow(), rows(g, x, y), rows(g, other, target))
    assert replay.ratios == [pytest.approx(1.0, rel=1e-12)]
    np.testing.assert_array_equal(first.weights, second.weights)
    with pytest.raises(Violation, match=r"moved by 4 times its declared L1 sensitivity"):
        replayed(Narrow(4.0), rows(g, x, y), rows(g, other, target))


def test_another_query_is_caught(geometry, rows, replayed) -> None:  # type: ignore[no-untyped-def]
    g = geometry(1)
    large, small = rows(g, [[1], [1], [1]], [1, 1, 1]), rows(g, [[1], [1], [0]], [1, 1, 1])
    with pytest.raises(Violation, match="'large' became 'small'"):
        replayed(Renamed(), large, small)


def test_a_mechanism_of_one_run_is_replayed_as_any_other(geometry, rows, make, curate) -> None:  # type: ignore[no-untyped-def]
    """What it asks is on the tape, run by run."""
    g = geometry(2)
    curator = curate(rows(g, np.zeros((3, 2)), np.zeros(3)), epsilon=BUDGET.epsilon)
    problem = make("model", "linear").prepare(curator)
    OneRunQuarter().fit(curator, problem, BUDGET)
    assert [answer.query for answer in curator.tape] == ["objective"]
