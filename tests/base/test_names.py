"""Names on the command line follow one rule."""

from __future__ import annotations

from typing import Any

import pytest

from dpbench.base.names import name_fault


@pytest.mark.parametrize("name", ["a", "fm", "cdp_irls", "zhang2012"])
def test_small_letters_digits_and_underscores_make_a_name(name: str) -> None:
    assert name_fault("a paper", name) == ""


@pytest.mark.parametrize("name", ["", "2nd", "_a", "Fm", "a-b", "a b", "ä", "a\n", None, 3])
def test_anything_else_is_explained_with_what_came(name: Any) -> None:
    expected = f"The name of a paper must be small letters, digits and _, a letter first. Got {name!r} instead."
    assert name_fault("a paper", name) == expected
