"""A cell without a budget stands for every budget that others have."""

from __future__ import annotations

from cell_factory import make_cell, unbudgeted

from dpbench.records.budget_free import copies, spread
from dpbench.records.cell_record import CellRecord

LEVEL = unbudgeted(make_cell("level", private=False))


def fm(epsilon: float, **params: str) -> CellRecord:
    return make_cell("fm", epsilon=epsilon, params=params)


def test_a_cell_without_a_budget_has_no_epsilon() -> None:
    assert LEVEL.epsilon is None
    assert fm(0.1).epsilon == 0.1


def test_it_gets_one_copy_for_each_budget_of_its_place_each_once() -> None:
    others = [fm(0.1), fm(1.0), make_cell("dpba", epsilon=1.0), fm(9.0, dataset="other")]
    made = list(copies(LEVEL, [*others, LEVEL]))
    assert [(copy.params["epsilon"], copy.params["delta"]) for copy in made] == [("0.1", "1e-06"), ("1", "1e-06")]
    assert {copy.run_id for copy in made} == {LEVEL.run_id}
    assert all(copy.problem == others[0].problem for copy in made), "so that it is compared with them"


def test_a_place_without_others_takes_the_budgets_of_the_whole_sweep() -> None:
    assert [copy.epsilon for copy in copies(LEVEL, [fm(9.0, dataset="other"), LEVEL])] == [9.0]


def test_spreading_leaves_all_other_cells_alone_and_a_second_time_changes_nothing() -> None:
    once = spread([fm(0.1), LEVEL, fm(1.0)])
    assert [(cell.params["mechanism"], cell.epsilon) for cell in once] == [
        ("fm", 0.1),
        ("level", 0.1),
        ("level", 1.0),
        ("fm", 1.0),
    ]
    assert spread(once) == once
    assert spread([LEVEL]) == [LEVEL]


def test_only_the_given_keys_are_copied() -> None:
    (copy,) = spread([LEVEL, fm(0.1), fm(1.0)], ["delta"])[:1]
    assert copy.epsilon is None
    assert copy.params["delta"] == "1e-06"
