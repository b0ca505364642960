"""Each law about a mechanism's claim is broken by a mechanism that is wrong on purpose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from dpbench import Fit
from dpbench.noise import laplace
from dpbench.privacy.ledger import Ledger
from dpbench.queries import RowQuery
from dpbench.testing import mechanisms
from dpbench.testing import privacy_claims as checks


def wrong(plain: type, **members: Any) -> type:
    """The plain mechanism with other members."""
    return dataclass(frozen=True)(type("Wrong", (plain,), {"name": "wrong", "__doc__": "Be wrong.", **members}))


def scaled(factor: float, spent: float = 1.0) -> Any:
    """A fit whose sensitivity is multiplied by a factor, and which spends a share of its budget."""

    def fit(self, curator, problem, budget):
        objective = problem.polynomial()
        noise = laplace(factor * objective.l1_bound("tight"), spent * budget.epsilon, "trust me")
        return self.finish(problem, objective.quadratic(curator.release(objective, noise), problem.n))

    return fit


@dataclass(frozen=True)
class OwnQuery(RowQuery):
    """The target of each row, wrongly centred or with an error that quotes it."""

    fault: str = "none"
    name: str = "targets"
    size: ClassVar[int] = 1

    def contribution(self, rows, run):
        if self.fault == "quotes" and rows.n > 1:
            raise ValueError(f"cannot add {rows.y.tolist()}")
        shift = rows.y.mean() if self.fault == "centres" else 0.0
        return (rows.y - shift)[:, None]


def asking(fault: str) -> Any:
    def fit(self, curator, problem, budget):
        answer = curator.release(OwnQuery(fault), laplace(4.0, budget.epsilon, "two targets differ by 2"))
        return Fit.good(np.repeat(answer, problem.geometry.dimension, axis=1))

    return fit


@pytest.mark.slow
def test_a_good_mechanism_keeps_every_law(plain, outcome) -> None:
    outcomes = {check.name: outcome(check, plain) for check in checks.CHECKS}
    assert outcomes.pop("persons").startswith("not applicable: ")
    assert outcomes.pop("moments alone").startswith("not applicable: ")
    assert set(outcomes.values()) == {"ok: "}


def test_too_little_noise_is_named(plain, outcome) -> None:
    sentence = outcome(checks.replay, wrong(plain, fit=scaled(0.25)))
    assert sentence.startswith("failed: ")
    assert "'objective'" in sentence
    assert "L1 sensitivity" in sentence


def test_less_than_the_budget_may_be_spent_and_more_is_named(plain, outcome) -> None:
    assert outcome(checks.ledger_within_budget, wrong(plain, fit=scaled(1.0, 0.5))) == "ok: "
    more = wrong(plain, fit=scaled(1.0, 1.5))
    assert "spends more than its budget: The query 'objective' would bring the cost to 1.5" in outcome(mechanisms.result, more)
    assert outcome(checks.ledger_within_budget, more).startswith("failed: ")


def test_a_ledger_that_pays_more_than_the_budget_is_named(plain, outcome, monkeypatch) -> None:
    """The ledger itself refuses such an entry; the check does not rely on that."""
    monkeypatch.setattr(Ledger, "spend", lambda ledger, entry, run=None: ledger._common.append(entry))
    sentence = outcome(checks.ledger_within_budget, wrong(plain, fit=scaled(1.0, 1.5)))
    assert sentence == "failed: A fit of linear spends 1.5 of a budget of 1 (pure)."


def test_an_exact_fit_is_named_by_the_ledger_and_claims_nothing(plain, outcome) -> None:
    def fit(self, curator, problem, budget):
        return curator.reveal("everything", problem.exact, "it is simpler")

    one = wrong(plain, fit=fit)
    assert "The ledger of a fit of linear is not sound: everything: not private" in outcome(checks.ledger_within_budget, one)
    assert outcome(checks.replay, one) == "not applicable: it claims no privacy"


def test_a_contribution_that_depends_on_other_rows_is_named(plain, outcome) -> None:
    assert "depends on the other rows" in outcome(checks.additive_answers, wrong(plain, fit=asking("centres")))


def test_an_error_that_quotes_private_rows_is_named_without_them(plain, outcome) -> None:
    sentence = outcome(mechanisms.result, wrong(plain, fit=asking("quotes")))
    assert "the text of the error quotes a value of a private row" in sentence
    assert "cannot add" not in sentence


def test_noise_that_is_subtracted_again_is_named(plain, outcome) -> None:
    def finish(self, problem, noisy):
        return Fit.good(np.sign(noisy.linear) * 0 + problem.n[:, None])

    one = wrong(plain, finish=finish)
    assert outcome(checks.noise_reaches_weights, one) == "ok: ", "constant weights reveal nothing"


def test_a_bound_for_one_row_is_too_small_for_persons(plain, outcome) -> None:
    def fit(self, curator, problem, budget):
        objective = problem.polynomial()
        noise = laplace(objective.l1_bound("tight") / objective.geometry.replaced_rows, budget.epsilon, "one row")
        return self.finish(problem, objective.quadratic(curator.release(objective, noise), problem.n))

    assert "sensitivity" in outcome(checks.persons, wrong(plain, fit=fit, handles_persons=True))


@pytest.mark.parametrize("target", ["real", "binary"])
def test_a_bound_for_one_row_that_only_some_models_or_tables_have_is_found(target, plain, outcome) -> None:
    def fit(self, curator, problem, budget):
        objective = problem.polynomial()
        rows = objective.geometry.replaced_rows if problem.geometry.target == target else 1
        noise = laplace(objective.l1_bound("tight") / rows, budget.epsilon, "one row")
        return self.finish(problem, objective.quadratic(curator.release(objective, noise), problem.n))

    assert "sensitivity" in outcome(checks.persons, wrong(plain, fit=fit, handles_persons=True))


def test_second_moments_that_do_not_suffice_are_named(plain, outcome) -> None:
    assert outcome(checks.moments_alone, wrong(plain, fit=asking("none"), moments_alone=True)).startswith("failed: It asks")
