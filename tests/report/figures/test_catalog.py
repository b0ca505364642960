"""Each figure is drawn where it has something to show, and its caption says what is hollow, synthetic or omitted."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import matplotlib.image
import pytest
from matplotlib.figure import Figure
from report_helpers import BLUE, EPSILONS, PUBLIC, SYNTHETIC, UNPROVEN, VERMILION, drawn, figure_cell, grid, legend, marks, words

from dpbench.base.errors import Omissions
from dpbench.records.cell_record import CellRecord
from dpbench.records.mechanism_style import mechanism_style
from dpbench.records.preset import FigureSpec, Preset
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.figures import catalog
from dpbench.report.figures.catalog import figures_of, save_figures
from dpbench.report.figures.panels import FigureData


@pytest.mark.parametrize("tags", [UNPROVEN, PUBLIC, {"dpbench.leaks": "bounds_from_data"}], ids=["unproven", "public", "leaks"])
def test_what_is_not_ranked_is_hollow_and_the_caption_says_why(tags: dict[str, str]) -> None:
    odd = figure_cell("fm", 0.5, 0.8, tags=tags)
    picture = drawn([figure_cell("fm", 0.6, 0.1), odd, figure_cell("fm", 0.4, 3.2)])["error_vs_epsilon"]
    assert [filled for _, _, filled in marks(picture.figure.axes[0], BLUE)] == [True, False, True]
    assert f"Hollow: fm ({odd.guarantee})." in picture.caption
    assert "Hollow: not private, unproven or leaking." in words(picture.figure)


def test_curves_whose_bounds_follow_different_rules_are_named_in_the_caption() -> None:
    def caption(rule: str, **params: str) -> str:
        cells = [
            figure_cell(mechanism, 0.3, epsilon, tags={"dpbench.sensitivity": bound}, params=params)
            for mechanism, bound in (("privr", "tight"), ("fm", rule))
            for epsilon in (0.1, 0.8)
        ]
        return drawn(cells)["error_vs_epsilon"].caption

    assert "do not compare the mechanisms: privr (tight); fm (fang)." in caption("fang")
    assert "rules" not in caption("tight")
    assert "rules" not in caption("fang", **{"mechanism.sensitivity": "fang"}), "then the names of the curves say it"


def test_where_all_is_ranked_nothing_is_said_of_hollow_marks() -> None:
    picture = drawn(grid("fm"))["error_vs_epsilon"]
    assert "ollow" not in picture.caption + words(picture.figure)


def test_a_mechanism_keeps_its_colour_in_every_figure() -> None:
    rows = [*grid("fm", "dpba"), *grid("fm", "dpba", params={"dataset": "other"})]
    rows = [replace(row, metrics={**row.metrics, "health/repaired": float(row.params["mechanism"] == "dpba")}) for row in rows]
    found = drawn(rows)
    assert {"error_vs_epsilon", "health", "ranks"} <= found.keys()
    assert not marks(found["health"].figure.axes[0], BLUE)
    assert marks(found["health"].figure.axes[0], VERMILION)
    first, second = (next(iter(marks(found["ranks"].figure.axes[0], colour))) for colour in (BLUE, VERMILION))
    assert (first[0], second[0]) == (1.0, 2.0)


def test_accounted_epsilons_are_shown_where_they_differ() -> None:
    assert "error_vs_accounted" not in drawn(grid("fm", "dpba"))
    rows = [figure_cell("gauss", 0.3, epsilon, metrics={"privacy/epsilon_accounted": 5 * epsilon}) for epsilon in EPSILONS]
    rows = [*grid("fm"), *rows, *(figure_cell("exact", 0.125, epsilon, tags=PUBLIC) for epsilon in EPSILONS)]
    (axes,) = drawn(rows)["error_vs_accounted"].figure.axes
    assert [x for x, _, _ in marks(axes, mechanism_style("gauss").colour)] == [0.5, 4.0, 16.0]
    levels = [line for line in axes.lines if set(line.get_ydata()) == {0.125}]
    assert [list(line.get_xdata()) for line in levels] == [[0, 1]], "what is not private is a level"


def test_the_frontier_shows_the_attack_the_controls_and_a_cap_above_all_points() -> None:
    assert "attack_frontier" not in drawn(grid("fm"))
    found = {"attack/advantage_mean": 0.1, "attack/advantage_ci_low": 0.05, "attack/advantage_ci_high": 0.2}
    found |= {"attack/control/guess/advantage_mean": 0.3}
    caps = {0.1: 0.05, 0.8: 0.4, 3.2: 0.9}
    rows = [
        figure_cell("fm", 0.5 / epsilon, epsilon, params={"attack": "odd"}, metrics={**found, "attack/cap": cap})
        for epsilon, cap in caps.items()
    ]
    figure = drawn(rows)["attack_frontier"].figure
    (axes,) = figure.axes
    assert [(round(x, 4), y) for x, y, _ in marks(axes, BLUE)] == [(0.1562, 0.1), (0.625, 0.1), (5.0, 0.1)]
    assert {text.get_text() for text in axes.texts} == {"0.1", "0.8", "3.2"}
    assert legend(figure) == ["fm", "control: guess", "cap at ε = 0.1", "cap at ε = 0.8"]
    assert axes.get_title() == "linear on wine, attack=odd"


def test_time_needs_two_mechanisms_whose_times_differ() -> None:
    timed, slow = {"time/fit_seconds": 0.02}, {"time/fit_seconds": 0.2}
    assert "time_vs_error" not in drawn(grid("fm", metrics=timed))
    assert "time_vs_error" not in drawn(grid("fm", "dpba", metrics=timed))
    (axes,) = drawn([*grid("fm", metrics=timed), *grid("dpba", metrics=slow)])["time_vs_error"].figure.axes
    assert {x for x, _, _ in marks(axes, BLUE)} == {0.02}


def test_health_shows_rates_above_zero_and_joins_those_that_agree() -> None:
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


def test_a_preset_that_was_changed_does_not_pretend_to_be_the_papers() -> None:
    preset = Preset(name="paper/fig1", title="A paper, Figure 1")
    command = "dpbench experiment=paper/fig1 dataset=gaussian epsilon=1,100"
    for plot in (FigureSpec(), FigureSpec(form="boxes")):
        changed = SweepRecord(tuple(grid("fm")), command, tuple(command.split()[1:]), replace(preset, figure=plot))
        picture = next(iter(figures_of(changed)))
        assert picture.title == "after A paper, Figure 1, changed: dataset=gaussian epsilon=1,100"
        assert picture.caption.startswith(picture.title)
        assert picture.title in words(picture.figure)
    as_it_is = next(iter(figures_of(SweepRecord(tuple(grid("fm")), "command", ("experiment=paper/fig1", "quick=true"), preset))))
    assert as_it_is.title == "A paper, Figure 1"


def test_of_several_options_those_in_words_go_by_their_values_alone() -> None:
    options = {"mechanism.variant": "published", "mechanism.ridge": "4", "mechanism.trim": "true"}
    rows = [*grid("fm", params=options), *grid("fm", params={**options, "mechanism.variant": "sound"})]
    names = ["fm: published, ridge=4, trim=true", "fm: sound, ridge=4, trim=true"]
    found = drawn([*rows, *(replace(row, params={**row.params, "dataset": "other"}) for row in rows)])
    assert legend(found["error_vs_epsilon"].figure)[:2] == names
    assert {text.get_text() for text in found["ranks"].figure.axes[0].texts} == set(names)


def test_they_are_real_pictures_in_the_order_that_is_told(tmp_path: Path) -> None:
    preset = Preset(name="paper/fig1", title="A paper, Figure 1")
    found = save_figures(SweepRecord(tuple(grid("fm", "dpba")), "command", preset=preset), tmp_path / "report", Omissions())
    assert [one.name for one in found] == ["figure", "error_vs_epsilon", "boxes"]
    assert found[0].title == "A paper, Figure 1"
    assert {path.name for path in (tmp_path / "report").iterdir()} == {
        f"{one.name}{kind}" for one in found for kind in (".png", ".pdf", "_column.pdf")
    }
    general = SweepRecord(tuple(grid("fm", "dpba")), "command")
    names = [one.name for one in save_figures(general, tmp_path / "screen", Omissions(), pdfs=False)]
    assert {path.name for path in (tmp_path / "screen").iterdir()} == {f"{name}.png" for name in names}
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
    "rows", [[], [figure_cell("fm", None)], [figure_cell("fm", None, state="failed")]], ids=["none", "no error", "failed"]
)
def test_with_nothing_to_draw_nothing_is_written(tmp_path: Path, rows: list[CellRecord]) -> None:
    assert save_figures(SweepRecord(tuple(rows), "command"), tmp_path / "report", Omissions()) == []
    assert list(tmp_path.iterdir()) == []


def test_synthetic_data_and_quick_runs_are_said_in_picture_and_caption() -> None:
    rows = [*grid("fm", "dpba"), *grid("fm", "dpba", params={"dataset": "made"}, tags=SYNTHETIC)]
    preset = Preset(name="paper/fig1", title="A paper, Figure 1")
    for picture in drawn(rows, preset=preset, quick=True).values():
        assert "SYNTHETIC data: made." in picture.caption
        assert "first look only" in picture.caption
        assert "SYNTHETIC" in words(picture.figure)
    for picture in drawn(grid("fm", "dpba")).values():
        assert "SYNTHETIC" not in picture.caption + words(picture.figure)
        assert "first look" not in picture.caption


@pytest.mark.parametrize(("datasets", "text"), [(9, ""), (10, "The first 9 of 10 panels.")])
def test_nine_panels_fit_a_figure(datasets: int, text: str) -> None:
    cells = [cell for number in range(datasets) for cell in grid("fm", params={"dataset": f"d{number}"})]
    figure = drawn(cells)["error_vs_epsilon"]
    assert len(figure.figure.axes) == 9
    assert ("of 10 panels" in figure.caption) == bool(text)
    assert text in figure.caption


@pytest.mark.parametrize(("ratio", "different"), [(1.009, False), (1.011, True), (0.98, True)])
def test_an_accounted_epsilon_within_one_percent_is_the_requested_one(ratio: float, different: bool) -> None:
    cells = [figure_cell("fm", 0.3, epsilon, metrics={"privacy/epsilon_accounted": ratio * epsilon}) for epsilon in (1.0, 2.0)]
    assert ("error_vs_accounted" in drawn([*cells, *grid("dpba")])) == different


@pytest.mark.parametrize(("error", "exact", "said"), [(0.9, 0.8, True), (0.9, 0.4, False), (0.4, 0.8, False)])
def test_the_caption_says_if_every_fit_is_worse_than_predicting_the_mean(error: float, exact: float, said: bool) -> None:
    levels = {"reference/no_privacy/rmse_median": exact, "reference/mean_predictor/rmse_median": 0.5}
    cells = [figure_cell("fm", value, e, metrics=levels) for value, e in zip((error, 1.0, 0.9), EPSILONS, strict=True)]
    sentence = "Every fit, the one without privacy included, is worse than always predicting the mean."
    assert (sentence in drawn(cells)["error_vs_epsilon"].caption) == said
    good = [replace(cell, params={**cell.params, "dataset": "good"}) for cell in grid("fm", metrics={**levels, "x/y": 1.0})]
    both = drawn([*cells, *good])["error_vs_epsilon"].caption
    assert ("Every fit on linear on wine," in both) == said


def test_the_remark_of_a_preset_is_in_the_caption() -> None:
    for form in ("lines", "boxes"):
        figure = FigureSpec(form=form, remark="The paper has no such curve.")
        picture = drawn(grid("fm"), preset=Preset(name="p/fig1", title="A paper, Figure 1", figure=figure))["figure"]
        assert "of each cell" in picture.caption.partition("The paper has no such curve.")[0]
        assert "The paper has no such curve." in picture.caption


def broken(*_: object) -> NoReturn:
    raise KeyError(None)


def saved(folder: Path) -> tuple[set[str], set[str], list[str]]:
    """Save the figures of a sweep, and return the names of its figures and files, and what is missing."""
    omissions = Omissions()
    figures = save_figures(SweepRecord(tuple(grid("fm", "dpba")), "command"), folder, omissions)
    return {figure.name for figure in figures}, {path.name for path in folder.glob("*")}, omissions.sentences


def files(*names: str, ends: Sequence[str] = (".png", ".pdf", "_column.pdf")) -> set[str]:
    return {f"{name}{end}" for name in names for end in ends}


@pytest.mark.usefixtures("planted")
def test_an_error_in_a_figure_costs_that_figure_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catalog.GENERAL_FIGURES, "boxes", broken)
    figures, written, (sentence,) = saved(tmp_path)
    assert (figures, written) == ({"error_vs_epsilon"}, files("error_vs_epsilon"))
    assert sentence.startswith("The figure boxes could not be made: KeyError: None (test_catalog.py:")


@pytest.mark.usefixtures("planted")
def test_an_error_in_what_all_figures_share_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FigureData, "general", broken)
    figures, written, (sentence,) = saved(tmp_path)
    assert (figures, written) == (set(), set())
    assert sentence.startswith("The figure error, the figure boxes, the figure error_vs_accounted, the figure attack_frontier, ")


@pytest.mark.usefixtures("planted")
def test_a_format_that_fails_leaves_no_half_a_file_and_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save = Figure.savefig

    def fail(figure: Figure, path: Path, **options: Any) -> None:
        save(figure, path, **options)
        if path.suffix == ".pdf":
            broken()

    monkeypatch.setattr(Figure, "savefig", fail)
    figures, written, (sentence,) = saved(tmp_path)
    assert (figures, written) == ({"error_vs_epsilon", "boxes"}, files("error_vs_epsilon", "boxes", ends=[".png"]))
    assert sentence.startswith("The figure error_vs_epsilon as pdf, the figure boxes as pdf could not be made: ")
