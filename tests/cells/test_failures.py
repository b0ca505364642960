"""What is said about a failed cell: why and where, and nothing that may be a row."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.cells.failures import explained, traceback_of
from dpbench.cells.time_limit import TimeIsOver


def raised(error: BaseException) -> BaseException:
    try:
        row = "Jane Doe, 1980"  # a value that no record may hold
        raise error
    except BaseException as caught:  # noqa: BLE001
        assert row
        return caught


def cell(public: bool | None) -> Any:
    def build(kind: str) -> Any:
        if public is None:
            raise Refused("No such dataset.")
        return SimpleNamespace(public=public)

    return SimpleNamespace(build=build)


@pytest.mark.parametrize(("public", "told"), [(True, True), (False, False), (None, False)])
def test_an_errors_own_words_are_left_out_unless_rows_are_public(public: bool | None, told: bool) -> None:
    sentence = explained(raised(ValueError("bad row: Jane Doe")), cell(public))
    assert ("Jane Doe" in sentence) is told
    assert sentence.startswith("ValueError: ")
    assert "test_failures.py" in sentence


def test_a_refusal_is_told_always() -> None:
    assert "two columns" in explained(raised(Refused("It needs two columns.")), cell(False))


def test_a_cell_that_took_too_long_says_what_was_allowed() -> None:
    assert explained(raised(TimeIsOver()), cell(False), 2.5) == (
        "It took longer than the 2.5 seconds that engine.timeout allows for a cell."
    )


def test_a_traceback_has_lines_of_code_and_no_values() -> None:
    error = raised(ValueError("bad row: Jane Doe, 1980"))
    text = traceback_of(error, explained(error, cell(False)))
    assert "in raised\n    raise error\n" in text
    assert "1980" not in text
    assert text.endswith(explained(error, cell(False)))
