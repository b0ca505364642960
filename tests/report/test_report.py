"""Reports say what the rows say: the printed table, the note's sentences, the figure."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.records.preset import Preset
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.note import note as note_of
from dpbench.report.summary import SweepSummary
from dpbench.report.terminal_table import MAX_ROWS, print_table
from dpbench.report.warning_texts import ERRORS_ARE_PRIVATE

Make = Callable[..., CellRecord]


@pytest.fixture
def make() -> Make:
    """A cell's row: its median error and what else is asked. Its runs scatter around it, each mechanism's in their own way."""

    def row(mechanism: str, error: float | None, epsilon: float = 0.8, *, spread: float = 0.01, **more: Any) -> CellRecord:
        params = {
            "mechanism": mechanism,
            "model": "linear",
            "dataset": "wine",
            "attack": "none",
            "epsilon": f"{epsilon:g}",
            "delta": "1e-06",
            "splits": "50 x 5-fold",
            **more.pop("params", {}),
        }
        tags = {"dpbench.sound": "true", "dpbench.private": "true", "dpbench.leaks": "", "dpbench.synthetic": "false"}
        metrics = {"privacy/epsilon_accounted": epsilon, "privacy/epsilon_budget": epsilon}
        metrics |= {"reference/no_privacy/rmse_median": 0.15, "reference/mean_predictor/rmse_median": 0.1772}
        if error is not None:
            names = {"median": 0.0, "mean": 0.0, "p20": -1.0, "p80": 1.0, "ci_low": -0.5, "ci_high": 0.5}
            metrics |= {f"utility/rmse_{name}": error + weight * spread for name, weight in names.items()}
        tags |= more.pop("tags", {})
        metrics |= more.pop("metrics", {})
        repeats = more.pop("repeats", 12)
        scatter = np.random.default_rng(crc32(mechanism.encode())).permutation(np.linspace(-1, 1, 2 * repeats))
        runs = {"repeat": np.repeat(np.arange(repeats), 2), "fold": np.tile([0, 1], repeats)}
        runs["utility/rmse"] = scatter * spread + (np.nan if error is None else error)
        runs |= more.pop("runs", {})
        leaks = [{"what": what, "why": why} for what, why in more.pop("leaks", {}).items()]
        for name in more.pop("without", ()):
            metrics.pop(name, None)
        return CellRecord(
            more.pop("state", "run"),
            params,
            tags,
            metrics,
            "rmse",
            more.pop("reason", ""),
            detail=DetailInMemory(ledger={"leaks": leaks}, runs=runs if repeats else {}),
        )

    return row


@pytest.fixture
def public(make: Make) -> CellRecord:
    """The non-private fit: better than everything, and not to be ranked."""
    tags = {"dpbench.sound": "false", "dpbench.private": "false"}
    return make("no_privacy", 0.0101, tags=tags, without=["privacy/epsilon_accounted"])


def answer(rows: Sequence[CellRecord]) -> list[str]:
    return SweepSummary(SweepRecord(tuple(rows), "command")).answer


def note(sweep: SweepRecord, figure: str | None) -> str:
    return note_of(SweepSummary(sweep), figure)


def printed(rows: Sequence[CellRecord]) -> str:
    out = io.StringIO()
    print_table(SweepSummary(SweepRecord(tuple(rows), "command")), out)
    return out.getvalue()


def body(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in text.splitlines() if line.startswith("│")]


class TestTable:
    def test_a_row_says_error_band_references_epsilon_and_guarantee(self, make: Make) -> None:
        text = printed([make("fm", 0.198512, 0.8, spread=0.02)])
        assert text.startswith("linear on wine: rmse on the scaled target, 50 x 5-fold")
        assert body(text) == [["fm", "0.8", "0.1985", "0.1785 - 0.2185", "0.1500", "0.1772", "0.8", "sound"]]

    def test_what_is_not_private_or_not_proven_or_leaks_says_so(self, make: Make, public: CellRecord) -> None:
        rows = [
            public,
            make("a", 0.2, tags={"dpbench.sound": "false"}),
            make("b", 0.2, tags={"dpbench.leaks": "bounds,lambda"}),
            make("c", 0.2),
        ]
        lines = body(printed(rows))
        assert [line[-1] for line in lines] == ["NOT PRIVATE", "UNPROVEN", "LEAKS bounds, lambda", "sound"]
        assert lines[0][-2] == "infinite"

    def test_a_cell_without_a_finite_error_has_none(self, make: Make) -> None:
        (line,) = body(printed([make("fm", None)]))
        assert line[2:4] == ["none", "none - none"]

    def test_each_model_and_dataset_has_a_table_and_synthetic_data_says_so(self, make: Make) -> None:
        synthetic = make("fm", 0.2, params={"dataset": "gaussian"}, tags={"dpbench.synthetic": "true"})
        text = printed([make("fm", 0.2), synthetic, make("fm", 0.2, params={"model": "ridge"})])
        titles = [line.strip() for line in text.splitlines() if "on the scaled target" in line]
        assert titles == [
            "linear on wine: rmse on the scaled target, 50 x 5-fold",
            "linear on gaussian, SYNTHETIC data: rmse on the scaled target, 50 x 5-fold",
            "ridge on wine: rmse on the scaled target, 50 x 5-fold",
        ]

    def test_piped_it_keeps_to_120_columns_and_a_row_to_a_line(self, make: Make) -> None:
        rows = [
            make(name, error, epsilon, spread=error / 3, params={"mechanism.ridge": "auto"})
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

    def test_very_large_and_very_small_numbers_are_not_cut(self, make: Make) -> None:
        options = {"mechanism.ridge": "auto", "dataset.sample_rate": "0.015625"}
        text = printed(
            [make("functional_mechanism", error, spread=error / 3, params=options) for error in (123456.7, 0.000012345)]
        )
        assert "…" not in text
        for number in ("1.235e+05", "8.230e+04 - 1.646e+05", "1.234e-05", "8.230e-06 - 1.646e-05"):
            assert number in text

    def test_many_swept_options_cut_no_number(self, make: Make) -> None:
        options = {"mechanism.convention": "monomial", "mechanism.sensitivity": "tight", "mechanism.until_bounded": "False"}
        options |= {"dataset.sample_rate": "0.015625", "model.penalty": "1e-05", "seed": "12345"}
        text = printed([make("functional_mechanism", 0.1985, params=options)])
        assert "…" not in text
        for number in ("0.1985", "0.1885 - 0.2085", "0.1500", "0.1772", "0.015625", "1e-05", "12345"):
            assert number in text

    def test_rows_that_differ_look_different(self, make: Make) -> None:
        changes = [{"mechanism.ridge": "2"}, {"seed": "1"}, {"delta": "1e-05"}, {"splits": "50 x hold-out 0.2"}]
        for change in changes:
            text = printed([make("fm", 0.2), make("fm", 0.2, params=change)])
            for value in change.values():
                assert value in text, change

    def test_a_value_in_brackets_is_shown(self, make: Make) -> None:
        text = printed(
            [make("fm", 0.2, params={"dataset.attributes": "[red]"}), make("fm", 0.2, params={"dataset.attributes": "None"})]
        )
        assert "[red]" in text

    def test_what_failed_or_was_pruned_stands_below_with_its_reason_once(self, make: Make) -> None:
        rows = [
            make("fm", 0.2),
            *[
                make("bad", None, epsilon, state="failed", reason="ValueError: [oops] (bad.py:3 in fit)")
                for epsilon in (0.1, 0.8)
            ],
            make("odd", None, state="pruned", reason="odd does not fit linear: no."),
        ]
        text = printed(rows)
        assert text.count("FAILED (2 cells): ValueError: [oops] (bad.py:3 in fit)") == 1
        assert text.count("PRUNED (1 cell): odd does not fit linear: no.") == 1
        assert [line[0] for line in body(text)] == ["fm"]

    def test_a_long_table_is_cut_and_says_so(self, make: Make) -> None:
        text = printed([make("fm", 0.2, 0.1 * (index + 1)) for index in range(MAX_ROWS + 7)])
        assert len(body(text)) == MAX_ROWS
        assert "7 more cells" in text

    def test_an_attack_shows_its_advantage_the_controls_that_have_one_and_the_cap(self, make: Make) -> None:
        found = {"attack/advantage_mean": 0.0134, "attack/cap": 0.05, "attack/gap_mean": -0.002}
        found |= {"attack/control/imputation/advantage_mean": 0.325, "attack/control/majority/advantage_mean": 0.0}
        text = printed([make("fm", 0.2, params={"attack": "model_inversion"}, metrics=found), make("fm", 0.2)])
        assert "linear on wine, attack model_inversion: rmse" in text
        attacked, plain = body(text)
        assert attacked[-6:-1] == ["0.8", "0.013", "0.325", "-0.002", "0.050"]
        header = next(line for line in text.splitlines() if "imputation" in line)
        assert "majority" not in header, "a control without advantage says nothing"
        assert plain[-2:] == ["0.8", "sound"]

    def test_nothing_is_printed_for_nothing(self) -> None:
        assert printed([]) == ""


class TestNote:
    def test_the_best_ranked_cell_of_each_epsilon_is_named(self, make: Make) -> None:
        rows = [make("fm", 0.30, 0.1), make("dpba", 0.20, 0.1), make("fm", 0.16, 3.2, spread=0.001), make("dpba", 0.17, 3.2)]
        first, second = answer(rows)
        assert first.startswith(
            "linear on wine at ε = 0.1: dpba has the lowest median rmse, 0.2, repeat by repeat lower than fm's "
        )
        assert "the mean predictor, which needs no features, does no worse (0.1772)" in first
        assert second.startswith(
            "linear on wine at ε = 3.2: fm has the lowest median rmse, 0.16, repeat by repeat lower than dpba"
        )
        assert "mean predictor" not in second

    @pytest.mark.parametrize(
        "tags",
        [{"dpbench.sound": "false"}, {"dpbench.private": "false"}, {"dpbench.leaks": "bounds_from_data"}, {"dpbench.sound": ""}],
        ids=["unsound", "not private", "leaks", "unknown"],
    )
    def test_what_is_not_sound_is_never_ranked(self, make: Make, tags: dict[str, str]) -> None:
        better = make("marvel", 0.001, tags=tags)
        (sentence,) = answer([better, make("fm", 0.2)])
        assert "fm is the only ranked cell, with a median rmse of 0.2 (mean 0.2, 95 % interval 0.195 to 0.205)" in sentence
        assert "marvel" not in sentence
        (sentence,) = answer([better, make("fm", 0.2), make("dpba", 0.3)])
        assert "fm has the lowest" in sentence
        assert "marvel" not in sentence
        (sentence,) = answer([better])
        assert "nothing is ranked" in sentence
        assert "marvel" not in sentence
        assert "| marvel |" in note(SweepRecord((better, make("fm", 0.2)), "command", run_id="id"), "error_vs_epsilon.png"), (
            "but it is in the table"
        )

    def test_failed_and_pruned_cells_are_not_ranked_either(self, make: Make) -> None:
        rows = [make("fm", 0.2), make("bad", 0.1, state="failed", reason="x"), make("odd", 0.1, state="pruned", reason="y")]
        (sentence,) = answer(rows)
        assert "fm is the only ranked cell, with" in sentence
        assert "bad" not in sentence
        assert "odd" not in sentence

    def test_a_cell_without_a_finite_error_does_not_win(self, make: Make) -> None:
        (sentence,) = answer([make("broken", None), make("fm", 0.2)])
        assert "fm is the only ranked cell with a finite error" in sentence
        (sentence,) = answer([make("broken", None)])
        assert "no run gave a finite error" in sentence

    def test_the_best_is_lower_by_a_shift_with_its_interval_and_p(self, make: Make) -> None:
        """The numbers are the paired test's: the median of the pairs' means, and with 12 repeats of one sign p = 2 / 2¹²."""
        rows = [make("dpba", 0.30), make("fm", 0.20)]
        (sentence,) = answer(rows)
        found = re.search(
            r"fm has the lowest .* lower than dpba's by (\S+) \(95 % interval (\S+) to (\S+), p = 0.00049\)", sentence
        )
        assert found is not None
        shift, low, high = map(float, found.groups())
        assert 0.08 < low < shift < high < 0.12
        assert shift == pytest.approx(0.1, abs=0.01)

    def test_what_the_test_does_not_separate_is_no_winner_and_has_a_number_of_repeats(self, make: Make) -> None:
        (sentence,) = answer([make("fm", 0.200), make("dpba", 0.2015)])
        assert re.search(r"not separated from (fm|dpba): about [\d,]+ more repeats would be needed", sentence)
        assert "lower than" not in sentence
        (sentence,) = answer([make("fm", 0.2, params={"mechanism.ridge": "2"}), make("fm", 0.2, params={"mechanism.ridge": "4"})])
        assert "not separated from fm (ridge=4): their errors are the same in every repeat" in sentence

    @pytest.mark.parametrize(("repeats", "words"), [(1, "1 repeat"), (5, "5 repeats")])
    def test_too_few_repeats_for_any_winner_say_so(self, make: Make, repeats: int, words: str) -> None:
        (sentence,) = answer([make("fm", 0.2, repeats=repeats), make("dpba", 0.9, repeats=repeats)])
        assert f"not separated from dpba: {words} cannot tell a difference from chance, at least 6 are needed" in sentence
        assert "lower than" not in sentence
        (sentence,) = answer([make("fm", 0.2, repeats=6), make("dpba", 0.9, repeats=6)])
        assert "lower than dpba's by" in sentence

    def test_of_many_each_is_either_lower_or_open(self, make: Make) -> None:
        rows = [make("a", 0.2), make("b", 0.2005), make("c", 0.3), make("d", 0.4), make("e", 0.5)]
        (sentence,) = answer(rows)
        first, other = ("a", "b") if "a has the lowest" in sentence else ("b", "a")
        assert f"{first} has the lowest" in sentence
        assert f"not separated from {other}: " in sentence
        assert "lower than c's by" in sentence
        assert "Holm-corrected p = " in sentence
        assert "and lower than 2 others" in sentence
        rows = [make(name, 0.2, repeats=7) for name in "abcdef"]
        (sentence,) = answer(rows)
        assert re.search(r"not separated from \w, \w, \w and 2 more: ", sentence)
        assert "at least 10 are needed" in sentence, "15 pairs at 7 repeats: 2 / 2¹⁰ is below 0.05 / 15"

    def test_repeats_that_hold_bad_runs_are_weighed_and_the_median_run_is_said(self, make: Make) -> None:
        """One fold in two goes wrong: the median run is the better one's, every repeat is the worse."""
        wild = make("wild", 0.2, runs={"utility/rmse": np.tile([0.2, 9.0], 12)})
        (sentence,) = answer([wild, make("fm", 0.3)])
        assert "fm has the lowest rmse in the median repeat, 0.3" in sentence
        assert "lower than wild's by 4.3" in sentence
        assert "in the median run wild's is lower, 0.2" in sentence

    def test_runs_that_are_left_out_are_counted(self, make: Make) -> None:
        errors = np.full(24, 0.4)
        errors[[3, 7]] = np.nan
        (sentence,) = answer([make("fm", 0.2), make("odd", 0.4, runs={"utility/rmse": errors})])
        assert "up to 2 runs of a pair are left out" in sentence

    def test_without_runs_the_intervals_of_the_means_are_all_there_is(self, make: Make) -> None:
        (apart,) = answer([make("fm", 0.20, repeats=0), make("dpba", 0.30, repeats=0)])
        assert "fm has the lowest median rmse, 0.2, dpba follows with 0.3" in apart
        assert "95 % intervals of the means, not paired: 0.195 to 0.205, 0.295 to 0.305" in apart
        (close,) = answer([make("fm", 0.200, repeats=0), make("dpba", 0.201, repeats=0)])
        assert "do not separate" in close
        lost = ["utility/rmse_ci_low", "utility/rmse_ci_high"]
        (nothing,) = answer([make("fm", 0.2, repeats=0, without=lost), make("dpba", 0.9, repeats=0, without=lost)])
        assert "not separated: there are neither runs nor intervals" in nothing

    def test_a_mechanisms_options_tell_its_cells_apart(self, make: Make) -> None:
        (sentence,) = answer([make("fm", 0.3, params={"mechanism.ridge": "2"}), make("fm", 0.2, params={"mechanism.ridge": "4"})])
        assert "fm (ridge=4) has the lowest" in sentence
        assert "lower than fm (ridge=2)'s by 0.1 " in sentence

    @pytest.mark.parametrize("key", ["dataset.n", "model.penalty", "delta", "splits"])
    def test_only_what_was_computed_on_the_same_problem_is_compared(self, make: Make, key: str) -> None:
        """An error on more data, another penalty or other splits says nothing about which mechanism is better."""
        hard = [make("fm", 0.30, params={key: "1"}), make("dpba", 0.40, params={key: "1"})]
        easy = [make("fm", 0.12, params={key: "2"}), make("dpba", 0.11, params={key: "2"})]
        sentences = answer([*hard, *easy])
        assert len(sentences) == 2
        assert any("fm has the lowest median rmse, 0.3, repeat by repeat lower than dpba's" in one for one in sentences)
        assert any("dpba has the lowest median rmse, 0.11, repeat by repeat lower than fm's" in one for one in sentences)

    def test_the_note_holds_the_answer_the_warning_the_figure_the_command_and_every_cell(
        self, make: Make, public: CellRecord
    ) -> None:
        rows = [make("fm", 0.2), public, make("bad", None, state="failed", reason="x"), make("old", 0.25, state="resumed")]
        text = note(SweepRecord(tuple(rows), "python -m dpbench -m epsilon=0.8", run_id="abc"), "error_vs_epsilon.png")
        assert text.startswith(
            "- linear on wine at ε = 0.8: fm has the lowest median rmse, 0.2, repeat by repeat lower than old's"
        )
        order = ["fm has the lowest", "![", ERRORS_ARE_PRIVATE, "`python -m dpbench"]
        assert sorted(order, key=text.index) == order
        assert "get-artifact?path=report/error_vs_epsilon.png&run_uuid=abc" in text
        table = [line for line in text.splitlines() if line.startswith("| ") and "mechanism" not in line]
        assert [line.split(" | ")[0] for line in table] == ["| fm", "| no_privacy", "| old"]
        assert "| infinite | NOT PRIVATE |" in text
        assert "1 cell failed" in text
        assert "SYNTHETIC" not in text.upper()
        assert "get-artifact" not in note(SweepRecord(tuple(rows), "command", run_id="abc"), None)

    @pytest.mark.parametrize("key", ["mechanism.ridge", "dataset.n", "model.penalty", "delta", "splits", "seed"])
    def test_no_two_lines_of_the_notes_table_look_alike(self, make: Make, key: str) -> None:
        text = note(SweepRecord((make("fm", 0.2, params={key: "17"}), make("fm", 0.2, params={key: "71"})), "command"), None)
        one, other = [line for line in text.splitlines() if line.startswith("| fm")]
        assert "17" in one
        assert "71" in other

    def test_where_nothing_ran_the_note_says_so_and_has_no_table(self, make: Make) -> None:
        rows = (make("bad", None, state="failed", reason="x"), make("odd", None, state="pruned", reason="y"))
        text = note(SweepRecord(rows, "command"), None)
        assert text.startswith("- Nothing ran, so nothing can be said: 1 cell failed and 1 cell pruned.")
        assert "| " not in text
        assert ERRORS_ARE_PRIVATE not in text

    def test_a_changed_preset_is_named_so_at_the_top(self, make: Make) -> None:
        preset = Preset(name="a/b", title="A paper, Figure 1")
        text = note(
            SweepRecord(
                (make("fm", 0.2),), "python -m dpbench -m experiment=a/b epsilon=7", ("experiment=a/b", "epsilon=7"), preset
            ),
            None,
        )
        assert text.startswith("**Not the paper's figure.** The preset was changed on the command line: `epsilon=7`.")
        assert "Not the paper's" not in note(
            SweepRecord((make("fm", 0.2),), "command", ("experiment=a/b", "quick=true"), preset), None
        )

    def test_noise_without_a_proof_is_called_unproven_beside_the_leaks(self, make: Make) -> None:
        tags = {"dpbench.sound": "false", "dpbench.leaks": "unproven_noise,cv"}
        row = make("odd", 0.2, tags=tags, leaks={"unproven_noise": "no proof", "cv": "chosen"})
        text = note(SweepRecord((row,), "command"), None)
        assert "UNPROVEN in 1 cell: no proof." in text
        assert "LEAKS in 1 cell: cv: chosen." in text
        assert "LEAKS in 1 cell: unproven" not in text

    def test_synthetic_data_is_named_so(self, make: Make) -> None:
        assert "**SYNTHETIC data.** The rows of wine were generated" in note(
            SweepRecord((make("fm", 0.2, tags={"dpbench.synthetic": "true"}),), "command"), None
        )


def test_a_row_is_ranked_only_when_it_is_done_private_proven_and_leaks_nothing(make: Make, public: CellRecord) -> None:
    assert make("fm", 0.2).ranked
    assert make("fm", 0.2, state="resumed").ranked
    assert not public.ranked
    assert not make("fm", 0.2, state="failed").ranked
    assert not make("fm", 0.2, tags={"dpbench.leaks": "x"}).ranked
    assert re.fullmatch("LEAKS x", make("fm", 0.2, tags={"dpbench.leaks": "x"}).guarantee)


def test_a_narrow_terminal_cuts_no_number_and_no_guarantee(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The references are in the title then; below what even that needs, lines wrap and nothing is lost."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for columns, words in ((80, "no privacy 0.1500, mean only 0.1772"), (30, "sound")):
        monkeypatch.setenv("COLUMNS", str(columns))
        out = Terminal()
        rows = (make("functional_mechanism", 0.1985), make("fm", 0.2, tags={"dpbench.leaks": "bounds_from_data"}))
        print_table(SweepSummary(SweepRecord(rows, "command")), out)
        text = out.getvalue()
        assert words in text
        for number in ("0.1985", "0.1885 - 0.2085", "0.8", "LEAKS bounds_from_data"):
            assert number in text, number
        assert "…" not in text


def test_what_is_only_claimed_stands_in_brackets_and_has_no_price(make: Make) -> None:
    rows = [make("odd", 0.1, epsilon, tags={"dpbench.sound": "false"}) for epsilon in (0.1, 0.8)]
    text = printed(rows)
    assert [line[-2] for line in body(text)] == ["(0.1)", "(0.8)"]
    assert "Releasing the best" not in text


def test_runs_without_weights_and_clipped_targets_are_said(make: Make) -> None:
    rows = [make("odd", 0.1, metrics={"health/not_finite": 0.25, "health/target_clipped": 0.62})]
    text = " ".join(printed(rows).split())
    assert "odd: up to 25% of the runs of a cell gave no finite weights" in text
    assert "wine: 62% of the targets lie outside the declared bounds" in text
    assert "outside the declared bounds" not in printed([make("fm", 0.1, metrics={"health/target_clipped": 0.005})])
