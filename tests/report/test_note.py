"""The note holds the answer, warnings, the figure, the command and every cell."""

from __future__ import annotations

import pytest
from cell_factory import make_cell
from report_helpers import PUBLIC_FIT, note

from dpbench.records.preset import Preset
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.warning_texts import ERRORS_ARE_PRIVATE


def test_the_note_holds_the_answer_the_warning_the_figure_the_command_and_every_cell() -> None:
    rows = [
        make_cell("fm", 0.16, spread=0.001),
        PUBLIC_FIT,
        make_cell("bad", None, state="failed", reason="x"),
        make_cell("old", 0.17, state="resumed", spread=0.001),
    ]
    text = note(SweepRecord(tuple(rows), "python -m dpbench -m epsilon=0.8", run_id="abc"), "error_vs_epsilon.png").replace(
        "&emsp;", " "
    )
    assert text.startswith("At every ε of this sweep privacy costs more than 10 %")
    assert "| linear on wine | 0.8 | fm | 0.1600 | 37 % |" in text
    assert "- linear on wine at ε = 0.8: fm has the lowest median rmse, 0.16, lower than old's" in text
    order = ["At every ε", "| best mechanism |", "![", "- linear on wine at", ERRORS_ARE_PRIVATE, "`python -m dpbench"]
    assert sorted(order, key=text.index) == order
    assert "get-artifact?path=error_vs_epsilon.png&run_uuid=abc" in text
    table = [line for line in text[text.index("| mechanism |") :].splitlines() if line.startswith("| ")][1:]
    assert [line.split(" | ")[0] for line in table] == ["| fm", "| no_privacy", "| old"]
    assert "| infinite | NOT PRIVATE |" in text
    assert "1 cell failed" in text
    assert "SYNTHETIC" not in text.upper()
    assert "get-artifact" not in note(SweepRecord(tuple(rows), "command", run_id="abc"), None)


@pytest.mark.parametrize("key", ["mechanism.ridge", "dataset.n", "model.penalty", "delta", "splits", "seed"])
def test_no_two_lines_of_the_notes_table_look_alike(key: str) -> None:
    text = note(
        SweepRecord((make_cell("fm", 0.2, params={key: "17"}), make_cell("fm", 0.2, params={key: "71"})), "command"), None
    )
    one, other = [line for line in text.splitlines() if line.startswith("| fm")]
    assert "17" in one
    assert "71" in other


def test_where_nothing_ran_the_note_says_so_and_has_no_table() -> None:
    rows = (make_cell("bad", None, state="failed", reason="x"), make_cell("odd", None, state="pruned", reason="y"))
    text = note(SweepRecord(rows, "command"), None)
    assert text.startswith("- Nothing ran, so nothing can be said: 1 cell failed and 1 cell pruned.")
    assert "| " not in text
    assert ERRORS_ARE_PRIVATE not in text


def test_a_changed_preset_is_named_so_at_the_top() -> None:
    preset = Preset(name="a/b", title="A paper, Figure 1")
    text = note(
        SweepRecord(
            (make_cell("fm", 0.2),), "python -m dpbench -m experiment=a/b epsilon=7", ("experiment=a/b", "epsilon=7"), preset
        ),
        None,
    )
    assert text.startswith("**Not the paper's figure.** The preset was changed on the command line: `epsilon=7`.")
    assert "Not the paper's" not in note(
        SweepRecord((make_cell("fm", 0.2),), "command", ("experiment=a/b", "quick=true"), preset), None
    )


def test_synthetic_data_is_named_so() -> None:
    assert "**SYNTHETIC data.** The rows of wine were generated" in note(
        SweepRecord((make_cell("fm", 0.2, tags={"dpbench.synthetic": "true"}),), "command"), None
    )


def test_the_note_says_which_share_of_the_runs_lost_everything() -> None:
    text = note(SweepRecord((make_cell("fm", 0.16, metrics={"utility/failed_share": 0.02}),), "command"), None)
    assert "| runs that lost all |" in text.replace("&emsp;", " ")
    assert "fm at ε = 0.8 in 2 % of the runs" in text
