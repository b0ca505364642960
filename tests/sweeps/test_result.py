"""The result of a sweep: a frame of few columns, all columns, the answer, a plot, the report, and a page for notebooks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot

import dpbench
from dpbench.base.errors import Refused
from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.sweeps.result import Result, _percent

SMALL: dict[str, Any] = {"dataset": "wine", "splits.repeats": 2, "splits.folds": 2}
PRUNED = CellRecord("pruned", {"dataset": "wine", "model": "robust", "mechanism": "fm", "epsilon": "1.0"}, reason="why")


@pytest.fixture(scope="module")
def result() -> Result:
    return dpbench.sweep(SMALL, mechanism=["fm", "no_privacy"], epsilon=[0.1, 0.8], record=False)


def test_the_frame_has_few_columns_with_short_names(result: Result) -> None:
    frame = result.frame
    assert len(frame) == len(result) == 3
    assert len(frame.columns) <= 18
    assert all(name.isidentifier() for name in frame.columns)
    assert frame["mechanism"].tolist() == ["fm", "fm", "no_privacy"]
    assert frame["epsilon"].tolist()[:2] == frame["epsilon_accounted"].tolist()[:2] == [0.1, 0.8]
    for name in ("epsilon", "epsilon_accounted", "delta"):
        assert frame[name].isna().tolist() == [False, False, True]


def test_booleans_are_booleans_and_filter_the_frame(result: Result) -> None:
    frame = result.frame
    assert frame["sound"].dtype == frame["ranked"].dtype == bool
    assert frame[frame["ranked"]]["mechanism"].tolist() == ["fm", "fm"]


def test_its_numbers_are_those_of_all_columns(result: Result) -> None:
    metric = result.frame["metric"][0]
    for column, name in {"error": "utility/{}_median", "error_p20": "utility/{}_p20", "error_p80": "utility/{}_p80"}.items():
        assert result.frame[column].tolist() == result.full[name.format(metric)].tolist()
    assert result.frame["lost"].tolist()[2] == pytest.approx(0)
    assert len(result.full.columns) > 50


def test_all_columns_can_be_filtered_by_what_is_true(result: Result) -> None:
    full = result.full
    assert full[full["dpbench.private"]]["mechanism"].tolist() == ["fm", "fm"]
    assert full[~full["dpbench.private"]]["mechanism"].tolist() == ["no_privacy"]


def test_a_cell_that_did_not_run_is_neither_true_nor_false_among_all_columns(make_cell: Callable[..., CellRecord]) -> None:
    full = Result(SweepRecord((make_cell("fm", 0.3), PRUNED), "command")).full
    assert full[full["dpbench.sound"]]["mechanism"].tolist() == ["fm"]
    assert full["dpbench.sound"].isna().tolist() == [False, True]


def test_keys_that_vary_are_columns_and_fixed_ones_are_not() -> None:
    swept = dpbench.sweep({**SMALL, "mechanism.ridge": [2, 4]}, mechanism="fm", record=False)
    assert swept.frame["mechanism.ridge"].tolist() == [2, 4]
    assert "splits" not in swept.frame
    axes = swept.plot()
    assert [text.get_text() for text in axes.get_legend().get_texts()][:2] == ["fm, ridge=2", "fm, ridge=4"]
    pyplot.close("all")


def test_keys_that_vary_have_types(make_cell: Callable[..., CellRecord]) -> None:
    cell = make_cell("fm", 0.3)
    texts = {
        "mechanism.ridge": ("2", "4.5"),
        "clipped": ("true", "false"),
        "mechanism.repair": ("trim", "floor"),
        "seed": ("1", "x"),
    }
    cells = [replace(cell, params={**cell.params, **{key: pair[index] for key, pair in texts.items()}}) for index in (0, 1)]
    frame = Result(SweepRecord(tuple(cells), "command")).frame
    assert frame["mechanism.ridge"].tolist() == [2, 4.5]
    assert frame["clipped"].dtype == bool
    assert frame["mechanism.repair"].tolist() == ["trim", "floor"]
    assert frame["seed"].tolist() == ["1", "x"]


def test_the_answer_is_what_the_command_prints(result: Result) -> None:
    assert result.answer == "\n".join(result.summary.headlines)
    assert result.answer in repr(result)


def test_a_plot_returns_axes_with_a_curve_for_each_private_mechanism_and_both_references(result: Result) -> None:
    axes = result.plot()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["fm", "no privacy", "mean only"]
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.1", "0.8"]
    assert axes.get_ylabel() == "median rmse on the scaled target"
    assert result.plot(axes) is axes
    with pytest.raises(Refused, match=r"ax must be matplotlib axes.*Got 3 instead"):
        result.plot(3)
    pyplot.close("all")


def test_a_plot_of_nothing_says_where_the_reasons_are() -> None:
    with pytest.raises(Refused, match=r"None of this sweep's has one; their reasons are in \.frame"):
        Result(SweepRecord((PRUNED,), "command")).plot()


def test_a_plot_of_several_problems_names_the_references_of_each() -> None:
    swept = dpbench.sweep({**SMALL, "model": ["linear", "ridge"]}, mechanism="fm", epsilon=[0.1, 1.0], record=False)
    entries = [text.get_text() for text in swept.plot().get_legend().get_texts()]
    assert entries[:2] == ["fm, linear", "no privacy: wine, linear"]
    assert len(set(entries)) == len(entries) == 6
    pyplot.close("all")


def test_the_report_is_written_and_its_path_returned(result: Result, tmp_path: Path) -> None:
    page = result.report(tmp_path / "report")
    assert page.is_file()
    assert "fm" in page.read_text(encoding="utf-8")


def test_a_notebook_shows_the_answer_and_escapes_names(result: Result, make_cell: Callable[..., CellRecord]) -> None:
    shown = result._repr_html_()
    assert "<table" in shown
    assert "no_privacy" in shown
    cell = make_cell("fm", 0.3)
    odd = replace(cell, params={**cell.params, "dataset": "<b>wages</b>"})
    assert "<b>wages" not in Result(SweepRecord((odd,), "command"))._repr_html_()


def test_cells_without_results_have_rows_with_reasons() -> None:
    frame = Result(SweepRecord((PRUNED,), "command")).frame
    assert frame[["state", "reason"]].to_numpy().tolist() == [["pruned", "why"]]
    assert frame["ranked"].tolist() == [False]
    assert frame["error"].isna().all()
    shown = Result(SweepRecord((PRUNED,), "command"))._repr_html_()
    assert "why" in shown
    assert "mean_only" not in shown


def test_a_notebook_shows_few_of_many_rows_and_no_minus_before_zero(make_cell: Callable[..., CellRecord]) -> None:
    cells = tuple(make_cell("fm", 0.3, epsilon=1 + index / 100) for index in range(100))
    assert Result(SweepRecord(cells, "command"))._repr_html_().count("<tr") < 40
    assert _percent(-1e-12) == "0.0 %"
