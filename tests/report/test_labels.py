"""Parameters and metrics have words on axes and in legends."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cell_factory import make_cell, make_sweep

from dpbench.report import labels


def test_short_names_never_agree() -> None:
    names = ["m (a=x, b=y)", "m (a=x, c=y)"]
    assert list(labels.shortened(names).values()) == names
    assert labels.shortened([names[0], "m (a=x)", "m"]) == {names[0]: "m: x, y", "m (a=x)": "m (a=x)", "m": "m"}


def test_an_option_is_named_with_its_help_text_if_that_is_short() -> None:
    help_texts = {"mechanism.share": "the quadratic coefficients' share of ε", "mechanism.long": "words " * 20}
    sweep = make_sweep([], option_help={**help_texts, "epsilon": "the budget"})
    assert labels.label_of("mechanism.share", sweep) == "share: the quadratic coefficients' share of ε"
    names = ("long", "bare", "other_option")
    assert [labels.label_of(f"mechanism.{name}", sweep) for name in names] == ["long", "bare", "other option"]
    assert labels.label_of("epsilon", sweep) == "ε"


@pytest.mark.parametrize(("length", "shown"), [(49, True), (50, False)])
def test_a_help_text_of_fifty_characters_does_not_fit_an_axis(length: int, shown: bool) -> None:
    sweep = make_sweep([], option_help={"mechanism.share": "x" * length})
    assert (labels.label_of("mechanism.share", sweep) != "share") is shown


def test_a_metric_has_the_label_that_is_recorded_with_the_sweep() -> None:
    sweep = make_sweep([])
    assert labels.label_of("utility/rmse", sweep) == "root mean square error (scaled target)"
    assert labels.label_of("utility/excess_rmse", sweep).endswith("(scaled target), minus the non-private fit's")
    assert labels.label_of("utility/rmse") == "rmse", "a sweep that did not record it"
    assert labels.label_of("dataset.sample_rate", sweep) == "share of the rows used"
    assert labels.label_of("health/odd_event", sweep) == "odd event"


def test_a_level_line_is_named_after_what_it_stands_for() -> None:
    assert labels.reference("attack/control/some_guess/advantage") == "control: some guess"
    assert labels.reference("reference/no_privacy/rmse") == "non-private fit"
    assert labels.reference("reference/other_fit/rmse") == "other fit"
    assert labels.reference("attack/cap") == "cap of the guarantee"


def test_a_metric_on_the_scaled_target_says_so() -> None:
    assert labels.with_scale(make_cell(), make_sweep([])) == "rmse on the scaled target"
    log = make_cell(tags={"dpbench.target_transform": "log"})
    assert labels.with_scale(log, make_sweep([])) == "rmse on the scaled target (log)"
    assert labels.with_scale(replace(make_cell(), primary="auc"), make_sweep([])) == "auc"


@pytest.mark.parametrize(
    ("units", "heading"),
    [
        (["USD"], "in USD"),
        (["USD", "EUR"], "in its unit"),
        ([""], "in its unit"),
        (["dollars of the year 2011"], "in its unit"),
        ([], ""),
    ],
)
def test_errors_in_the_unit_have_a_heading_where_they_differ_from_the_scaled_ones(units, heading) -> None:
    cells = [make_cell(error=0.2, metrics={"utility/rmse_raw_median": 9.0}, tags={"dpbench.target_unit": unit}) for unit in units]
    same = make_cell(error=0.2, metrics={"utility/rmse_raw_median": 0.2}, tags={"dpbench.target_unit": "share"})
    assert labels.unit_heading([*cells, same, make_cell(error=None)]) == heading


def test_a_setting_has_its_name_unless_it_is_a_component() -> None:
    settings = {"mechanism": "fm", "epsilon": "0.8", "dataset.n": "300"}
    assert [labels.setting(*item) for item in settings.items()] == ["fm", "ε = 0.8", "n=300"]


def test_a_panel_is_titled_by_its_problem() -> None:
    cell = make_cell(synthetic=True, params={"dataset.n": "7"})
    assert labels.problem_title(cell, ("model", "dataset", "dataset.n")) == "linear on wine, n=7, SYNTHETIC"
