"""Every second counts for one phase: the innermost one, or the audit around it."""

from __future__ import annotations

import threading
import time

import pytest

from dpbench.base import phases
from dpbench.base.phases import PhaseClock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> PhaseClock:
    """A clock that moves on by one second whenever it is read."""
    seconds = iter(range(1000))
    monkeypatch.setattr(phases.time, "thread_time", lambda: float(next(seconds)))
    return PhaseClock()


def test_the_seconds_of_an_inner_phase_do_not_count_for_the_outer_one(clock: PhaseClock) -> None:
    with clock.phase("score"), clock.phase("statistics"):
        pass
    assert clock.seconds == {"score": 2.0, "statistics": 1.0}
    assert clock.total == 3.0


def test_an_audit_is_one_phase_whatever_it_does(clock: PhaseClock) -> None:
    with clock.phase("audit"), clock.phase("statistics"), clock.phase("fit"):
        pass
    assert list(clock.seconds) == ["audit"]


def test_an_error_ends_its_phase(clock: PhaseClock) -> None:
    with pytest.raises(ZeroDivisionError), clock.phase("fit"):
        raise ZeroDivisionError
    assert clock.seconds == {"fit": 1.0}
    assert clock.seconds == {"fit": 1.0}, "time that passes outside of phases counts for none"


def test_the_phases_of_a_unit_travel_with_its_result(clock: PhaseClock) -> None:
    with clock.phase("tracking"):
        pass

    @clock.phase("fit")
    def unit() -> str:
        return "a result"

    assert clock.apart(unit) == ("a result", (("fit", 1.0),))
    assert clock.seconds == {"tracking": 1.0}
    clock.add([("fit", 2.0), ("tracking", 3.0)])
    assert clock.seconds == {"tracking": 4.0, "fit": 2.0}
    assert clock.total == 2.0, "seconds of other processes are not this one's"


def test_a_unit_that_fails_leaves_the_other_seconds_as_they_were(clock: PhaseClock) -> None:
    clock.add([("load", 1.0)])
    with pytest.raises(ZeroDivisionError):
        clock.apart(lambda: 1 // 0)
    assert clock.seconds == {"load": 1.0}


def test_threads_do_not_count_for_each_other() -> None:
    clock = PhaseClock()
    with clock.phase("fit"):
        thread = threading.Thread(target=lambda: clock.phase("load").__enter__())
        thread.start()
        thread.join()
    assert list(clock.seconds) == ["fit"]


def test_sleeping_is_not_work() -> None:
    clock = PhaseClock()
    with clock.phase("tracking"):
        time.sleep(0.05)
    assert clock.seconds["tracking"] < 0.04
