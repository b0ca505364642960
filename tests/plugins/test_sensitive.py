"""Why a table has no sensitive attribute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dpbench.data.geometry import Geometry
from dpbench.plugins._sensitive import lacks_sensitive


def test_a_declared_or_a_named_attribute_suffices(geometry: Callable[..., Geometry]) -> None:
    assert lacks_sensitive((), replace(geometry(2), sensitive=("x1",)), "a.b=…") is None
    assert lacks_sensitive(("x0",), geometry(2), "a.b=…") is None


def test_a_table_that_declares_none_says_how_to_name_one(geometry: Callable[..., Geometry]) -> None:
    reason = lacks_sensitive((), geometry(2), "a.b=…")
    assert reason == "the dataset declares no sensitive attribute. Name one with a.b=…. Known: x0, x1"


def test_an_unknown_name_is_reported_even_if_another_name_is_known(geometry: Callable[..., Geometry]) -> None:
    reason = str(lacks_sensitive(("x0", "x3"), geometry(2), "a.b=…"))
    assert reason.startswith("the table has no attribute named 'x3'.")
