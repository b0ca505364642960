"""No call has the number of an earlier call of the same name, in any run."""

from __future__ import annotations

from dpbench.privacy.call_numbers import CallNumbers


def test_calls_are_numbered_by_name_and_those_of_a_run_among_themselves() -> None:
    numbers = CallNumbers(["paid before"])
    assert [numbers.next("q", None), numbers.next("q", None), numbers.next("r", None)] == [0, 1, 0]
    assert numbers.next("paid before", None) == 1
    assert [numbers.next("q", run) for run in (0, 1, 1, 0)] == [2, 2, 3, 3]


def test_a_call_of_all_runs_comes_after_those_of_each_run() -> None:
    numbers = CallNumbers([])
    assert [numbers.next("q", run) for run in (0, 0, 1)] == [0, 1, 0]
    assert numbers.next("q", None) == 2
    assert [numbers.next("q", run) for run in (0, 1, 5)] == [3, 3, 3]
