"""Errors about names: unknown ones get the near names, then all that are allowed; badly spelled ones get the rule."""

from __future__ import annotations

from typing import Any

import pytest

from dpbench.base.errors import Refused, check_known, name_fault, near_names, unknown


def test_an_unknown_name_lists_the_near_names_and_all_known_ones() -> None:
    error = unknown("model", "rigde", ["ridge", "lasso", "linear"])
    assert isinstance(error, Refused)
    assert str(error) == "There is no model named 'rigde'. Did you mean ridge? Known: lasso, linear, ridge."


def test_without_a_near_name_only_the_known_ones_are_listed() -> None:
    assert near_names("xyz", ["fm"]) == " Known: fm."
    assert near_names("xyz", []) == " Known: none."


def test_the_first_name_that_is_not_known_is_refused() -> None:
    check_known("model", ["ridge", "lasso"], {"ridge", "lasso"})
    with pytest.raises(Refused, match=r"^There is no model named 'rigde'\. Did you mean ridge\? Known: lasso, ridge\.$"):
        check_known("model", ["lasso", "rigde", "x"], {"ridge", "lasso"})


@pytest.mark.parametrize("name", ["a", "fm", "cdp_irls", "zhang2012"])
def test_small_letters_digits_and_underscores_make_a_name(name: str) -> None:
    assert name_fault("a paper", name) == ""


@pytest.mark.parametrize("name", ["", "2nd", "_a", "Fm", "a-b", "a b", "ä", "a\n", None, 3])
def test_anything_else_is_explained_with_what_came(name: Any) -> None:
    expected = f"The name of a paper must be small letters, digits and _, a letter first. Got {name!r} instead."
    assert name_fault("a paper", name) == expected
