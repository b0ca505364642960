"""Cells are ranked by their error on the same problem, at the same accounted ε."""

from __future__ import annotations

import math
import re

import pytest
from cell_factory import make_cell, unbudgeted
from report_helpers import PUBLIC_FIT, answer, note, person_cell, priced_cell

from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.leaderboards import boards


@pytest.mark.parametrize("key", ["dataset.n", "model.penalty", "delta", "splits"])
def test_only_what_was_computed_on_the_same_problem_is_compared(key: str) -> None:
    """An error on more data, another penalty or other splits says nothing about which mechanism is better."""
    hard = [person_cell("fm", 0.30, params={key: "1"}), person_cell("dpba", 0.40, params={key: "1"})]
    easy = [person_cell("fm", 0.14, params={key: "2"}), person_cell("dpba", 0.12, params={key: "2"})]
    sentences = answer([*hard, *easy])
    assert sum("at ε = 0.8: " in one for one in sentences) == 2
    assert any("fm has the lowest median rmse, 0.3, lower than dpba's" in one for one in sentences)
    assert any("dpba has the lowest median rmse, 0.12, lower than fm's" in one for one in sentences)


def test_a_row_is_ranked_only_when_it_is_done_private_proven_and_leaks_nothing() -> None:
    assert make_cell("fm", 0.2).ranked
    assert make_cell("fm", 0.2, state="resumed").ranked
    assert not PUBLIC_FIT.ranked
    assert not make_cell("fm", 0.2, state="failed").ranked
    assert not make_cell("fm", 0.2, tags={"dpbench.leaks": "x"}).ranked
    assert re.fullmatch("LEAKS x", make_cell("fm", 0.2, tags={"dpbench.leaks": "x"}).guarantee)


def test_cells_are_ranked_at_their_accounted_epsilon() -> None:
    """A budget of ρ = 0.8 and one of ε = 0.8 are not the same: the one is worth 6.8 at δ = 1e-6."""
    dear = CellRecord(
        "run",
        {**priced_cell("irls").params},
        priced_cell().tags,
        {**priced_cell().metrics, "privacy/epsilon_accounted": 6.827},
        "rmse",
    )
    text = note(SweepRecord((priced_cell("fm", 0.8), dear), "c"), None)
    assert "linear on wine at ε = 0.8: fm is no better than always predicting the mean" in text
    assert "linear on wine at ε = 6.827: irls is no better than always predicting the mean" in text
    assert "fm at" not in text, "they are not compared"


def test_each_level_has_its_ranks_and_cells_without_privacy_come_last_and_once() -> None:
    cells = [make_cell(name, error, epsilon) for epsilon in (0.5, 2.0) for name, error in (("good", 0.2), ("fair", 0.3))]
    cells += [make_cell("open", 0.1, epsilon, private=False) for epsilon in (0.5, 2.0)]
    (board,) = boards(cells)
    assert [level.accounted for level in board.levels] == [0.5, 2.0, math.inf]
    places = [[(place.cell.params["mechanism"], place.rank) for place in level.places] for level in board.levels]
    assert places == [[("good", 1), ("fair", 2)]] * 2 + [[("open", None)]]
    assert board.places[-1].epsilon == "0.5 to 2"


def test_a_cell_without_an_error_is_private_and_has_no_rank() -> None:
    (board,) = boards([make_cell("fm"), make_cell("broken", None)])
    (level,) = board.levels
    (group,) = level.groups
    assert ([place.rank for place in group.places], len(group.cells), group.contest) == ([1, None], 1, None)


def test_cells_that_are_practically_the_same_share_the_first_rank() -> None:
    (board,) = boards([person_cell(name, error) for name, error in (("a", 0.2), ("b", 0.201), ("c", 0.3), ("d", 0.301))])
    assert [place.rank for place in board.places] == [1, 1, 3, 4]


def test_each_group_of_a_level_has_ranks_and_a_best_of_its_own() -> None:
    """The better rule wins nothing: its cells are not compared with those of the other."""
    cells = [
        person_cell(name, error, tags={"dpbench.sensitivity": rule})
        for name, error, rule in (("a", 0.30, "paper"), ("b", 0.40, "paper"), ("c", 0.20, "tight"))
    ]
    (board,) = boards(cells)
    (level,) = board.levels
    assert [[(place.cell.params["mechanism"], place.rank) for place in group.places] for group in level.groups] == [
        [("c", 1)],
        [("a", 1), ("b", 2)],
    ]
    assert all("sensitivity" in group.basis for group in level.groups)
    (board,) = boards(cells[:2])
    assert [group.basis for level in board.levels for group in level.groups] == [""]


@pytest.mark.parametrize(("error", "lost"), [(0.15, 0.0), (0.1772, 1.0), (0.2044, 2.0), (None, None)])
def test_what_is_lost_goes_from_the_fit_without_privacy_to_the_mean(error: float | None, lost: float | None) -> None:
    (board,) = boards([make_cell("fm", error)])
    assert board.places[0].lost == (None if lost is None else pytest.approx(lost))


def test_what_tells_problems_apart_is_in_their_titles() -> None:
    titles = [board.title for board in boards([make_cell(params={"dataset.n": text}) for text in ("300", "900")])]
    assert titles == ["linear on wine (dataset.n=300)", "linear on wine (dataset.n=900)"]


def test_a_cell_without_a_budget_has_a_place_in_every_problem_and_no_epsilon() -> None:
    cells = [make_cell("fm", 0.2, epsilon, params={"delta": delta}) for epsilon in (0.1, 1.0) for delta in ("1e-06", "1e-05")]
    found = boards([*cells, unbudgeted(make_cell("no_privacy", 0.1, private=False))])
    assert [board.problem["delta"] for board in found] == ["1e-06", "1e-05"]
    for board in found:
        (last,) = board.levels[-1].others
        assert (last.cell.params["mechanism"], last.epsilon) == ("no_privacy", None)
