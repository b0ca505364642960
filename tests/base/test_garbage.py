"""The garbage collector waits until start-up is over."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from dpbench.base.garbage import THRESHOLDS, end_start_up, garbage_postponed


@pytest.fixture(autouse=True)
def _thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_no_garbage_is_looked_for_before_start_up_has_ended() -> None:
    with garbage_postponed():
        assert not gc.isenabled()
        end_start_up()
        assert gc.isenabled()
        assert gc.get_threshold() == THRESHOLDS
        assert gc.get_freeze_count() == 0


def test_a_command_that_runs_no_cells_leaves_the_collector_on() -> None:
    with pytest.raises(KeyboardInterrupt), garbage_postponed():
        raise KeyboardInterrupt
    assert gc.isenabled()


def test_a_collector_that_the_caller_turned_off_stays_off() -> None:
    gc.disable()
    try:
        with garbage_postponed():
            end_start_up()
        end_start_up()
        assert not gc.isenabled()
    finally:
        gc.enable()
