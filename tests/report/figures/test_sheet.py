"""Nothing of a figure is cut or covered, on a page of its own and in a column of a paper."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from report_helpers import EPSILONS, asked, figure_cell, grid

from dpbench.records.preset import FigureSpec, Preset
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.figures import style
from dpbench.report.figures.axes import inches
from dpbench.report.figures.catalog import figures_of
from dpbench.report.figures.sheet import COLUMN, FORMATS, WIDE, PageFormat, Sheet


@pytest.mark.parametrize("page", FORMATS, ids=["wide", "column"])
def test_nothing_is_cut_and_nothing_overlaps(page: PageFormat) -> None:
    """Every text lies within the figure, and the legend below all axes."""
    long = [row for index in range(6) for row in grid(f"a_mechanism_with_a_long_name_{index}")]
    other = [replace(row, params={**row.params, "dataset": "another", "dataset.variant": "with_options"}) for row in long]
    with style.styled(**page.settings):
        for picture in figures_of(SweepRecord((*long, *other), "command"), page):
            figure = picture.figure
            renderer = FigureCanvasAgg(figure).get_renderer()
            figure.draw(renderer)
            parts = [part for axes in figure.axes for part in (axes.title, axes.yaxis.label, *axes.texts)]
            for text in [*figure.texts, *parts]:
                box = text.get_window_extent(renderer)
                assert box.x0 >= -1, text
                assert box.x1 <= figure.bbox.x1 + 1, text
                assert box.y1 <= figure.bbox.y1 + 1, text
            lowest = min(axes.get_tightbbox(renderer).y0 for axes in figure.axes)
            if figure.legends:
                below = figure.legends[0].get_window_extent(renderer)
                assert below.y1 <= lowest + 1
                assert below.x0 >= 0


@pytest.mark.parametrize(("form", "y"), [("lines", "utility/rmse"), ("boxes", "utility/rmse"), ("roc", "utility/roc")])
def test_a_preset_s_figure_has_the_preset_s_title_whatever_its_form(form: Any, y: str) -> None:
    curve = {"x": np.linspace(0, 1, 5), "median": np.linspace(0, 1, 5)}
    cells = [figure_cell("fm", 0.5, e, params={"dataset": "wine"}, curves={"utility/roc": curve}) for e in EPSILONS]
    picture = asked(cells, form=form, y=(y,), panels=("dataset",))
    assert picture
    assert picture.figure.texts[0].get_text() == "A paper, Figure 1"


def test_in_a_column_figures_have_its_width_small_letters_and_no_title() -> None:
    preset = Preset(title="A paper, Figure 1", figure=FigureSpec(panels=("dataset",)))
    cells = [figure_cell("fm", 0.5, e, params={"dataset": data}) for e in EPSILONS for data in ("one", "two", "three")]
    with style.styled(**COLUMN.settings):
        for picture in figures_of(SweepRecord(tuple(cells), "command", preset=preset), COLUMN):
            figure = picture.figure
            assert figure.get_size_inches()[0] == pytest.approx(3.3)
            texts = [*figure.texts, *figure.legends[0].get_texts()] if figure.legends else figure.texts
            texts += [text for axes in figure.axes for text in (axes.title, axes.xaxis.label, *axes.get_xticklabels())]
            assert {text.get_fontsize() for text in texts if text.get_text()} <= {6.125, 7.0, 7.5}
            assert not any(picture.title in text.get_text() for text in texts)
            assert [bool(axes.get_ylabel()) for axes in figure.axes] == [True, False, True][: len(figure.axes)]


def test_rows_may_have_heights_of_their_own_whatever_title_and_legend_take() -> None:
    sheet = Sheet.of(WIDE, [2, 1], alone=(4.0, 9.0), among=(3.0, 9.0), heights=[4.0, 1.0])
    sheet.finish([], "A title", "A foot")
    assert [inches(row[0])[1] for row in sheet.rows] == pytest.approx([4.0, 1.0])
