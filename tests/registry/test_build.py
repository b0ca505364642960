"""A section of the configuration becomes a component."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpbench.base.errors import Refused
from dpbench.registry.build import build


def test_a_section_names_a_component_and_its_options(install: Callable[..., None], good: str) -> None:
    install("stranger", nice=good)
    component = build("mechanism", {"name": "good", "shrink": 0.25})
    assert (component.name, component.options()) == ("good", {"shrink": 0.25})
    assert build("mechanism", {"name": "good"}).shrink == 0.5


def test_an_option_that_the_component_does_not_have_is_refused(install: Callable[..., None], good: str) -> None:
    install("stranger", nice=good)
    with pytest.raises(Refused, match=r"no option of good named 'shrnk'\. Did you mean shrink"):
        build("mechanism", {"name": "good", "shrnk": 1})
