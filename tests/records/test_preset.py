"""A preset is read from a configuration and written as plain data; a wrong key or value is refused."""

from __future__ import annotations

from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.records.figure_spec import FigureSpec
from dpbench.records.preset import Preset


def test_it_becomes_plain_data_and_back() -> None:
    preset = Preset(name="p/fig1", title="Figure 1", chosen="All rows.", minutes=2.5, figure=FigureSpec(x="dataset.n", band=None))
    assert Preset.of(preset.as_config()) == preset


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
    ],
)
def test_nonsense_is_refused(config: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused) as refusal:
        Preset.of(config)
    assert words in str(refusal.value)
