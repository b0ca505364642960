"""A mechanism written for one run is the batched one, run by run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from dpbench.contracts.mechanism import OneRunMechanism
from dpbench.data.blocks import Block
from dpbench.data.scaling import scale
from dpbench.data.splits import Splits
from dpbench.privacy.curator import Curator, Draws
from dpbench.privacy.ledger import Budget, Overspent
from dpbench.privacy.noise import laplace

BUDGET = Budget(0.9, 1e-6, "pure")


@dataclass(frozen=True)
class Twin(OneRunMechanism):
    """fm convention=monomial sensitivity=tight ridge=0 repair=trim, for a single run."""

    name: ClassVar[str] = "twin"
    times: int = 1

    def fit_run(self, curator: Any, problem: Any, budget: Any) -> np.ndarray:
        query = problem.polynomial()
        for _ in range(self.times):
            noise = laplace(query.l1_bound("tight"), budget.epsilon / self.times, query.proof("tight"))
            answer = curator.release(query, noise)
        return np.asarray(problem.regularised(query.quadratic(answer[None], problem.n)).trimmed().minimiser()[0])


@dataclass(frozen=True)
class Uneven(OneRunMechanism):
    """Spends half of its budget on 80 rows, all of it on more."""

    name: ClassVar[str] = "uneven"

    def fit_run(self, curator: Any, problem: Any, budget: Any) -> np.ndarray:
        query = problem.polynomial()
        noise = laplace(query.l1_bound("tight"), budget.epsilon * (0.5 if curator.n == 80 else 1.0), "p")
        return np.asarray(curator.release(query, noise)[: problem.geometry.dimension])


@pytest.fixture
def block(table) -> Block:  # type: ignore[no-untyped-def]
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (121, 4))
    rows = scale(table(x, np.tanh(x.sum(axis=1))), "box", True, "real")
    splits = Splits(repeats=3, folds=3)
    return Block(lambda r: rows, lambda r: splits.assign(rows.n, rows.n, 0, "t", r), range(3), splits.parts, splits.tests)


def curator_of(block: Block) -> Curator:
    return Curator(block.train, Draws(0, "t", block.runs), BUDGET)


@pytest.mark.parametrize("model", ["linear", "ridge"])
def test_a_one_run_twin_gives_the_same_bits_and_the_same_ledger(model, block, make) -> None:  # type: ignore[no-untyped-def]
    batched, single = curator_of(block), curator_of(block)
    fm = make("mechanism", "fm", sensitivity="tight", ridge=0.0)
    expected = fm.fit(batched, make("model", model).prepare(batched), BUDGET)
    found = Twin().fit(single, make("model", model).prepare(single), BUDGET)
    np.testing.assert_array_equal(found.weights, expected.weights)
    assert single.ledger.as_dict() == batched.ledger.as_dict()
    assert single.ledger.total.epsilon == pytest.approx(BUDGET.epsilon)


def test_repeated_calls_of_one_run_get_noise_of_their_own(block, make) -> None:  # type: ignore[no-untyped-def]
    one, two = curator_of(block), curator_of(block)
    first = Twin(times=1).fit(one, make("model", "linear").prepare(one), BUDGET)
    second = Twin(times=2).fit(two, make("model", "linear").prepare(two), BUDGET)
    assert (first.weights != second.weights).any(axis=1).all()
    assert [entry.cost.epsilon for entry in two.ledger.entries] == [0.45, 0.45]


def test_the_merged_ledger_is_the_costliest_run_s(block, make) -> None:  # type: ignore[no-untyped-def]
    assert block.train.n[0] == 80
    assert 81 in block.train.n
    curator = curator_of(block)
    Uneven().fit(curator, make("model", "linear").prepare(curator), BUDGET)
    assert curator.ledger.total.epsilon == pytest.approx(BUDGET.epsilon)


def test_what_was_paid_before_the_fit_stays_in_the_ledger(block, make) -> None:  # type: ignore[no-untyped-def]
    """A model that chose its penalty on the exact rows is not forgotten because the mechanism works run by run."""
    curator = curator_of(block)
    problem = make("model", "linear").prepare(curator)
    curator.reveal("penalty", lambda sample: None, "chosen by cross-validation")
    Twin().fit(curator, problem, BUDGET)
    assert [entry.query for entry in curator.ledger.entries] == ["penalty", "objective"]
    assert not curator.ledger.sound
    assert not curator.ledger.total.private


def test_what_was_paid_before_the_fit_counts_against_the_budget(block, make) -> None:  # type: ignore[no-untyped-def]
    curator = curator_of(block)
    problem = make("model", "linear").prepare(curator)
    query = problem.polynomial()
    curator.release(query, laplace(query.l1_bound("tight"), BUDGET.epsilon / 2, "p"))
    with pytest.raises(Overspent):
        Twin().fit(curator, problem, BUDGET)


def test_the_noise_of_a_call_before_the_fit_is_not_used_again(block, make) -> None:  # type: ignore[no-untyped-def]
    """Two answers to one query with the same standard noise would cancel: the second call has the second stream."""
    half = BUDGET.share(0.5)
    answers = []
    for twin in (False, True):
        curator = curator_of(block)
        problem = make("model", "linear").prepare(curator)
        query = problem.polynomial()
        noise = laplace(query.l1_bound("tight"), half.epsilon, "p")
        curator.release(query, noise)
        if twin:
            answers.append(Twin().fit(curator, problem, half).weights)
        else:
            fm = make("mechanism", "fm", sensitivity="tight", ridge=0.0)
            answers.append(fm.fit(curator, problem, half).weights)
    np.testing.assert_array_equal(answers[0], answers[1])
