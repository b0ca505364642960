"""Replays see sensitivities that are too small, and calls, weights and ledgers that depend on the rows. They are not random."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest

from dpbench.accounting.costs import Pure
from dpbench.audit import replay_level
from dpbench.audit.neighbours import common_rows
from dpbench.audit.procedure import audit
from dpbench.audit.replay_level import MAX_CALLS_AT_SIZE, audit_replays, replay
from dpbench.audit.subject import AuditSettings, AuditSubject, example_geometry
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism
from dpbench.data.samples import WholeSample
from dpbench.inference.known_covariance import KnownCovariance
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import laplace
from dpbench.privacy.queries.query import RowQuery
from dpbench.privacy.replay import Violation

MODELS = ("linear", "logistic", "robust")
"""Models on which every option is replayed. The others differ only in what they compute from the answers."""


def test_no_neighbours_move_an_answer_further_than_declared(sound_case, cases, make, audited) -> None:
    name, options = sound_case
    rows, one_column = cases.rows_for(options)
    mechanism = make("mechanism", name, **options)
    shapes = [(1, 0)] if one_column else [(2, 3), (1, 0)]
    outcomes = [
        audited(mechanism, model, (*shape, scaling), level="replay", rows=rows)
        for model, shape, scaling in product(MODELS, shapes, ("box", "ball"))
    ]
    outcomes = [outcome for outcome in outcomes if outcome is not None]
    assert outcomes
    for outcome in outcomes:
        assert outcome.passed, outcome.violations
        assert 0 < outcome.replays.ratio <= 1 + 1e-9


@pytest.mark.parametrize("model", ["ridge", "lasso", "elastic_net"])
def test_other_models_use_nothing_but_the_answers(model, cases, make, audited) -> None:
    for name, options in dict(reversed(cases.SOUND)).items():
        if name != "cdp_irls":
            outcome = audited(make("mechanism", name, **options), model, (2,), level="replay")
            assert outcome is None or outcome.passed, (name, outcome.violations)  # None: it does not fit the model


def test_a_tight_bound_is_met_at_the_worst_neighbours(make, audited) -> None:
    """Equality is what makes the replay a test: a bound a thousandth smaller would fail."""
    tight = {"sensitivity": "tight"}
    for name, options, model, shape in [
        ("fm", tight, "linear", (2, 3)),
        ("fm", tight, "logistic", (2,)),
        ("cdp_irls", {}, "linear", (2, 3, "ball")),
        ("privr", {}, "linear", (2, 3)),
        ("dpme", {}, "linear", (2, 3)),
        ("fp", {}, "robust", (2, 3)),
        ("cdp_irls", {}, "linear", (2, 3)),
    ]:
        outcome = audited(make("mechanism", name, **options), model, shape, level="replay")
        assert outcome.replays.ratio == pytest.approx(1.0, rel=1e-9), name


def test_a_quarter_of_the_sensitivity_is_caught(faults, audited) -> None:
    for model in ("linear", "logistic"):
        outcome = audited(faults.QuarterOfTheSensitivity(), model, (2,), level="replay")
        assert any("times its declared L1 sensitivity" in line for line in outcome.violations)
        assert outcome.violations[0].split("moved by ")[1].startswith("4 times")


def test_a_diagonal_without_noise_is_caught(faults, audited) -> None:
    outcome = audited(faults.ExactDiagonal(), level="replay")
    assert any("times its declared L1 sensitivity" in line for line in outcome.violations)


@pytest.mark.parametrize(
    ("dependence", "words"),
    [
        ("more", "control flow"),
        ("scale", "control flow"),
        ("crash", "ends with ArithmeticError"),
        ("weights", "weights are others"),
    ],
)
def test_what_depends_on_the_rows_and_not_on_the_answers_is_caught(dependence, words, faults, audited) -> None:
    outcome = audited(faults.Peeking(dependence), level="replay")
    assert any(words in line for line in outcome.violations)


def test_a_run_among_many_that_asks_more_is_caught(faults, audited) -> None:
    outcome = audited(faults.OneRunPeeking(), level="replay")
    assert any("control flow" in line for line in outcome.violations)


def test_a_ledger_without_a_line_is_caught(faults, audited) -> None:
    outcome = audited(faults.HiddenSpending(), level="replay")
    assert outcome.violations == ("The ledger is not that of the calls that were made.",)


def test_the_worst_pair_comes_first_and_its_move_is_the_reported_one(make) -> None:
    """2 + 15 + 15 fixed pairs at D = 3 and 16 random ones, and the 3 worst of the one answer."""
    model = make("model", "linear")
    subject = AuditSubject(
        make("mechanism", "fm", sensitivity="tight"),
        model,
        Budget(1.0, 1e-6, "pure"),
        example_geometry(model, 2),
        AuditSettings(),
    )
    replays, pairs = audit_replays(subject, subject.tape_fit().tape)
    assert pairs.origin[:3] == ("local search",) * 3
    assert pairs.origin[3] == "ones to zeros"
    assert (replays.pairs, replays.calls, replays.origin) == (len(pairs.origin), 1, "local search")
    assert replays.violation == ""
    first, second = pairs.take(np.array([0])).tables(common_rows(subject.geometry, subject.settings.rows - 1))
    _, (ratio,) = replay(subject, WholeSample(*first), WholeSample(*second))
    assert ratio == pytest.approx(replays.ratio, rel=1e-9)


def test_the_time_of_an_audit_grows_with_the_steps_and_not_with_their_square(make, monkeypatch) -> None:
    """Tables that are searched for one answer are replayed through all of them: 3 of 30 answers are enough."""
    searched = []
    monkeypatch.setattr(replay_level, "worst_tables", lambda geometry, answer, *_: searched.append(answer) or [])
    model = make("model", "robust")
    mechanism = make("mechanism", "cdp_irls", iterations=30)
    subject = AuditSubject(mechanism, model, Budget(1.0, 1e-6, "zcdp"), example_geometry(model, 1), AuditSettings())
    tape = subject.tape_fit().tape
    audit_replays(subject, tape)
    assert searched == [tape[0], tape[14], tape[29]]


class Confiding(Mechanism):
    """Its weights do not depend on the rows; its status, a note or an interval does."""

    name = "confiding"

    def __init__(self, where: str, opened) -> None:
        self.where = where
        self.opened = opened

    def fit(self, curator, problem, budget) -> Fit:
        query = problem.polynomial()
        curator.release(query, laplace(query.l1_bound("tight"), budget.epsilon, "tight"))
        large = self.opened(curator)._sample.moments.xy[:, 0] > 0
        fit = Fit.good(np.zeros((curator.runs, curator.geometry.dimension)))
        if self.where == "status":
            return replace(fit, status=np.where(large, "ok", "repaired"))
        if self.where == "health":
            return replace(fit, health={"large": large})
        if self.where == "intervals":
            return fit.knowing(KnownCovariance(large[:, None, None] * np.eye(curator.geometry.dimension)))
        return replace(fit, notes={"large": float(large.sum())})


@pytest.mark.parametrize("where", ["status", "health", "notes", "intervals"])
def test_a_status_an_event_a_note_or_an_interval_that_depends_on_the_rows_is_caught(where, make, faults) -> None:
    model = make("model", "linear")
    budget, geometry = Budget(1.0, 1e-6, "pure"), example_geometry(model, 1)
    outcome = audit(AuditSubject(Confiding(where, faults.opened), model, budget, geometry, AuditSettings(level="replay")))
    assert any("depend on more than the answers" in line for line in outcome.violations)


@dataclass(frozen=True)
class Asking(Mechanism):
    """Asks one query again and again, and returns the mean of the answers."""

    name: ClassVar[str] = "asking"
    guarantee: ClassVar[str] = "ε-DP, it says"
    query: Any = None
    bound: float = 2.0
    calls: int = 1

    def fit(self, curator, problem, budget) -> Fit:
        noise = laplace(self.bound, budget.epsilon / self.calls, "it says")
        answers = [curator.release(self.query, noise) for _ in range(self.calls)]
        return Fit.good(np.mean(answers, axis=0)[:, :1] * np.ones(curator.geometry.dimension))


@dataclass(frozen=True)
class Target(RowQuery):
    """The sum of the target, at most 1 in size."""

    name: str = "target"
    size: ClassVar[int] = 1

    def contribution(self, rows, run) -> np.ndarray:
        return rows.y[:, None]


@dataclass(frozen=True)
class SizeCheat(Asking):
    """Declares the sensitivity of a mean as that of a sum, where no small table shows it."""

    def fit(self, curator, problem, budget) -> Fit:
        bound = 2.0 if curator.n.max() <= 60 else 0.02
        return Asking(self.query, bound).fit(curator, problem, budget)


class Sometimes(RowQuery):
    """Not a number for one kind of row."""

    name = "sometimes"
    size = 1

    def contribution(self, rows, run) -> np.ndarray:
        return np.where(rows.y == -1, np.nan, rows.y)[:, None]


@pytest.fixture
def audit_of(make):
    def run(mechanism: Any, **more: Any) -> Any:
        model = make("model", "linear")
        budget, geometry = Budget(1.0, 1e-6, "pure"), example_geometry(model, 1)
        return audit(AuditSubject(mechanism, model, budget, geometry, AuditSettings(level="replay"), **more))

    return run


def test_a_mechanism_that_cheats_on_larger_tables_is_caught_at_the_size_class_of_the_cell(audit_of) -> None:
    assert audit_of(SizeCheat(Target())).passed, "no small table shows it"
    outcome = audit_of(SizeCheat(Target()), size_class=1_000)
    assert any("times its declared L1 sensitivity" in line for line in outcome.violations)


def test_the_rows_of_the_largest_replay_are_reported(audit_of) -> None:
    assert audit_of(Asking(Target())).replays.n == 8
    assert audit_of(Asking(Target()), size_class=1_000).replays.n == 1_000


def test_a_fit_of_many_calls_is_replayed_up_to_a_number_of_calls_at_its_size_class(audit_of) -> None:
    assert audit_of(Asking(Target(), calls=2 * MAX_CALLS_AT_SIZE), size_class=100).passed


def test_what_is_not_a_number_on_some_tables_is_caught(audit_of) -> None:
    assert any("ends with ValueError" in line for line in audit_of(Asking(Sometimes())).violations)


def test_no_number_in_an_answer_passes_for_an_equal_one(make, geometry, rows, curate, replay_of) -> None:
    """Noise without a proof may return anything; an answer that is not a number cannot be compared."""
    table = rows(geometry(1), np.zeros((3, 1)), np.zeros(3))
    curator = curate(table)
    curator.unproven(Target(), lambda exact, generator: exact * np.nan, Pure(0.5), "a test")
    with pytest.raises(Violation, match="not a number"):
        replay_of(curator, table).unproven(Target(), lambda exact, generator: exact, Pure(0.5), "a test")
