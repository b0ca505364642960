"""A dialect knows its delimiters by name, and refuses settings that no file can have."""

from __future__ import annotations

from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.files.dialects import Dialect


@pytest.mark.parametrize(("name", "character"), [("tab", "\t"), ("\\t", "\t"), ("semicolon", ";"), ("pipe", "|"), (":", ":")])
def test_a_delimiter_may_be_named(name: str, character: str) -> None:
    assert Dialect(name).delimiter == character


def test_settings_that_are_none_keep_their_defaults() -> None:
    assert Dialect.of({"delimiter": None, "decimal": ",", "thousands": "point"}) == Dialect(decimal=",", thousands=".")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"delimiter": "ab"}, "The delimiter must be one character, or comma, pipe, semicolon, space, tab. Got 'ab' instead."),
        ({"encoding": "latin-17"}, "The encoding must be a known one"),
        ({"decimal": ",", "thousands": ","}, "The decimal separator must be"),
    ],
)
def test_wrong_settings_are_one_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Refused) as refusal:
        Dialect.of(settings)
    assert sentence in str(refusal.value)
