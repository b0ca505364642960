"""Errors about names: unknown ones get the near names, then all that are allowed; badly spelled ones get the rule."""

from __future__ import annotations

from typing import Any

import pytest

from dpbench.base.errors import Omissions, Refused, check_known, check_spelling, near_names, refuse_on, unknown


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
    check_spelling("a paper", name)


@pytest.mark.parametrize("name", ["", "2nd", "_a", "Fm", "a-b", "a b", "ä", "a\n", None, 3])
def test_anything_else_is_explained_with_what_came(name: Any) -> None:
    expected = f"The name of a paper must be small letters, digits and _, a letter first. Got {name!r} instead."
    with pytest.raises(Refused) as refusal:
        check_spelling("a paper", name)
    assert str(refusal.value) == expected


def test_a_library_s_error_becomes_a_refusal_without_its_own_message() -> None:
    with (
        pytest.raises(Refused, match=r"^The value must be a number\.$") as refusal,
        refuse_on(ValueError, "The value must be a number."),
    ):
        float("Zq7Secret")
    assert refusal.value.__suppress_context__, "no traceback shows what it replaces"


def test_other_errors_pass_through() -> None:
    with pytest.raises(TypeError), refuse_on((ValueError, KeyError), "no"):
        raise TypeError
    with refuse_on(ValueError, "no"):
        pass


@pytest.mark.usefixtures("planted")
def test_parts_that_one_error_prevents_share_a_sentence_and_other_parts_are_made() -> None:
    def fail() -> int:
        raise KeyError("x")

    omissions = Omissions()
    assert [omissions.attempt(part, make) for part, make in (("the page", fail), ("the note", fail), ("a table", lambda: 3))] == [
        *(None, None),
        3,
    ]
    (sentence,) = omissions.sentences
    assert sentence.startswith("The page, the note could not be made: KeyError: 'x' (test_errors.py:")


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("error", [BrokenPipeError, KeyboardInterrupt])
def test_a_reader_that_left_and_an_interruption_are_no_omissions(error: type[BaseException]) -> None:
    def leave() -> None:
        raise error

    with pytest.raises(error):
        Omissions().attempt("the page", leave)
