"""The pages hold every cell, need nothing from elsewhere, and let no text become markup."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from dpbench.report.leaderboard.page import COLUMNS, cell_row, header, html, inline, markdown, row, table_facts, wins
from dpbench.report.leaderboard.scores import Score
from dpbench.report.leaderboard.tournament import Tournament

Maker = Callable[..., Score]


def some(score: Maker) -> list[Score]:
    names = {"a": 0.1, "b <i>": 0.4}
    return [
        *(score(name, lost, table) for name, lost in names.items() for table in ("t1", "t2")),
        score("c", None),
        score("c", 0.2, "t2"),
    ]


def test_the_page_holds_every_cell_and_needs_nothing_from_elsewhere(score: Maker) -> None:
    page = html(some(score), "make it")
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    assert [cell[:4] for cell in json.loads(data[1])] == [[s.model, s.table, s.mechanism, s.epsilon] for s in some(score)]
    assert "http" not in page
    assert 'src="linear_ranks.png"' in page
    assert "<i>" not in page.replace(data[1], "")
    assert "</" not in data[1]


def test_the_summary_has_a_row_for_each_mechanism_in_order(score: Maker) -> None:
    text = markdown(some(score), "make it")
    rows = re.findall(r"^\| (\d) \| (\S+)", text, re.MULTILINE)
    assert rows == [("1", "a"), ("2", "b"), ("3", "c")]
    assert "Made by `make it`" in text


def test_a_row_has_an_entry_for_each_column(score: Maker) -> None:
    tournament = Tournament(tuple(some(score)))
    assert all(len(row(entry, tournament)) == len(header(tournament)) for entry in tournament.entries)
    assert row(tournament.entries[0], tournament)[-1] == "sound"


def test_who_beats_whom_is_counted(score: Maker) -> None:
    assert wins(Tournament((score("a", 0.1), score("b", 0.4)))) == [("a", ["", "1"]), ("b", ["0", ""])]


def test_tables_say_whether_they_count(score: Maker) -> None:
    tournament = Tournament(
        (score("a", 0.1), score("a", 0.9, "flat", error_no_privacy=0.199), score("a", 0.1, "half"), score("b", 0.2))
    )
    assert [(facts[0], facts[-1]) for facts in table_facts(tournament)] == [
        ("flat", "shown"),
        ("half", "not complete"),
        ("t1", "counts"),
    ]


def test_cells_that_exploded_or_did_not_run_have_a_row(score: Maker) -> None:
    infinite = float("inf")
    assert cell_row(score("a", infinite, share_lost_p80=infinite))[4] == 0
    assert "below -900" in cell_row(score("a", 0.5, share_lost_p80=infinite))[6]
    assert cell_row(score("a", None))[-2] == "pruned: It is too wide."
    assert cell_row(score("a", 0.5, ols_se=infinite))[8] == "infinite"


def test_runs_that_lost_everything_stand_next_to_the_median_where_there_are_any(score: Maker) -> None:
    failed = [score("a", 0.1, failed_share=0.031), score("a", 0.1, "t2", failed_share=0.05), score("b", 0.2, failed_share=0.004)]
    scores = [*failed, score("b", 0.2, "t2", failed_share=0.0), score("c", 0.3, failed_share=0.0), score("c", 0.3, "t2")]
    tournament = Tournament(tuple(scores))
    at = header(tournament).index("ε = 1")
    assert [row(entry, tournament)[at] for entry in tournament.entries] == ["90 % (4 %)", "80 % (<1 %)", "70 %"]
    assert [cell_row(one)[COLUMNS.index("lost all")] for one in scores] == [3.1, 5.0, 0.4, "", "", ""]
    assert "In brackets" in markdown(scores, "make it")
    assert "In brackets" not in markdown(some(score), "make it")
    assert "Of its runs 4 % (ε = 1) lost everything." in markdown(scores, "make it")


def test_marks_become_tags_and_nothing_else_does() -> None:
    assert str(inline("a `b<c` *d* <e>")) == "a <code>b&lt;c</code> <em>d</em> &lt;e&gt;"
