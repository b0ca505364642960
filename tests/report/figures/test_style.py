"""Curves can be told apart, in colour and in grey, and a reference looks the same everywhere."""

from __future__ import annotations

import io
import logging
import re
import zlib
from itertools import product
from pathlib import Path

import pytest
from fontTools import subset, ttLib
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from dpbench.records.mechanism_style import mechanism_style
from dpbench.report.figures import style

TRUE_TYPE = b"\x00\x01\x00\x00"
"""How a font begins."""


def test_mechanisms_of_a_figure_have_their_own_colours_and_no_two_agree_in_colour_and_mark() -> None:
    names = [f"m{index}" for index in range(21)]
    styles = style.curve_styles({name: (name, "", "") for name in names})
    assert all(styles[name].colour == mechanism_style(name).colour for name in names)
    assert len({(look.colour, look.mark) for look in styles.values()}) == 21
    for name in names:
        assert style.curve_styles({name: (name, "", "")})[name].mark == mechanism_style(name).mark


def test_options_of_a_mechanism_share_its_colour_and_mark_and_differ_in_line_and_fill() -> None:
    styles = style.curve_styles({f"fm {option}": ("fm", option, "") for option in map(str, range(20))})
    assert {(look.colour, look.mark) for look in styles.values()} == {(styles["fm 0"].colour, mechanism_style("fm").mark)}
    assert len({(look.line, look.fill) for look in styles.values()}) == 20
    first, second = styles["fm 0"], styles["fm 1"]
    assert first.line != second.line
    assert first.fill != second.fill


def test_models_as_curves_share_mark_and_line_and_mechanisms_keep_their_colours() -> None:
    names = {f"{one} {other}": (one, "", other) for one, other in product(("no_privacy", "fm"), ("linear", "ridge", "lasso"))}
    styles = style.curve_styles(names)
    for one, other in product(("no_privacy", "fm"), ("linear", "ridge", "lasso")):
        look = styles[f"{one} {other}"]
        assert look.colour == mechanism_style(one).colour
        assert (look.mark, look.line) == (styles[f"fm {other}"].mark, styles[f"fm {other}"].line)
    assert len({(look.colour, look.mark, look.line) for look in styles.values()}) == 6


@pytest.mark.parametrize("fill", style.FILLS)
def test_what_is_not_ranked_is_hollow_whatever_its_option(fill: style.Fill) -> None:
    look = style.CurveStyle("#0072B2", "o", "-", "", fill)
    assert look.handle("a", hollow=True).get_markerfacecolor() == "white"
    filled = look.handle("a", hollow=False)
    assert to_rgba(filled.get_markerfacecolor()) == to_rgba("#0072B2")
    assert filled.get_fillstyle() == fill


def test_each_reference_of_dpbench_has_a_line_of_its_own() -> None:
    names = ["non-private fit", "mean predictor", "control: majority", "control: imputation", "cap of the guarantee", "guessing"]
    assert len({str(style.reference_style(name)["linestyle"]) for name in names}) == len(names)


def test_a_saved_figure_logs_nothing_under_a_log_of_everything(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Hydra shows the log of a job on the terminal, where the tables of every embedded font are not wanted."""
    figure = Figure()
    figure.subplots().set_title("error")
    with caplog.at_level(logging.INFO), style.styled():
        style.save(figure, tmp_path / "figure")
    assert caplog.messages == []


def test_a_pdf_embeds_true_type_fonts_without_what_lays_out_text(tmp_path: Path) -> None:
    figure, load_font = Figure(), subset.load_font
    figure.subplots().set_title("error AV fi")
    with style.styled():
        style.save(figure, tmp_path / "figure", ("pdf",))
    assert subset.load_font is load_font
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", (tmp_path / "figure.pdf").read_bytes(), re.DOTALL)
    fonts = [font for font in map(inflated, streams) if font.startswith(TRUE_TYPE)]
    assert fonts
    for font in fonts:
        tables = set(ttLib.TTFont(io.BytesIO(font)).keys())
        assert "glyf" in tables
        assert not tables & set(style.LAYOUT_TABLES)


def test_a_figure_that_cannot_be_saved_leaves_fonts_as_they_were(tmp_path: Path) -> None:
    load_font = subset.load_font
    (tmp_path / "figure.pdf").mkdir()
    with pytest.raises(OSError, match=r"figure\.pdf"):
        style.save(Figure(), tmp_path / "figure", ("pdf",))
    assert subset.load_font is load_font


def inflated(stream: bytes) -> bytes:
    """Return the content of a stream; nothing if it is not compressed."""
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return b""
