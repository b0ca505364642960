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
