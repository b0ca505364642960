"""Errors about unknown names have one shape: the near names, then all that are allowed."""

from __future__ import annotations

from dpbench.base.errors import Refused, near_names, unknown


def test_an_unknown_name_lists_the_near_names_and_all_known_ones() -> None:
    error = unknown("model", "rigde", ["ridge", "lasso", "linear"])
    assert isinstance(error, Refused)
    assert str(error) == "There is no model named 'rigde'. Did you mean ridge? Known: lasso, linear, ridge."


def test_without_a_near_name_only_the_known_ones_are_listed() -> None:
    assert near_names("xyz", ["fm"]) == " Known: fm."
    assert near_names("xyz", []) == " Known: none."
