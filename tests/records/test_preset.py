"""A preset and its figure are read from a configuration and written as plain data; a wrong key or value is refused."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.records.preset import FigureSpec, Preset


def test_it_becomes_plain_data_and_back() -> None:
    preset = Preset(name="p/fig1", title="Figure 1", chosen="All rows.", minutes=2.5, figure=FigureSpec(x="dataset.n", band=None))
    assert Preset.of(asdict(preset)) == preset


@pytest.mark.parametrize("config", [None, {}])
def test_without_a_section_there_is_none(config: dict[str, Any] | None) -> None:
    assert Preset.of(config) is None


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"shows": "x"}, "must say which figure"),
        ({"title": "x", "show": "x"}, "no option of preset named 'show'. Did you mean shows?"),
        ({"title": "x", "minutes": -1}, "minutes"),
        ({"title": "x", "figure": {"bands": None}}, "no option of preset.figure named 'bands'. Did you mean band"),
        ({"title": "x", "figure": {"form": "pie"}}, "'lines', 'boxes', 'roc'"),
        ({"title": "x", "figure": {"statistic": "mean"}}, "must be confidence or null with statistic: mean"),
    ],
)
def test_a_preset_with_nonsense_is_refused(config: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused) as refusal:
        Preset.of(config)
    assert words in str(refusal.value)


def test_by_default_a_figure_shows_the_median_against_epsilon() -> None:
    spec = FigureSpec()
    assert (spec.form, spec.x, spec.statistic, spec.band, spec.references) == ("lines", "epsilon", "median", "quantiles", None)


def test_lists_of_yaml_become_tuples() -> None:
    assert FigureSpec(y=["utility/mse"], log=[]) == FigureSpec(y=("utility/mse",), log=())


@pytest.mark.parametrize("field", [{"statistic": "mode"}, {"band": "std"}, {"y": "utility/mse"}, {"x": 1}])
def test_a_figure_with_nonsense_is_refused(field: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=f"'{next(iter(field))}' option of preset.figure must be"):
        FigureSpec(**field)


@pytest.mark.parametrize("text", ["alpha", "=paper", "alpha="])
def test_what_is_set_apart_is_a_parameter_with_its_value(text: str) -> None:
    assert FigureSpec(apart=["mechanism.alpha=paper"]).apart == ("mechanism.alpha=paper",)
    with pytest.raises(Refused, match=r"'apart' option .* must be a list of key=value"):
        FigureSpec(apart=[text])
