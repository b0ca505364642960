"""One row for each ε says who is best there; the pick is the smallest ε at which privacy costs little."""

from __future__ import annotations

import pytest
from cell_factory import make_cell
from report_helpers import PUBLIC_FIT, person_cell

from dpbench.records.cell_record import CellRecord
from dpbench.report.decision import Decision, decisions, percent, pick
from dpbench.report.leaderboards import boards


def rows_of(*cells: CellRecord) -> list[Decision]:
    (board,) = boards(cells)
    return decisions(board)


def test_each_accounted_epsilon_has_a_row_with_its_best_mechanism() -> None:
    rows = rows_of(*(person_cell(name, error, epsilon) for epsilon in (1, 2) for name, error in (("fm", 0.3), ("dpba", 0.2))))
    assert [(row.epsilon, row.verdict, row.lost) for row in rows] == [
        ("1", "dpba", pytest.approx(0.25)),
        ("2", "dpba", pytest.approx(0.25)),
    ]


def test_where_nothing_decides_the_row_names_all_that_may_be_best() -> None:
    same = rows_of(person_cell("fm", 0.16, spread=0.001), person_cell("dpba", 0.161, spread=0.001))
    assert same[0].verdict == "practically the same: dpba and fm"
    few = rows_of(person_cell("fm", 0.16, repeats=2), person_cell("dpba", 0.2, repeats=2))
    assert few[0].verdict == "not decided: fm (0.1600) and dpba (0.2000)"


def test_a_delta_and_a_rule_stand_next_to_epsilon() -> None:
    cells = [person_cell("fm", 0.3), person_cell("irls", 0.2, metrics={"privacy/delta": 1e-6})]
    assert {row.verdict: row.epsilon for row in rows_of(*cells)} == {"fm": "0.8", "irls": "0.8 (δ = 1e-06)"}
    ruled = [person_cell(name, 0.2, tags={"dpbench.sensitivity": name}) for name in ("tight", "paper")]
    assert {row.epsilon for row in rows_of(*ruled)} == {"0.8 (sensitivity tight)", "0.8 (sensitivity paper)"}


def test_an_epsilon_at_which_nothing_may_be_ranked_has_a_row_that_says_so() -> None:
    leaky = person_cell("leaky", 0.1, 2.0, leaks={"bounds": "read"})
    rows = rows_of(person_cell("fm", 0.2, 1.0), leaky)
    assert [row.verdict for row in rows] == ["fm", "none: leaky is LEAKS bounds"]
    assert [row.best for row in rows][1] is None


def test_a_fit_without_privacy_has_a_row_only_if_there_is_no_other() -> None:
    assert [row.verdict for row in rows_of(make_cell("fm", 0.16), PUBLIC_FIT)] == ["fm"]
    (alone,) = rows_of(PUBLIC_FIT)
    assert (alone.epsilon, alone.verdict) == ("infinite", "none: no_privacy is NOT PRIVATE")


def test_the_pick_is_the_smallest_epsilon_at_which_privacy_costs_at_most_a_tenth() -> None:
    rows = rows_of(*(person_cell("fm", error, epsilon) for epsilon, error in ((1, 0.3), (2, 0.139), (4, 0.11))))
    picked = pick(rows)
    assert picked is not None
    assert picked.epsilon == "2"


def test_without_such_an_epsilon_the_pick_is_where_privacy_costs_least() -> None:
    rows = rows_of(*(person_cell("fm", error, epsilon) for epsilon, error in ((1, 0.3), (2, 0.25), (4, 0.26))))
    picked = pick(rows)
    assert picked is not None
    assert picked.epsilon == "2"


def test_nothing_is_picked_that_is_no_better_than_the_mean() -> None:
    assert pick(rows_of(person_cell("fm", 0.5), person_cell("dpba", 0.7))) is None
    assert pick(rows_of(PUBLIC_FIT)) is None


def test_a_tried_proof_is_picked_before_a_claim() -> None:
    claim = person_cell("new", 0.11, 1.0, tags={"dpbench.guarantee": "claimed", "dpbench.sound": "false"})
    assert claim.ranked
    picked = pick(rows_of(claim, person_cell("fm", 0.13, 2.0)))
    assert picked is not None
    assert picked.verdict == "fm"


def test_intervals_are_against_those_without_privacy_and_say_how_often_they_cover() -> None:
    tags, metrics = {"dpbench.interval_method": "delta"}, {"inference/width_ratio_median": 7.23}
    assert rows_of(make_cell(metrics=metrics, tags=tags))[0].intervals == "7.2 times as wide"
    assert rows_of(make_cell(metrics={"inference/width_ratio_median": 1_234.0}, tags=tags))[0].intervals == "1,200 times as wide"
    covered = make_cell(metrics={**metrics, "inference/coverage_mean": 0.951}, tags=tags)
    assert rows_of(covered)[0].intervals == "7.2 times as wide, 95 % cover"
    assert rows_of(make_cell())[0].intervals == "none"


def test_intervals_that_hardly_overlap_those_without_privacy_are_not_compared_in_width() -> None:
    tags, metrics = {"dpbench.interval_method": "delta"}, {"inference/width_ratio_median": 0.82, "inference/overlap_mean": 0.03}
    row = rows_of(make_cell(metrics=metrics, tags=tags))[0]
    assert row.intervals == "elsewhere: the overlap with those without privacy is 0.03"
    metrics["inference/overlap_mean"] = 0.6
    assert rows_of(make_cell(metrics=metrics, tags=tags))[0].intervals == "0.82 times as wide"


@pytest.mark.parametrize(
    ("share", "text"),
    [(None, "–"), (-0.0001, "0.0 %"), (0.0, "0.0 %"), (-0.004, "-0.4 %"), (0.0123, "1.2 %"), (0.0996, "10.0 %"), (3.16, "316 %")],
)
def test_a_share_has_two_digits_and_zero_no_sign(share: float | None, text: str) -> None:
    assert percent(share) == text


def failing(name: str, error: float, epsilon: float, share: float) -> CellRecord:
    return person_cell(name, error, epsilon, metrics={"utility/failed_share": share})


def test_an_epsilon_at_which_runs_lose_everything_is_passed_over() -> None:
    rows = rows_of(failing("fm", 0.12, 1.0, 0.07), failing("fm", 0.13, 2.0, 0.01), failing("fm", 0.11, 4.0, 0.0))
    picked = pick(rows)
    assert picked is not None
    assert (picked.epsilon, picked.failed) == ("2", 0.01)
    picked = pick(rows[:1])
    assert picked is not None, "with its share of failed runs next to it, where there is nothing better"


def test_what_lost_everything_in_most_runs_is_never_picked_however_low_its_error() -> None:
    """A rate of wrong classes below the mean predictor's says nothing about probabilities: their loss does."""
    rows = rows_of(failing("fm", 0.11, 1.0, 1.0))
    assert pick(rows) is None
    assert rows[0].verdict == "none: fm lost everything in 100 % of its runs"


def test_what_lost_everything_is_neither_the_best_nor_as_good_as_the_best() -> None:
    cells = [failing("ssp", 0.11, 1.0, 1.0), failing("erm", 0.111, 1.0, 0.0), failing("gd", 0.12, 1.0, 0.0)]
    (row,) = rows_of(*cells)
    assert row.verdict == "erm"
    assert [(place.cell.params["mechanism"], place.rank) for place in row.group.places] == [("erm", 1), ("gd", 2), ("ssp", None)]
    picked = pick([row])
    assert picked is not None
    assert picked.best is cells[1]
