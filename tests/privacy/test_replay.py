"""A replay passes sound calls, and catches planted faults."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest

from dpbench.accounting.costs import Pure
from dpbench.contracts.mechanism import Fit, Mechanism, OneRunMechanism
from dpbench.data.bins import Binning
from dpbench.data.scaling import Rows
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Laplace, Noise, geometric, laplace
from dpbench.privacy.queries.histogram import PROOF, Histogram
from dpbench.privacy.queries.polynomial import Polynomial
from dpbench.privacy.replay import Violation

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
        noise = laplace(query.l1_bound("tight") / self.divisor, budget.epsilon, "tight, except for the divisor")
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


def pair(geometry: Any, rows: Any, D: int, intercept: bool = False) -> tuple[Rows, Rows]:
    """Two tables that differ in one row, the attaining pair of the monomials: 2 rows of zeros and (1, …, 1)."""
    g = geometry(D, intercept=intercept)
    x, y = np.vstack([np.zeros((2, D)), np.ones(D)]), np.array([0.5, 0, 1.0])
    other, target = x.copy(), y.copy()
    other[2], target[2] = (0.0 if intercept else 1 / D), -1.0
    return rows(g, x, y), rows(g, other, target)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("D", [1, 2, 4])
def test_tight_fm_passes_with_equality_at_the_attaining_pair(D, intercept, make, geometry, rows, replayed) -> None:
    for convention, repair in product(["monomial", "code"], ["trim", "floor", "none"]):
        mechanism = make("mechanism", "fm", sensitivity="tight", convention=convention, repair=repair)
        first, second, replay = replayed(mechanism, *pair(geometry, rows, D, intercept))
        assert replay.ratios == [pytest.approx(1.0, rel=1e-12)]
        np.testing.assert_array_equal(first.weights, second.weights)


@pytest.mark.parametrize("fault", [Quarter(), OneRunQuarter()], ids=lambda fault: fault.name)
def test_too_small_a_sensitivity_is_caught(fault, geometry, rows, replayed) -> None:
    with pytest.raises(Violation, match=r"moved by 4 times its declared L1 sensitivity"):
        replayed(fault, *pair(geometry, rows, 4))


@pytest.mark.parametrize("what", ["budget", "sensitivity", "price", "more", "fewer", "matrix", "code"])
def test_control_flow_that_depends_on_the_rows_is_caught(what, geometry, rows, replayed) -> None:
    """Also another query under the same name: the upper triangle has as many numbers as the monomials, the program has more."""
    g = geometry(2)
    large, small = rows(g, np.ones((3, 2)), [1, 1, 1]), rows(g, [[1, 1], [1, 1], [0, 1]], [1, 1, 1])
    with pytest.raises(Violation, match="control flow"):
        replayed(Peeking(what), large, small)


def test_a_fit_without_an_attribute_is_replayed_on_what_is_left(geometry, rows, replayed) -> None:
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


def test_another_query_is_caught(geometry, rows, replayed) -> None:
    g = geometry(1)
    large, small = rows(g, [[1], [1], [1]], [1, 1, 1]), rows(g, [[1], [1], [0]], [1, 1, 1])
    with pytest.raises(Violation, match="'large' became 'small'"):
        replayed(Renamed(), large, small)


def test_a_mechanism_of_one_run_is_replayed_like_any_other(geometry, rows, make, curate) -> None:
    """What it asks is on the tape, run by run."""
    g = geometry(2)
    curator = curate(rows(g, np.zeros((3, 2)), np.zeros(3)), epsilon=BUDGET.epsilon)
    problem = make("model", "linear").prepare(curator)
    OneRunQuarter().fit(curator, problem, BUDGET)
    assert [answer.query for answer in curator.tape] == ["objective"]


# -- histograms ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def few(geometry, rows):
    """Seven rows in 4 x 4 cells (one feature, the target): 3 in cell 0, 2 in cell 5, 1 each in 6 and 15."""
    g = geometry(1)
    x = np.array([-0.9, -0.9, -0.9, -0.3, -0.3, -0.3, 0.9])
    y = np.array([-0.9, -0.9, -0.8, -0.3, -0.4, 0.3, 0.9])
    return rows(g, x[:, None], y), Histogram(Binning(g, 4))


def scanned(curator, query, noise, step=16, run=0):
    return np.concatenate([counts for _, counts in curator.scan(query, noise, step).blocks(run)])


def neighbours(few):
    """The same table with one row in another cell: two counts move by one."""
    rows, query = few
    z = rows.z.copy()
    z[0, 1:] = 0.9, -0.9
    return rows, replace(rows, z=z), query


def test_a_replayed_scan_is_the_first_one_and_its_sensitivity_is_met(few, curate, replay_of) -> None:
    rows, neighbour, query = neighbours(few)
    curator, noise = curate(rows), laplace(2, 1.0, PROOF)
    first = scanned(curator, query, noise, 5)
    replay = replay_of(curator, neighbour)
    np.testing.assert_array_equal(scanned(replay, query, noise, 5), first)
    replay.finish()
    assert replay.ratios == [pytest.approx(1.0, rel=1e-12)]


def test_a_replayed_summary_is_the_first_one_and_its_sensitivity_is_met(few, curate, replay_of) -> None:
    rows, neighbour, query = neighbours(few)
    curator, noise = curate(rows), geometric(2, 1.0, PROOF)
    first = next(curator.sparse(query, noise, 1, 5))
    replay = replay_of(curator, neighbour)
    again = next(replay.sparse(query, noise, 1, 5))
    np.testing.assert_array_equal(again.index, first.index)
    np.testing.assert_array_equal(again.counts, first.counts)
    replay.finish()
    assert replay.ratios == [pytest.approx(1.0, rel=1e-12)]


def test_a_histogram_noised_for_one_bin_is_caught(few, curate, replay_of) -> None:
    """The constant for adding or removing a row, half of what replacing one needs."""
    rows, neighbour, query = neighbours(few)
    scan, sparse = curate(rows), curate(rows)
    scanned(scan, query, laplace(1, 1.0, "wrong"))
    with pytest.raises(Violation, match="moved by 2 times its declared L1 sensitivity"):
        replay_of(scan, neighbour).scan(query, laplace(1, 1.0, "wrong"), 16)
    sparse.sparse(query, geometric(1, 1.0, "wrong"), 1, 5)
    with pytest.raises(Violation, match="moved by 2 times its declared L1 sensitivity"):
        replay_of(sparse, neighbour).sparse(query, geometric(1, 1.0, "wrong"), 1, 5)


def test_the_sensitivity_of_a_domain_too_large_to_enumerate_is_audited_too(geometry, rows, curate, replay_of) -> None:
    g = geometry(60)
    generator = np.random.default_rng(0)
    x, y = generator.uniform(-1, 1, (30, 60)), generator.uniform(-1, 1, 30)
    query, noise = Histogram(Binning(g, 8)), geometric(2, 1.0, PROOF)
    curator = curate(rows(g, x, y))
    curator.sparse(query, noise, 250, 50)
    x[0] *= -1
    replay = replay_of(curator, rows(g, x, y))
    replay.sparse(query, noise, 250, 50)
    assert replay.ratios == [pytest.approx(1.0, rel=1e-12)]


@pytest.mark.parametrize("change", ["threshold", "size", "step", "grid", "epsilon", "call"])
def test_another_call_on_the_neighbour_is_control_flow(change, few, curate, replay_of) -> None:
    rows, neighbour, query = neighbours(few)
    curator = curate(rows, 5.0)
    other = Histogram(Binning(rows.geometry, 5)) if change == "grid" else query
    noise = geometric(2, 1.1 if change == "epsilon" else 1.0, "p")
    threshold, size = 3 if change == "threshold" else 2, 6 if change == "size" else 5
    if change in ("step", "call"):
        curator.scan(query, laplace(2, 1.0, "p"), 16)
    else:
        curator.sparse(query, geometric(2, 1.0, "p"), 2, 5)
    replay = replay_of(curator, neighbour)
    asked = replay.scan if change == "step" else replay.sparse
    arguments = (query, laplace(2, 1.0, "p"), 8) if change == "step" else (other, noise, threshold, size)
    with pytest.raises(Violation, match="control flow"):
        asked(*arguments)


# -- what a replay compares ------------------------------------------------------------------------------------------------


@pytest.fixture
def unit(geometry, rows):
    """Two tables of one column without an intercept, whose second moment differs by a factor."""
    return lambda factor: (rows(geometry(1), [[1.0], [0.0]], [0.0, 0.0]), rows(geometry(1), [[factor**0.5], [0.0]], [0.0, 0.0]))


@pytest.mark.parametrize(("excess", "passes"), [(1e-12, True), (1e-6, False)])
def test_an_answer_may_exceed_its_bound_by_rounding_alone(excess, passes, unit, make, curate, replay_of) -> None:
    first, second = unit(0.5)
    curator = curate(first)
    query = make("model", "linear", intercept=False).prepare(curator).polynomial()
    noise = laplace(0.5 / (1 + excess), 1.0, "p")
    curator.release(query, noise)
    replay = replay_of(curator, second)
    if passes:
        replay.release(query, noise)
        assert replay.ratios == [pytest.approx(1.0, rel=1e-9)]
    else:
        with pytest.raises(Violation, match="moved by"):
            replay.release(query, noise)


@pytest.mark.parametrize("change", ["law", "bound", "scale", "proof"])
def test_the_noise_must_be_the_same_but_its_proof_may_have_other_words(change, unit, make, curate, replay_of) -> None:
    """A bound alone may change while the price stays the same: an author's law may have any price."""

    class Flat(Laplace):
        """A law whose price does not depend on the bound."""

        name = "flat"

        def cost(self, bound: float) -> Pure:
            return Pure(0.1)

    class Other(Flat):
        """The same under another name."""

        name = "other"

    first, _ = unit(1.0)
    curator = curate(first)
    query = make("model", "linear", intercept=False).prepare(curator).polynomial()
    noise = Noise(Flat(), np.array([20.0]), 0.1, "p")
    curator.release(query, noise)
    changes = {"law": {"law": Other()}, "bound": {"bound": 0.2}, "scale": {"scale": np.array([[21.0]])}, "proof": {"proof": "q"}}
    replay, other = replay_of(curator, first), replace(noise, **changes[change])
    if change == "proof":
        replay.release(query, other)
    else:
        with pytest.raises(Violation, match="noise of 'objective' changed"):
            replay.release(query, other)


@dataclass(frozen=True)
class Once(OneRunMechanism):
    """Asks twice in each run; with ``skip`` the second call depends on the rows."""

    name: ClassVar[str] = "once"
    guarantee: ClassVar[str] = "ε-DP"
    skip: bool = False

    def fit_run(self, curator: Any, problem: Any, budget: Any) -> np.ndarray:
        query = problem.polynomial()
        large = curator.leak("peek", "a fault", lambda sample: sample.moments.xx[0, 0, 0] > 0.5)
        for _ in range(1 if self.skip and not large else 2):
            answer = curator.release(query, laplace(2000.0, budget.epsilon / 2, "loose"))
        return np.asarray(answer[:1])


@pytest.mark.parametrize("skip", [False, True])
def test_calls_of_single_runs_are_taken_from_the_tape_and_what_is_left_out_is_noticed(skip, unit, replayed) -> None:
    first, second = unit(0.25)
    if skip:
        with pytest.raises(Violation, match="'objective' was not asked"):
            replayed(Once(skip=True), first, second)
    else:
        _, _, replay = replayed(Once(), first, second)
        assert len(replay.ratios) == 2
        assert [answer.run for answer in replay.tape] == [0, 0]


def test_answers_to_all_runs_are_left_on_the_tape_when_single_runs_are_over(unit, make, curate, replay_of) -> None:
    """A call after the loop over runs finds its answer; one that is not made again is noticed."""
    first, second = unit(0.9)
    curator = curate(first)
    query = make("model", "linear", intercept=False).prepare(curator).polynomial()
    noise = laplace(1.0, 0.3, "p")

    def ask(asked: Any) -> None:
        asked.for_run(0).release(query, noise)

    ask(curator)
    answer = curator.release(query, noise)
    replay = replay_of(curator, second)
    ask(replay)
    with pytest.raises(Violation, match="was not asked"):
        replay.finish()
    np.testing.assert_array_equal(replay.release(query, noise), answer)
    replay.finish()
