"""Components from their sections of the configuration."""

from __future__ import annotations

import pytest

from dpbench.base.errors import Refused
from dpbench.registry.build import build


def test_a_section_names_a_component_and_its_options() -> None:
    wine = build("dataset", {"name": "wine", "color": "red"})
    assert (wine.kind, wine.name, wine.color) == ("dataset", "wine", "red")


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(Refused, match="colour"):
        build("dataset", {"name": "wine", "colour": "red"})
