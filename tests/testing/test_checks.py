"""A check has its function's name, with spaces."""

from __future__ import annotations

from dpbench.testing.checks import law


def test_a_check_is_called_like_its_function() -> None:
    @law("Numbers are small.", "Take smaller ones.")
    def small_numbers(case: int) -> None:
        del case

    assert (small_numbers.name, small_numbers.law, small_numbers.needed) == ("small numbers", "Numbers are small.", False)
