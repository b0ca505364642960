"""A choice by the data is paid for if what its candidates may cost adds up to what the ledger states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from release_factory import make_release

from dpbench.accounting.costs import LedgerEntry, Pure
from dpbench.releases.selection_check import check_choice

CANDIDATES = ({"name": "fm", "ridge": 2.0}, {"name": "fm", "ridge": 4.0})
RELEASE = make_release(mechanism=CANDIDATES[1])
TOTAL = [LedgerEntry("choice among 2 candidates", Pure(1.0), True, "composition")]
ANSWERS = [LedgerEntry(query, Pure(cost), True, "a proof") for query, cost in (("fit", 0.45), ("score", 0.05))]


def section(**changes: Any) -> dict[str, Any]:
    share = {"fit_epsilon": 0.45, "fit_delta": 0.0, "score_epsilon": 0.05}
    costs = [Pure(0.45).as_dict(), Pure(0.05).as_dict()]
    candidates = [{"mechanism": each, "model": RELEASE.model, "costs": costs, **share} for each in CANDIDATES]
    return {"way": "each once", "cost_of_each": Pure(0.5).as_dict(), "candidates": candidates, "chosen": 1, **changes}


def test_a_choice_that_is_paid_for_says_how_and_what_each_candidate_could_cost() -> None:
    pytest.importorskip("dp_accounting")
    holds, sentence = check_choice(RELEASE, section(), TOTAL, ANSWERS, 0.0)
    assert holds, sentence
    assert sentence == "each once, 2 candidates, of which each could cost ε = 0.5"


def with_costs(*epsilons: float) -> Callable[[], dict[str, Any]]:
    """A section in which the second candidate has these costs."""

    def changed() -> dict[str, Any]:
        made = section()
        made["candidates"][1]["costs"] = [Pure(epsilon).as_dict() for epsilon in epsilons]
        return made

    return changed


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda: section(chosen=0), "the model is not the chosen candidate's"),
        (lambda: section(cost_of_each=Pure(0.6).as_dict()), "adds up to more than the ledger states"),
        (lambda: section(way="random stopping", odds=100, cost_of_each=Pure(0.51).as_dict()), "adds up to more"),
        (with_costs(0.5, 0.05), "a candidate costs more than it may"),
    ],
)
def test_a_section_that_does_not_add_up_is_named(change: Callable[[], dict[str, Any]], words: str) -> None:
    holds, sentence = check_choice(RELEASE, change(), TOTAL, ANSWERS, 0.0)
    assert not holds
    assert words in sentence


def test_the_ledger_has_the_choice_as_its_only_entry() -> None:
    holds, sentence = check_choice(RELEASE, section(), TOTAL * 2, ANSWERS, 0.0)
    assert (holds, sentence) == (False, "a choice is one entry of the ledger, and it has 2")


@pytest.mark.parametrize("answers", [[*ANSWERS, ANSWERS[1]], [LedgerEntry("fit", Pure(0.1), False, "")]])
def test_the_answers_of_the_chosen_one_are_within_its_share_and_proven(answers: list[LedgerEntry]) -> None:
    holds, sentence = check_choice(RELEASE, section(), TOTAL, answers, 0.0)
    assert not holds
    assert "cost more than they may, or lack a proof" in sentence
