"""Laws of style that hold in the figure of every preset of every paper."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from cell_factory import make_cell, make_sweep
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from dpbench.base.errors import Omissions
from dpbench.experiments.presets import experiments, values_of
from dpbench.records.cell_record import CellRecord
from dpbench.records.mechanism_style import mechanism_style
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.figures import style
from dpbench.report.figures.catalog import preset_figure, save_figures
from dpbench.report.figures.sheet import FORMATS, WIDE

# a preset with a shorter grid for quick runs has more mechanisms and tables than one figure can show
PRESETS = {name: one for name, one in experiments().items() if one.preset is not None and not one.preset.quick}
SUFFIXES = {"median": 0.0, "mean": 0.1, "p20": -0.05, "p80": 0.05, "ci_low": 0.05, "ci_high": 0.15, "std": 0.2}
COMPONENTS = ("mechanism", "model", "dataset")


@cache
def sweep_of(name: str) -> SweepRecord:
    """The preset with made-up numbers: every mechanism, model, dataset and value of the axis, and every option of mechanisms."""
    experiment = PRESETS[name]
    preset = experiment.preset
    assert preset is not None
    spec, grid_of = preset.figure, experiment.grid
    keys = [key for key in grid_of if key in (*COMPONENTS, spec.x, *spec.panels) or key == "epsilon"]
    keys += [key for key in grid_of if key.startswith("mechanism.") and key not in keys]
    keys = [key for key in keys if key in (*COMPONENTS, "epsilon", spec.x) or len(values_of(grid_of[key])) > 1]
    cells = []
    for number, values in enumerate(itertools.product(*(values_of(grid_of[key]) for key in keys))):
        params = dict(zip(keys, values, strict=True))
        cells.append(made_cell(params, 0.5 + 0.01 * (number % 37), spec.y))
    return make_sweep(cells, preset=preset)


def made_cell(params: dict[str, str], error: float, metrics: tuple[str, ...]) -> CellRecord:
    x = np.linspace(0, 1, 9)
    numbers = {f"{name}_{end}": error + shift for name in metrics for end, shift in SUFFIXES.items()}
    for name in metrics:
        for one, end in itertools.product(("no_privacy", "mean_predictor"), ("median", "mean")):
            numbers[f"{name.replace('utility/', f'reference/{one}/')}_{end}"] = 0.5
    private = params["mechanism"] not in ("no_privacy", "truncated")
    curves = {name: {"x": x, "median": x, "mean": x, "p20": x, "p80": x} for name in metrics}
    more = {key: value for key, value in params.items() if key not in ("mechanism", "epsilon")}
    mechanism, epsilon = params["mechanism"], float(params["epsilon"])
    return make_cell(mechanism, error, epsilon, private=private, params=more, metrics=numbers, curves=curves)


@cache
def figure_of(name: str) -> Figure:
    with style.styled():
        picture = preset_figure(sweep_of(name), WIDE)
    assert picture is not None
    return picture.figure


def colours_in(axes: Axes) -> set[str]:
    lines = {to_hex(line.get_color()) for line in axes.lines}
    return lines | {to_hex(patch.get_edgecolor()) for patch in axes.patches}


@pytest.mark.parametrize("name", PRESETS)
def test_each_mechanism_has_its_own_colour_in_the_figure_of_every_preset(name: str) -> None:
    sweep, figure = sweep_of(name), figure_of(name)
    colours = {
        mechanism: mechanism_style(mechanism).colour.lower() for mechanism in (cell.params["mechanism"] for cell in sweep.cells)
    }
    used = set().union(*map(colours_in, figure.axes)) - {style.GREY, "#000000", style.SETTINGS["grid.color"].lower()}
    used -= {"#e4e4e4"}
    assert used <= set(colours.values())
    for entry in figure.legends[0].legend_handles:
        colour = to_hex(entry.get_edgecolor() if isinstance(entry, Patch) else entry.get_color())
        owner = str(entry.get_label()).partition(",")[0].partition(" ")[0].partition(":")[0]
        assert colour == colours.get(owner, style.GREY), entry.get_label()


@pytest.mark.parametrize("name", PRESETS)
def test_the_legend_names_all_that_is_drawn_and_nothing_else(name: str) -> None:
    figure = figure_of(name)
    names = [str(entry.get_label()) for entry in figure.legends[0].legend_handles]
    assert len(set(names)) == len(names)
    looks = {look(entry) for entry in figure.legends[0].legend_handles}
    lines = [line for axes in figure.axes for line in axes.lines if to_hex(line.get_color()) == style.GREY]
    drawn = {look(line) for line in lines if len(np.atleast_1d(line.get_ydata())) > 1}
    grey = {one for one in looks if one[0] == style.GREY}
    assert grey == drawn, "each reference"
    coloured = set().union(*map(colours_in, figure.axes))
    assert {one[0] for one in looks} <= coloured, "each mechanism"


def look(artist: object) -> tuple[str, str]:
    if isinstance(artist, Patch):
        return to_hex(artist.get_edgecolor()), ""
    return to_hex(artist.get_color()), str(artist._unscaled_dash_pattern)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", PRESETS)
def test_panels_of_a_row_share_their_scale(name: str) -> None:
    rows: dict[int, list[Axes]] = {}
    for axes in figure_of(name).axes:
        spec = axes.get_subplotspec()
        assert spec is not None
        rows.setdefault(spec.rowspan.start, []).append(axes)
    for row in rows.values():
        assert len({axes.get_ylim() for axes in row}) == 1
        assert len({axes.get_yscale() for axes in row}) == 1
        assert len({axes.get_xlim() for axes in row}) == 1


@pytest.mark.parametrize("name", PRESETS)
def test_a_mean_has_no_band_of_quantiles(name: str) -> None:
    preset = PRESETS[name].preset
    assert preset is not None
    assert (preset.figure.statistic, preset.figure.band) != ("mean", "quantiles")


def test_the_fonts_of_a_pdf_are_truetype_in_every_format(tmp_path: Path) -> None:
    cells = [make_cell(name, 0.5, epsilon) for name in ("fm", "dpba") for epsilon in (0.1, 1.0)]
    save_figures(make_sweep(cells), tmp_path, Omissions())
    files = [tmp_path / f"error_vs_epsilon{page.suffix}.pdf" for page in FORMATS]
    for path in files:
        content = path.read_bytes()
        assert b"/FontFile2" in content, "an embedded TrueType font"
        assert b"/Type3" not in content
