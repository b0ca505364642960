"""What the plan and the run say about cells that differ from what was typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.sweeps.grid_notes import budget_notes


def test_mechanisms_without_a_budget_are_one_cell_and_a_note_says_so(planned: Callable[..., Any]) -> None:
    plan = planned("mechanism=fm,no_privacy,truncated", "model=logistic", "epsilon=0.1,1,10")
    assert [cell.params["mechanism"] for cell in plan.cells].count("no_privacy") == 1
    assert plan.notes == ("no_privacy and truncated do not depend on ε: one cell stands for all values of ε.",)


def test_a_single_budget_needs_no_note(planned: Callable[..., Any]) -> None:
    assert planned("mechanism=fm,no_privacy", "epsilon=0.1").notes == ()


def test_cells_that_nothing_was_merged_into_need_no_note() -> None:
    """Zipped with a seed, every ε of a mechanism without a budget is a cell of its own."""
    cells = [{"mechanism": "no_privacy", "seed": seed} for seed in "012"]
    assert list(budget_notes(["no_privacy"] * 3, cells, ["epsilon", "seed"])) == []
    assert len(list(budget_notes(["no_privacy"] * 6, cells, ["epsilon", "seed"]))) == 1


def test_an_option_that_a_component_does_not_have_is_said(planned: Callable[..., Any]) -> None:
    notes = planned("mechanism=fm,no_privacy,dpme", "mechanism.ridge=2,4").notes
    assert notes == ("no_privacy and dpme have no option ridge: one cell stands for all values of mechanism.ridge.",)
    assert planned("mechanism=fm,no_privacy", "mechanism.ridge=2").notes == ()
    assert planned("mechanism=fm,no_privacy", "mechanism.ridge=2,4", "zip=mechanism,mechanism.ridge").notes == ()


def test_what_is_left_out_is_counted(planned: Callable[..., Any]) -> None:
    plan = planned("mechanism=fm,dpba", "model=linear,ridge", "skip={mechanism:dpba,model:ridge}")
    assert [(cell.params["mechanism"], cell.params["model"]) for cell in plan.cells] == [
        *(("fm", "linear"), ("fm", "ridge"), ("dpba", "linear")),
    ]
    assert plan.notes == ("skip leaves out 1 of 4 combinations.",)


@pytest.mark.parametrize(
    ("skip", "words"),
    [
        ("{mechanism:[fm,dpba]}", "must leave a combination"),
        ("{mechanism:dpba,mechanism.convention:matrix}", "None of them is {mechanism: dpba, mechanism.convention: matrix}"),
    ],
)
def test_a_condition_that_everything_or_nothing_meets_is_refused(skip: str, words: str, planned: Callable[..., Any]) -> None:
    with pytest.raises(Refused, match=words):
        planned("mechanism=fm,dpba", "mechanism.convention=matrix,code", f"skip={skip}")
