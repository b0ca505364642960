"""Errors and warnings of a component's code become sentences, which say so where they quote a row."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dpbench.testing.checks import Failure
from dpbench.testing.guarded import guarded


def test_a_result_is_returned() -> None:
    assert guarded("A fit", lambda: 3) == 3


def test_an_error_is_a_failure_with_its_place() -> None:
    with pytest.raises(Failure, match=r"A fit ends with an error: ZeroDivisionError: .*test_guarded.py"):
        guarded("A fit", lambda: 1 / 0)


def test_a_warning_is_a_failure() -> None:
    with pytest.raises(Failure, match="A fit warns: UserWarning: careful"):
        guarded("A fit", lambda: warnings.warn("careful", stacklevel=1))


def test_an_error_that_quotes_a_row_is_named_without_its_text(geometry, rows) -> None:
    private = rows(geometry(1), [[0.123456789]], [1.0])

    def fail() -> None:
        raise ValueError(f"I cannot fit {private.z}")

    with pytest.raises(Failure, match=r"quotes a value of a private row \(0.1234…\)") as caught:
        guarded("A fit", fail, private)
    assert "I cannot fit" not in str(caught.value)
    assert np.isfinite(private.z).all()


def test_an_error_in_a_library_names_the_line_of_the_author_that_led_to_it() -> None:
    def call_a_library() -> None:
        np.linalg.solve(np.zeros((2, 2)), np.ones(2))

    with pytest.raises(Failure, match=r"Singular matrix \(.*\)\. The author's line is test_guarded.py:\d+ in call_a_library\."):
        guarded("A fit", call_a_library)


def test_an_error_of_the_authors_own_is_named_once() -> None:
    with pytest.raises(Failure) as caught:
        guarded("A fit", lambda: 1 / 0)
    assert "The author's line" not in str(caught.value)
