"""Figures show what the rows say, and say what they do not show."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.records.figure_spec import FigureSpec
from dpbench.records.preset import Preset
from dpbench.records.sweep_record import SweepRecord
from dpbench.report import labels as naming
from dpbench.report.figures import style
from dpbench.report.figures.catalog import CaptionedFigure, figures_of, save_figures
from dpbench.report.figures.panels import MAX_CURVES

EPSILONS = (0.1, 0.8, 3.2)
BLUE, VERMILION = "#0072B2", "#D55E00"
UNPROVEN = {"dpbench.sound": "false"}
PUBLIC = {"dpbench.sound": "false", "dpbench.private": "false"}
SYNTHETIC = {"dpbench.synthetic": "true"}


def cell(mechanism: str, error: float | None, epsilon: float = 0.8, **more: Any) -> CellRecord:
    """A cell with five runs around its error, and what else is asked."""
    params = {"mechanism": mechanism, "model": "linear", "dataset": "wine", "attack": "none", "epsilon": f"{epsilon:g}"}
    params |= {"delta": "1e-06", "splits": "1 x 5-fold", **more.get("params", {})}
    tags = {"dpbench.sound": "true", "dpbench.private": "true", "dpbench.leaks": "", "dpbench.synthetic": "false"}
    tags |= more.get("tags", {})
    metrics = {"reference/no_privacy/rmse_median": 0.15, "reference/mean_predictor/rmse_median": 0.1772}
    metrics |= {"privacy/epsilon_accounted": epsilon} if tags["dpbench.private"] == "true" else {}
    runs: dict[str, Any] = {"repeat": np.zeros(5)}
    if error is not None:
        shifts = {"median": 0.0, "mean": 0.5, "std": -error, "p20": -0.01, "p80": 0.02, "ci_low": 0.4, "ci_high": 0.6}
        metrics |= {f"utility/rmse_{name}": error + shift for name, shift in shifts.items()}
        metrics["utility/rmse_std"] = 0.5
        runs["utility/rmse"] = error + np.array([-0.02, -0.01, 0, 0.01, np.nan])
    metrics |= more.get("metrics", {})
    return CellRecord(
        more.get("state", "run"), params, tags, metrics, "rmse", detail=DetailInMemory(runs=runs, curves=more.get("curves", {}))
    )


def grid(*mechanisms: str, **more: Any) -> list[CellRecord]:
    """The mechanism's place in the list tells its error."""
    return [cell(name, (index + 1) / epsilon, epsilon, **more) for index, name in enumerate(mechanisms) for epsilon in EPSILONS]


def drawn(rows: Sequence[CellRecord], **more: Any) -> dict[str, CaptionedFigure]:
    return {picture.name: picture for picture in figures_of(SweepRecord(tuple(rows), "command", **more))}


def asked(rows: Sequence[CellRecord], **plot: Any) -> CaptionedFigure | None:
    """The preset's own figure."""
    preset = Preset(name="paper/fig1", title="A paper, Figure 1", shows="errors", figure=FigureSpec(**plot))
    return drawn(rows, preset=preset).get("figure")


def marks(axes: Axes, colour: str) -> list[tuple[float, float, bool]]:
    """The points of a colour: where they stand, and whether they are filled."""
    found = []
    for line in axes.lines:
        if line.get_color() == colour and line.get_marker() not in ("None", "", None):
            filled = line.get_markerfacecolor() == colour
            found += [(float(x), float(y), filled) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]
    return sorted(found)


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()] if figure.legends else []


def words(figure: Figure) -> str:
    return " ".join(" ".join(text.get_text() for text in figure.texts).split())


class TestErrorAgainstEpsilon:
    def test_points_bands_and_references_are_those_of_the_rows(self) -> None:
        figure = drawn(grid("fm", "dpba"))["error_vs_epsilon"].figure
        (axes,) = figure.axes
        assert marks(axes, BLUE) == [(0.1, 10.0, True), (0.8, 1.25, True), (3.2, 0.3125, True)]
        assert [y for _, y, _ in marks(axes, VERMILION)] == [20.0, 2.5, 0.625]
        band = axes.collections[0].get_paths()[0].vertices
        assert {(0.8, 1.24), (0.8, 1.27)} <= {(round(x, 6), round(y, 6)) for x, y in band}
        levels = {float(line.get_ydata()[0]) for line in axes.lines if line.get_color() == style.GREY}
        assert levels == {0.15, 0.1772}
        assert legend(figure) == ["fm", "dpba", "non-private fit", "mean predictor"]
        assert axes.get_xlabel() == "ε"
        assert axes.get_ylabel() == "root mean square error (scaled target)"
        assert axes.get_xscale() == "log"
        assert axes.get_yscale() == "log", "from 0.3 to 20"

    @pytest.mark.parametrize(
        "tags", [UNPROVEN, PUBLIC, {"dpbench.leaks": "bounds_from_data"}], ids=["unproven", "public", "leaks"]
    )
    def test_what_is_not_ranked_is_hollow_and_the_caption_says_why(self, tags: dict[str, str]) -> None:
        odd = cell("fm", 0.5, 0.8, tags=tags)
        picture = drawn([cell("fm", 0.6, 0.1), odd, cell("fm", 0.4, 3.2)])["error_vs_epsilon"]
        assert [filled for _, _, filled in marks(picture.figure.axes[0], BLUE)] == [True, False, True]
        assert f"Hollow: fm ({odd.guarantee})." in picture.caption
        assert "Hollow: not private, unproven or leaking." in words(picture.figure)

    def test_where_all_is_ranked_nothing_is_said_of_hollow_marks(self) -> None:
        picture = drawn(grid("fm"))["error_vs_epsilon"]
        assert "ollow" not in picture.caption + words(picture.figure)

    def test_problems_have_panels_of_their_own_and_an_attack_does_not_draw_a_fit_twice(self) -> None:
        rows = [
            *grid("fm"),
            *grid("fm", params={"attack": "odd"}),
            *grid("fm", params={"dataset": "other", "dataset.n": "7"}, tags=SYNTHETIC),
        ]
        axes = drawn(rows)["error_vs_epsilon"].figure.axes
        assert [one.get_title() for one in axes] == ["linear on wine", "linear on other, n=7, SYNTHETIC"]
        assert len(marks(axes[0], BLUE)) == 3

    def test_options_that_were_swept_make_curves(self) -> None:
        rows = [row for ridge in ("2", "4") for row in grid("fm", params={"mechanism.ridge": ridge})]
        assert legend(drawn([*rows, *grid("dpba")])["error_vs_epsilon"].figure)[:3] == ["fm (ridge=2)", "fm (ridge=4)", "dpba"]

    def test_missing_numbers_and_failed_cells_are_left_out(self) -> None:
        rows = [*grid("fm"), cell("odd", None), cell("bad", None, state="failed"), cell("no", 0.1, state="pruned")]
        assert legend(drawn(rows)["error_vs_epsilon"].figure)[:2] == ["fm", "non-private fit"]

    def test_with_one_epsilon_the_errors_run_along_what_else_was_swept(self) -> None:
        rows = [cell("fm", 1 / n, params={"dataset.n": str(n)}) for n in (10, 100, 1000)]
        found = drawn(rows)
        assert "error_vs_epsilon" not in found
        (axes,) = found["error_vs_n"].figure.axes
        assert [x for x, _, _ in marks(axes, BLUE)] == [10, 100, 1000]
        assert axes.get_xlabel() == "n"

    def test_a_mechanism_keeps_its_colour_in_every_figure(self) -> None:
        rows = [*grid("fm", "dpba"), *grid("fm", "dpba", params={"dataset": "other"})]
        rows = [
            replace(row, metrics={**row.metrics, "health/repaired": float(row.params["mechanism"] == "dpba")}) for row in rows
        ]
        found = drawn(rows)
        assert {"error_vs_epsilon", "health", "ranks"} <= found.keys()
        assert not marks(found["health"].figure.axes[0], BLUE)
        assert marks(found["health"].figure.axes[0], VERMILION)
        first, second = (next(iter(marks(found["ranks"].figure.axes[0], colour))) for colour in (BLUE, VERMILION))
        assert (first[0], second[0]) == (1.0, 2.0)

    def test_more_curves_than_can_be_told_apart_are_left_out_and_counted(self) -> None:
        picture = drawn(grid(*(f"m{index}" for index in range(MAX_CURVES + 3))))["error_vs_epsilon"]
        assert len(legend(picture.figure)) == MAX_CURVES + 2
        assert f"The first {MAX_CURVES} of {MAX_CURVES + 3} curves." in picture.caption


class TestGeneralFigures:
    def test_boxes_are_the_quartiles_of_the_finite_runs(self) -> None:
        (axes,) = drawn([cell("fm", 0.5)])["boxes"].figure.axes
        box = axes.patches[0].get_path().vertices[:, 1]
        assert box.min() == pytest.approx(0.4875)
        assert box.max() == pytest.approx(0.5025)
        medians = [float(line.get_ydata()[0]) for line in axes.lines if line.get_color() == "black" and len(line.get_ydata())]
        assert medians == [pytest.approx(0.495)]

    def test_of_many_values_some_have_boxes(self) -> None:
        (axes,) = drawn([cell("fm", 0.5, epsilon) for epsilon in range(1, 101)])["boxes"].figure.axes
        assert [text.get_text() for text in axes.get_xticklabels()][::11] == ["1", "100"]
        assert len(axes.patches) == 12

    def test_accounted_epsilons_are_shown_where_they_differ(self) -> None:
        assert "error_vs_accounted" not in drawn(grid("fm", "dpba"))
        rows = [cell("gauss", 0.3, epsilon, metrics={"privacy/epsilon_accounted": 5 * epsilon}) for epsilon in EPSILONS]
        rows = [*grid("fm"), *rows, *(cell("exact", 0.125, epsilon, tags=PUBLIC) for epsilon in EPSILONS)]
        (axes,) = drawn(rows)["error_vs_accounted"].figure.axes
        assert [x for x, _, _ in marks(axes, VERMILION)] == [0.5, 4.0, 16.0]
        levels = [line for line in axes.lines if set(line.get_ydata()) == {0.125}]
        assert [list(line.get_xdata()) for line in levels] == [[0, 1]], "what is not private is a level"

    def test_the_frontier_shows_the_attack_the_controls_and_a_cap_above_all_points(self) -> None:
        assert "attack_frontier" not in drawn(grid("fm"))
        found = {"attack/advantage_mean": 0.1, "attack/advantage_ci_low": 0.05, "attack/advantage_ci_high": 0.2}
        found |= {"attack/control/guess/advantage_mean": 0.3}
        caps = {0.1: 0.05, 0.8: 0.4, 3.2: 0.9}
        rows = [
            cell("fm", 0.5 / epsilon, epsilon, params={"attack": "odd"}, metrics={**found, "attack/cap": cap})
            for epsilon, cap in caps.items()
        ]
        figure = drawn(rows)["attack_frontier"].figure
        (axes,) = figure.axes
        assert [(round(x, 4), y) for x, y, _ in marks(axes, BLUE)] == [(0.1562, 0.1), (0.625, 0.1), (5.0, 0.1)]
        assert {text.get_text() for text in axes.texts} == {"0.1", "0.8", "3.2"}
        assert legend(figure) == ["fm", "control: guess", "cap at ε = 0.1", "cap at ε = 0.8"]
        assert axes.get_title() == "linear on wine, attack=odd"

    def test_time_needs_two_mechanisms(self) -> None:
        timed = {"time/fit_seconds": 0.02}
        assert "time_vs_error" not in drawn(grid("fm", metrics=timed))
        (axes,) = drawn(grid("fm", "dpba", metrics=timed))["time_vs_error"].figure.axes
        assert {x for x, _, _ in marks(axes, BLUE)} == {0.02}

    def test_health_shows_rates_above_zero_and_joins_those_that_agree(self) -> None:
        well = {f"health/{name}": 0.0 for name in ("not_positive_definite", "repaired", "diverged", "not_finite")}
        assert "health" not in drawn(grid("fm", metrics=well))
        ill = {**well, "health/not_positive_definite": 0.25, "health/repaired": 0.25, "health/not_finite": 0.5}
        figure = drawn([*grid("fm", metrics=ill), *grid("dpba", metrics=well)])["health"].figure
        assert [axes.get_title() for axes in figure.axes] == [
            "linear on wine\nnot positive definite, repaired",
            "linear on wine\nno finite weights",
        ]
        assert [{y for _, y, _ in marks(axes, BLUE)} for axes in figure.axes] == [{0.25}, {0.5}]
        assert legend(figure) == ["fm"]

    def test_ranks_need_several_datasets(self) -> None:
        assert "ranks" not in drawn(grid("fm", "dpba"))
        caption = drawn([*grid("fm", "dpba"), *grid("fm", "dpba", params={"dataset": "other"})])["ranks"].caption
        assert "over wine and other" in caption
        assert "too few datasets" in caption

    def test_ranks_say_in_the_picture_which_datasets_are_synthetic_and_that_there_is_no_critical_difference(self) -> None:
        rows = [*grid("fm", "dpba"), *grid("fm", "dpba", params={"dataset": "made"}, tags=SYNTHETIC)]
        said = words(drawn(rows)["ranks"].figure)
        assert "SYNTHETIC data: made." in said
        assert "No critical difference: too few datasets for one." in said


class TestAskedFigures:
    @pytest.mark.parametrize(("statistic", "y"), [("median", 1.25), ("mean", 1.75), ("variance", 0.25)])
    def test_the_statistic_is_the_one_that_is_asked_for(self, statistic: str, y: float) -> None:
        picture = asked(grid("fm"), statistic=statistic)
        assert picture
        assert marks(picture.figure.axes[0], BLUE)[1] == (0.8, y, True)
        assert picture.caption.startswith(f"A paper, Figure 1: errors; {statistic} over the 5 runs (1 x 5-fold) of each cell")

    def test_the_band_is_the_one_that_is_asked_for(self) -> None:
        for band, ends in (("quantiles", (1.24, 1.27)), ("confidence", (1.65, 1.85))):
            picture = asked(grid("fm"), band=band)
            assert picture
            found = {(round(x, 6), round(y, 6)) for x, y in picture.figure.axes[0].collections[0].get_paths()[0].vertices}
            assert {(0.8, ends[0]), (0.8, ends[1])} <= found
        picture = asked(grid("fm"), band=None)
        assert picture
        assert not picture.figure.axes[0].collections

    def test_each_panel_takes_the_first_metric_that_it_has(self) -> None:
        rate = [cell("fm", None, epsilon, params={"model": "odd"}, metrics={"utility/rate_mean": 0.2}) for epsilon in EPSILONS]
        picture = asked([*grid("fm"), *rate], y=("utility/rmse", "utility/rate"), statistic="mean")
        assert picture
        assert [axes.get_ylabel() for axes in picture.figure.axes][1] == "rate"

    def test_an_option_of_a_mechanism_can_be_the_axis_and_the_others_are_levels(self) -> None:
        rows = [cell("fm", 0.5 + share, params={"mechanism.share": f"{share}"}) for share in (0.1, 0.5, 0.9)]
        picture = asked([*rows, cell("dpba", 0.7)], x="mechanism.share", log=())
        assert picture
        (axes,) = picture.figure.axes
        assert marks(axes, BLUE) == [(0.1, 0.6, True), (0.5, 1.0, True), (0.9, 1.4, True)]
        assert [set(line.get_ydata()) for line in axes.lines if line.get_color() == VERMILION] == [{0.7}]

    def test_an_axis_of_words_has_a_place_for_each(self) -> None:
        rows = [cell("fm", 0.5, params={"dataset.level": text}) for text in ("1", "many", "3")]
        picture = asked(rows, x="dataset.level")
        assert picture
        (axes,) = picture.figure.axes
        assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "many", "3"]

    def test_what_else_varies_makes_curves_so_that_no_curve_folds_back(self) -> None:
        rows = [*grid("fm"), *grid("fm", params={"seed": "1"})]
        picture = asked([replace(row, params={"seed": "0", **row.params}) for row in rows])
        assert picture
        assert legend(picture.figure)[:2] == ["fm, seed=0", "fm, seed=1"]

    def test_named_references_are_drawn_over_the_axis(self) -> None:
        rows = [cell("fm", 0.5, epsilon, metrics={"attack/cap": epsilon / 4}) for epsilon in EPSILONS]
        picture = asked(rows, references=("attack/cap",))
        assert picture
        (line,) = [line for line in picture.figure.axes[0].lines if line.get_color() == style.GREY]
        assert list(line.get_ydata()) == [epsilon / 4 for epsilon in EPSILONS]
        assert legend(picture.figure)[-1] == "cap of the guarantee"

    def test_boxes_and_their_panels(self) -> None:
        picture = asked([*grid("fm"), *grid("fm", params={"dataset": "other"})], form="boxes", panels=("dataset",))
        assert picture
        assert [len(axes.patches) for axes in picture.figure.axes] == [3, 3]
        assert "box plots of the 5 runs" in picture.caption

    def test_a_roc_curve_is_the_recorded_one(self) -> None:
        x = np.linspace(0, 1, 5)
        curve = {"x": x, "median": x**0.5, "mean": x**0.25, "p20": x, "p80": np.ones(5)}
        rows = [cell("fm", 0.5, epsilon, curves={"utility/roc": curve}) for epsilon in (0.1, 0.8)]
        picture = asked([*rows, cell("dpba", 0.5)], form="roc", y=("utility/roc",), statistic="mean")
        assert picture
        (axes,) = picture.figure.axes
        assert any(np.array_equal(line.get_ydata(), x**0.25) for line in axes.lines)
        assert legend(picture.figure) == ["fm, ε = 0.1", "fm, ε = 0.8", "guessing"]
        assert asked(grid("fm"), form="roc", y=("utility/roc",)) is None

    def test_a_preset_that_was_changed_does_not_pretend_to_be_the_papers(self) -> None:
        preset = Preset(name="paper/fig1", title="A paper, Figure 1")
        command = "dpbench experiment=paper/fig1 dataset=gaussian epsilon=1,100"
        for plot in (FigureSpec(), FigureSpec(form="boxes")):
            changed = SweepRecord(tuple(grid("fm")), command, tuple(command.split()[1:]), replace(preset, figure=plot))
            picture = next(iter(figures_of(changed)))
            assert picture.title == "after A paper, Figure 1, changed: dataset=gaussian epsilon=1,100"
            assert picture.caption.startswith(picture.title)
            assert picture.title in words(picture.figure)
        as_it_is = next(
            iter(figures_of(SweepRecord(tuple(grid("fm")), "command", ("experiment=paper/fig1", "quick=true"), preset)))
        )
        assert as_it_is.title == "A paper, Figure 1"

    def test_of_several_options_those_in_words_go_by_their_values_alone(self) -> None:
        options = {"mechanism.variant": "published", "mechanism.ridge": "4", "mechanism.trim": "true"}
        rows = [*grid("fm", params=options), *grid("fm", params={**options, "mechanism.variant": "sound"})]
        names = ["fm: published, ridge=4, trim=true", "fm: sound, ridge=4, trim=true"]
        found = drawn([*rows, *(replace(row, params={**row.params, "dataset": "other"}) for row in rows)])
        assert legend(found["error_vs_epsilon"].figure)[:2] == names
        assert {text.get_text() for text in found["ranks"].figure.axes[0].texts} == set(names)


class TestStyle:
    def test_no_two_looks_of_a_figure_agree_in_colour_or_in_grey(self) -> None:
        names = [f"m{index}" for index in range(MAX_CURVES)]
        looks = style.curve_styles({name: (name, "") for name in names}).values()
        assert len({(look.colour, look.mark) for look in looks}) == MAX_CURVES
        assert len({(look.line, look.mark) for look in looks}) == MAX_CURVES
        pairs = {f"{one} {other}": (one, other) for one in names[:7] for other in names[:4]}
        assert len({(look.colour, look.mark) for look in style.curve_styles(pairs).values()}) == 28

    @pytest.mark.parametrize(
        ("values", "scale"),
        [([0.3, 0.5], "linear"), ([0.1, 40.0], "log"), ([-1.0, 0.5, 0.6, 1e9], "symlog"), ([-1.0, 2.0, float("inf")], "linear")],
    )
    def test_outliers_do_not_flatten_the_rest(self, values: list[float], scale: str) -> None:
        _, (axes,) = style.sheet(1, (3, 2), (3, 2))
        axes.plot(range(len(values)), values)
        style.scale(axes, "y", values)
        assert axes.get_yscale() == scale

    def test_the_ends_of_bands_do_not_flatten_the_points(self) -> None:
        """With two repeats an interval may reach below zero and a hundred times too far."""
        wild = {"utility/rmse_ci_low": -500.0, "utility/rmse_ci_high": 500.0}
        picture = asked(
            [cell("fm", 0.5 + index / 10, epsilon, metrics=wild) for index, epsilon in enumerate(EPSILONS)], band="confidence"
        )
        assert picture
        (axes,) = picture.figure.axes
        low, high = axes.get_ylim()
        assert axes.get_yscale() == "linear"
        assert low < 0.15
        assert high < 2
        assert "Bands are cut at the axis." in words(picture.figure)

    @pytest.mark.parametrize(("low", "scale"), [(0.02, "log"), (-30.0, "symlog")])
    def test_a_band_of_the_runs_is_seen_whole(self, low: float, scale: str) -> None:
        wide = {"utility/rmse_p20": low, "utility/rmse_p80": 50.0, "time/fit_seconds": 0.02}
        rows = [cell(name, 0.5 + index / 10, e, metrics=wide) for name in ("fm", "dpba") for index, e in enumerate(EPSILONS)]
        rows = [replace(row, metrics={k: v for k, v in row.metrics.items() if "reference" not in k}) for row in rows]
        for name in ("error_vs_epsilon", "time_vs_error"):
            figure = drawn(rows)[name].figure
            (axes,) = figure.axes
            assert axes.get_yscale() == scale
            assert axes.get_ylim()[0] < low
            assert "cut" not in words(figure)
            assert axes.get_ylim()[1] > 50

    def test_signed_bands_of_the_runs_are_seen_whole_on_both_sides_of_zero(self) -> None:
        _, (axes,) = style.sheet(1, (3, 2), (3, 2))
        assert style.scale(axes, "y", [-0.5, 0.2, 0.4], ends=[-30.0, 50.0], whole=True) == 0
        assert axes.get_yscale() == "symlog"
        assert axes.get_ylim()[0] < -30
        assert axes.get_ylim()[1] > 50
        _, (axes,) = style.sheet(1, (3, 2), (3, 2))
        assert style.scale(axes, "y", [-0.5, 0.2, 0.4], ends=[-30.0, 50.0]) == 2

    def test_a_bar_that_is_cut_is_called_a_bar(self) -> None:
        found = {"attack/advantage_mean": 0.1, "attack/advantage_ci_low": -9.0, "attack/advantage_ci_high": 9.0}
        rows = [cell("fm", 0.5 / epsilon, epsilon, metrics={**found, "attack/cap": 0.3}) for epsilon in EPSILONS]
        assert "Bars are cut at the axis." in words(drawn(rows)["attack_frontier"].figure)

    def test_a_run_far_away_does_not_make_dashes_of_the_boxes_and_is_counted(self) -> None:
        rows = grid("fm")[:0]
        for mechanism in ("fm", "dpba"):
            row = cell(mechanism, 0.5)
            runs = {**row.detail.runs, "utility/rmse": np.array([0.47, 0.48, 0.5, 0.51, 0.53, 4.4])}
            rows.append(replace(row, detail=DetailInMemory(runs=runs)))
        figure = drawn(rows)["boxes"].figure
        (axes,) = figure.axes
        assert axes.get_ylim()[1] < 2
        assert "2 runs beyond the axis: triangles at its end." in words(figure)
        assert [y for _, y, _ in marks(axes, BLUE) if y == axes.get_ylim()[1]], "a triangle"

    def test_boxes_that_would_be_dashes_have_a_logarithmic_axis(self) -> None:
        rows = [cell("fm", error, epsilon) for error, epsilon in zip((2.0, 0.3, 0.25), EPSILONS, strict=True)]
        assert drawn(rows)["boxes"].figure.axes[0].get_yscale() == "log"
        assert drawn(rows[1:])["boxes"].figure.axes[0].get_yscale() == "linear"

    def test_ranked_marks_stand_above_hollow_ones_and_leave_their_rim_to_be_seen(self) -> None:
        rows = [*grid("fm"), *(cell("other", 1 / epsilon, epsilon, tags=UNPROVEN) for epsilon in EPSILONS)]
        figure = drawn(rows)["error_vs_epsilon"].figure
        drawn_marks = [line for line in figure.axes[0].lines if line.get_marker() not in ("None", "", None)]
        filled, hollow = drawn_marks
        assert filled.get_zorder() > hollow.get_zorder()
        assert filled.get_markersize() < hollow.get_markersize()
        assert "Where curves coincide, their marks overlap." in words(figure)
        assert "coincide" not in words(drawn(grid("fm", "other"))["error_vs_epsilon"].figure)

    def test_an_interval_below_zero_is_seen_where_there_is_a_below(self) -> None:
        found = {"attack/advantage_mean": 0.1, "attack/advantage_ci_low": -0.05, "attack/advantage_ci_high": 0.25}
        figure = drawn([cell("fm", 0.5 / epsilon, epsilon, metrics={**found, "attack/cap": 0.3}) for epsilon in EPSILONS])
        assert figure["attack_frontier"].figure.axes[0].get_ylim()[0] < -0.05

    def test_nothing_is_cut_and_nothing_overlaps(self) -> None:
        """Every text lies within the figure, and the legend below all axes."""
        long = [row for index in range(6) for row in grid(f"a_mechanism_with_a_long_name_{index}")]
        other = [replace(row, params={**row.params, "dataset": "another", "dataset.variant": "with_options"}) for row in long]
        with style.styled():
            for picture in drawn([*long, *other]).values():
                figure = picture.figure
                renderer = FigureCanvasAgg(figure).get_renderer()
                figure.draw(renderer)
                parts = [part for axes in figure.axes for part in (axes.title, axes.yaxis.label, *axes.texts)]
                for text in [*figure.texts, *parts]:
                    box = text.get_window_extent(renderer)
                    assert box.x0 >= 0, text
                    assert box.x1 <= figure.bbox.x1 + 1, text
                    assert box.y1 <= figure.bbox.y1 + 1, text
                lowest = min(axes.get_tightbbox(renderer).y0 for axes in figure.axes)
                if figure.legends:
                    below = figure.legends[0].get_window_extent(renderer)
                    assert below.y1 <= lowest + 1
                    assert below.x0 >= 0


class TestFiles:
    def test_they_are_real_pictures_in_the_order_that_is_told(self, tmp_path: Path) -> None:
        preset = Preset(name="paper/fig1", title="A paper, Figure 1")
        found = save_figures(SweepRecord(tuple(grid("fm", "dpba")), "command", preset=preset), tmp_path / "report")
        assert [one.name for one in found] == ["figure", "error_vs_epsilon", "boxes"]
        assert found[0].title == "A paper, Figure 1"
        assert {path.name for path in (tmp_path / "report").iterdir()} == {
            f"{one.name}.{kind}" for one in found for kind in ("png", "pdf")
        }
        for one in found:
            image = matplotlib.image.imread(tmp_path / "report" / f"{one.name}.png")
            assert min(image.shape[:2]) > 300
            assert image[..., :3].std() > 0.02
            assert (tmp_path / "report" / f"{one.name}.pdf").read_bytes().startswith(b"%PDF")
        image = matplotlib.image.imread(tmp_path / "report" / "error_vs_epsilon.png")
        colours = {tuple(pixel) for pixel in (image[..., :3] * 255).round().astype(int).reshape(-1, 3)}
        assert {(0, 0x72, 0xB2), (0xD5, 0x5E, 0)} <= colours, "a curve of each mechanism"
        assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()

    @pytest.mark.parametrize(
        "rows", [[], [cell("fm", None)], [cell("fm", None, state="failed")]], ids=["none", "no error", "failed"]
    )
    def test_with_nothing_to_draw_nothing_is_written(self, tmp_path: Path, rows: list[CellRecord]) -> None:
        assert save_figures(SweepRecord(tuple(rows), "command"), tmp_path / "report") == []
        assert list(tmp_path.iterdir()) == []

    def test_synthetic_data_and_quick_runs_are_said_in_picture_and_caption(self) -> None:
        rows = [*grid("fm", "dpba"), *grid("fm", "dpba", params={"dataset": "made"}, tags=SYNTHETIC)]
        preset = Preset(name="paper/fig1", title="A paper, Figure 1")
        for picture in drawn(rows, preset=preset, quick=True).values():
            assert "SYNTHETIC data: made." in picture.caption
            assert "first look only" in picture.caption
            assert "SYNTHETIC" in words(picture.figure)
        for picture in drawn(grid("fm", "dpba")).values():
            assert "SYNTHETIC" not in picture.caption + words(picture.figure)
            assert "first look" not in picture.caption


def test_short_names_never_agree() -> None:
    names = ["m (a=x, b=y)", "m (a=x, c=y)"]
    assert list(naming.shortened(names).values()) == names
    assert naming.shortened([names[0], "m (a=x)", "m"]) == {names[0]: "m: x, y", "m (a=x)": "m (a=x)", "m": "m"}


def test_an_option_is_named_with_its_help_text_if_that_is_short() -> None:
    help_texts = {"mechanism.share": "the quadratic coefficients' share of ε", "mechanism.long": "words " * 20}
    assert naming.label_of("mechanism.share", help_texts) == "share: the quadratic coefficients' share of ε"
    assert [naming.label_of(f"mechanism.{name}", help_texts) for name in ("long", "bare", "other_option")] == [
        "long",
        "bare",
        "other option",
    ]
    assert naming.label_of("epsilon", {"epsilon": "the budget"}) == "ε"


def test_no_tick_label_leaves_the_figure() -> None:
    for log, values in ((True, [0.00012, 0.0003501]), (False, [0.0, 0.0100025])):
        figure, (axes,) = style.sheet(1, (3, 2), (3, 2))
        style.scale(axes, "x", values, log=log)
        style.finish(figure, [], "title", "")
        renderer = FigureCanvasAgg(figure).get_renderer()
        figure.draw(renderer)
        labels = [text for text in axes.get_xticklabels() if text.get_text()]
        assert len(labels) > 1
        assert all(text.get_window_extent(renderer).x0 >= 0 for text in labels)
        assert all(text.get_window_extent(renderer).x1 <= figure.bbox.x1 for text in labels)


def test_names_on_axes_are_words() -> None:
    assert naming.label_of("utility/mse") == "mean square error (scaled target)"
    assert naming.label_of("dataset.sample_rate") == "share of the rows used"
    assert naming.label_of("utility/excess_rmse").endswith("minus the non-private fit's")
    assert naming.label_of("health/odd_event") == "odd event"
    assert naming.reference("attack/control/some_guess/advantage") == "control: some guess"
