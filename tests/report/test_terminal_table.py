"""The printed table says what the records say, and cuts no number."""

from __future__ import annotations

import io
import re

import pytest
from cell_factory import make_cell, unbudgeted
from report_helpers import PUBLIC_FIT, body, printed

from dpbench.records.sweep_record import SweepRecord
from dpbench.report.summary import SweepSummary
from dpbench.report.terminal_table import print_table


def test_a_row_says_error_band_references_epsilon_and_guarantee() -> None:
    text = printed([make_cell("fm", 0.198512, 0.8, spread=0.02)])
    assert text.startswith("linear on wine: rmse on the scaled target, 50 x 5-fold")
    assert body(text) == [["fm", "0.8", "0.1985", "0.1785 - 0.2185", "0.1500", "0.1772", "0.8", "sound"]]


def test_what_is_not_private_or_not_proven_or_leaks_says_so() -> None:
    rows = [
        PUBLIC_FIT,
        make_cell("a", 0.2, tags={"dpbench.sound": "false"}),
        make_cell("b", 0.2, tags={"dpbench.leaks": "bounds,lambda"}),
        make_cell("c", 0.2),
    ]
    lines = body(printed(rows))
    assert [line[-1] for line in lines] == ["NOT PRIVATE", "UNPROVEN", "LEAKS bounds, lambda", "sound"]
    assert lines[0][-2] == "infinite"


def test_a_cell_without_a_finite_error_has_none() -> None:
    (line,) = body(printed([make_cell("fm", None)]))
    assert line[2:4] == ["none", "none - none"]


def test_each_model_and_dataset_has_a_table_and_synthetic_data_says_so() -> None:
    synthetic = make_cell("fm", 0.2, params={"dataset": "gaussian"}, tags={"dpbench.synthetic": "true"})
    text = printed([make_cell("fm", 0.2), synthetic, make_cell("fm", 0.2, params={"model": "ridge"})])
    titles = [line.strip() for line in text.splitlines() if "on the scaled target" in line]
    assert titles == [
        "linear on wine: rmse on the scaled target, 50 x 5-fold",
        "linear on gaussian, SYNTHETIC data: rmse on the scaled target, 50 x 5-fold",
        "ridge on wine: rmse on the scaled target, 50 x 5-fold",
    ]


def test_piped_it_keeps_to_120_columns_and_a_row_to_a_line() -> None:
    rows = [
        make_cell(name, error, epsilon, spread=error / 3, params={"mechanism.ridge": "auto"})
        for name in ("no_privacy", "cdp_irls")
        for epsilon, error in ((0.0125, 12.3456), (102.4, 0.012345))
    ]
    text = printed(rows)
    assert max(map(len, text.splitlines())) <= 120
    assert "…" not in text
    lines = body(text)
    assert len(lines) == 4, "no row is wrapped"
    for line, row in zip(lines, rows, strict=True):
        assert float(line[3]) == pytest.approx(row.metric("utility/rmse"), rel=1e-3)
        low, high = line[4].split(" - ")
        assert float(low) == pytest.approx(row.metric("utility/rmse", "p20"), rel=1e-3)
        assert float(high) == pytest.approx(row.metric("utility/rmse", "p80"), rel=1e-3)
        assert float(line[2]) == row.epsilon


def test_very_large_and_very_small_numbers_are_not_cut() -> None:
    options = {"mechanism.ridge": "auto", "dataset.sample_rate": "0.015625"}
    text = printed(
        [make_cell("functional_mechanism", error, spread=error / 3, params=options) for error in (123456.7, 0.000012345)]
    )
    assert "…" not in text
    for number in ("1.235e+05", "8.230e+04 - 1.646e+05", "1.234e-05", "8.230e-06 - 1.646e-05"):
        assert number in text


def test_many_swept_options_cut_no_number() -> None:
    options = {"mechanism.convention": "monomial", "mechanism.sensitivity": "tight", "mechanism.until_bounded": "False"}
    options |= {"dataset.sample_rate": "0.015625", "model.penalty": "1e-05", "seed": "12345"}
    text = printed([make_cell("functional_mechanism", 0.1985, params=options)])
    assert "…" not in text
    for number in ("0.1985", "0.1885 - 0.2085", "0.1500", "0.1772", "0.015625", "1e-05", "12345"):
        assert number in text


def test_rows_that_differ_look_different() -> None:
    changes = [{"mechanism.ridge": "2"}, {"seed": "1"}, {"delta": "1e-05"}, {"splits": "50 x hold-out 0.2"}]
    for change in changes:
        text = printed([make_cell("fm", 0.2), make_cell("fm", 0.2, params=change)])
        for value in change.values():
            assert value in text, change


def test_a_value_in_brackets_is_shown() -> None:
    text = printed(
        [
            make_cell("fm", 0.2, params={"dataset.attributes": "[red]"}),
            make_cell("fm", 0.2, params={"dataset.attributes": "None"}),
        ]
    )
    assert "[red]" in text


def test_what_failed_or_was_pruned_stands_below_with_its_reason_once() -> None:
    rows = [
        make_cell("fm", 0.2),
        *[
            make_cell("bad", None, epsilon, state="failed", reason="ValueError: [oops] (bad.py:3 in fit)")
            for epsilon in (0.1, 0.8)
        ],
        make_cell("odd", None, state="pruned", reason="odd does not fit linear: no."),
    ]
    text = printed(rows)
    assert text.count("FAILED (2 cells of bad): ValueError: [oops] (bad.py:3 in fit)") == 1
    assert text.count("PRUNED (1 cell of odd): odd does not fit linear: no.") == 1
    assert [line[0] for line in body(text)] == ["fm"]


def test_a_long_table_is_cut_and_says_so() -> None:
    text = printed([make_cell("fm", 0.2, 0.1 * (index + 1)) for index in range(67)])
    assert len(body(text)) == 60
    assert "7 more cells" in text


def test_an_attack_shows_its_advantage_the_controls_that_have_one_and_the_cap() -> None:
    found = {"attack/advantage_mean": 0.0134, "attack/cap": 0.05, "attack/gap_mean": -0.002}
    found |= {"attack/control/imputation/advantage_mean": 0.325, "attack/control/majority/advantage_mean": 0.0}
    text = printed([make_cell("fm", 0.2, params={"attack": "model_inversion"}, metrics=found), make_cell("fm", 0.2)])
    assert "linear on wine, attack model_inversion: rmse" in text
    attacked, plain = body(text)
    assert attacked[-6:-1] == ["0.8", "0.013", "0.325", "-0.002", "0.050"]
    header = next(line for line in text.splitlines() if "imputation" in line)
    assert "majority" not in header, "a control without advantage says nothing"
    assert plain[-2:] == ["0.8", "sound"]


def test_nothing_is_printed_for_nothing() -> None:
    assert printed([]) == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [80, 30])
def test_a_narrow_terminal_cuts_no_number_and_no_guarantee(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """The references are in the title then; below what even that needs, lines wrap and nothing is cut."""
    monkeypatch.setenv("COLUMNS", str(columns))
    out = Terminal()
    rows = (make_cell("functional_mechanism", 0.1985), make_cell("fm", 0.2, tags={"dpbench.leaks": "bounds_from_data"}))
    print_table(SweepSummary(SweepRecord(rows, "command")), out)
    text = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).split())
    for number in ("0.1985", "0.8", "LEAKS bounds_from_data", "no privacy 0.1500, mean only 0.1772"):
        assert number in text, number
    assert "…" not in text


@pytest.mark.parametrize(
    ("columns", "headings"),
    [
        (120, ["median", "in USD of 1999", "20-80 %", "no privacy", "mean only"]),
        (100, ["median", "in USD of 1999", "20-80 %"]),
        (80, ["median", "in USD of 1999"]),
        (60, ["median"]),
    ],
)
def test_errors_in_the_unit_fit_into_usual_widths(monkeypatch: pytest.MonkeyPatch, columns: int, headings: list[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out, tags = Terminal(), {"dpbench.target_unit": "USD of 1999"}
    rows = (
        make_cell("fm", 0.358, 0.1, metrics={"utility/rmse_raw_median": 26_850.0}, tags=tags),
        make_cell("no_privacy", 0.345, 0.1, metrics={"utility/rmse_raw_median": 25_875.4}, tags=tags, private=False),
    )
    print_table(SweepSummary(SweepRecord(rows, "command")), out)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()
    table = [line for line in lines if line.startswith(("┃", "│", "┏", "┡", "└"))]
    assert max(map(len, table)) <= columns
    (header,) = (line for line in table if line.startswith("┃"))
    assert [cell.strip() for cell in header.split("┃")][3:-3] == headings
    assert ("26,850" in out.getvalue(), "25,880" in out.getvalue()) == (len(headings) > 1,) * 2


def test_what_is_only_claimed_stands_in_brackets_and_has_no_price() -> None:
    rows = [make_cell("odd", 0.1, epsilon, tags={"dpbench.sound": "false"}) for epsilon in (0.1, 0.8)]
    text = printed(rows)
    assert [line[-2] for line in body(text)] == ["(0.1)", "(0.8)"]
    assert "Releasing the best" not in text


def test_rules_that_no_axis_names_have_a_column_where_they_differ() -> None:
    """Under sensitivity=published, a mechanism without a published bound stays tight."""
    rules = {"fm": "published", "privr": "tight", "no_privacy": ""}
    cells = [make_cell(name, 0.2, tags={"dpbench.sensitivity": rule}) for name, rule in rules.items()]
    assert [line[1] for line in body(printed(cells))] == ["published", "tight", ""]
    assert "sensitivity" not in printed([cells[0], cells[2]])
    swept = [
        make_cell("fm", 0.2, tags={"dpbench.sensitivity": rule}, params={"mechanism.sensitivity": rule})
        for rule in ("paper", "tight")
    ]
    (header,) = (line for line in printed(swept).splitlines() if "median" in line and "ε" in line and "┃" in line)
    assert header.count("sensitivity") == 1


def test_intervals_have_columns_and_a_sentence_where_the_command_asks_for_them() -> None:
    metrics = {"inference/coverage_mean": 0.951, "inference/width_ratio_median": 7.23}
    tags = {"dpbench.intervals": "They cover both.", "dpbench.interval_method": "delta"}
    rows = [
        make_cell("ssp", 0.2, params={"inference.method": "delta"}, metrics=metrics, tags=tags),
        make_cell("dpme", 0.2, params={"inference.method": "delta"}, tags={"dpbench.intervals": "No intervals: bins."}),
    ]
    text = printed(rows)
    assert [line[-3:-1] for line in body(text)] == [["0.951", "7.23"], ["none", "none"]]
    assert "ssp method=delta: They cover both." in text
    assert "dpme method=delta: No intervals: bins." in text
    plain = printed([make_cell("ssp", 0.2, metrics=metrics, tags=tags)])
    assert "coverage" not in plain
    assert "They cover both." not in plain


def test_a_cell_without_a_budget_has_a_dash_for_epsilon_and_no_column_of_its_own() -> None:
    text = printed([make_cell("fm", 0.2), unbudgeted(PUBLIC_FIT)])
    assert [line[:2] for line in body(text)] == [["fm", "0.8"], ["no_privacy", "–"]]
    assert "delta" not in text
