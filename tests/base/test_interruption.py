"""SIGTERM and SIGHUP count as Ctrl-C inside a command, never after it, and never cut what must be whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from dpbench.base.interruption import ENDING_SIGNALS, interrupted_by_signals, interruptions_held

every_signal = pytest.mark.parametrize("number", ENDING_SIGNALS)


@pytest.fixture(autouse=True)
def _default_handlers() -> Iterator[None]:
    before = {number: signal.signal(number, signal.SIG_DFL) for number in ENDING_SIGNALS}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def send(number: int) -> None:
    signal.raise_signal(number)  # to this thread: os.kill may choose another one, which hands it on when it gets its turn
    for _ in range(1000):  # the interpreter looks for signals here
        pass


@every_signal
def test_a_signal_interrupts_inside_the_block_and_is_restored_after_it(number: int) -> None:
    with pytest.raises(KeyboardInterrupt), interrupted_by_signals():
        send(number)
    assert signal.getsignal(number) is signal.SIG_DFL


@every_signal
def test_a_signal_that_is_ignored_stays_ignored(number: int) -> None:
    signal.signal(number, signal.SIG_IGN)
    with interrupted_by_signals():
        send(number)
    assert signal.getsignal(number) is signal.SIG_IGN


def test_a_handler_of_the_program_stays() -> None:
    received: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    with interrupted_by_signals():
        send(signal.SIGTERM)
    assert received == [signal.SIGTERM]


def test_another_thread_leaves_handlers_alone() -> None:
    seen: list[object] = []

    def look() -> None:
        with interrupted_by_signals(), interruptions_held():
            seen.extend(signal.getsignal(number) for number in ENDING_SIGNALS)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.SIG_DFL] * len(ENDING_SIGNALS)


@pytest.mark.parametrize("number", [signal.SIGINT, *ENDING_SIGNALS])
def test_an_interruption_waits_for_the_end_of_what_must_be_whole(number: int) -> None:
    steps: list[str] = []

    def write() -> None:
        with interruptions_held():
            send(number)
            steps.append("whole")

    with interrupted_by_signals():
        with pytest.raises(KeyboardInterrupt):
            write()
        assert steps == ["whole"]
        with pytest.raises(KeyboardInterrupt):
            send(number)


def test_a_program_that_uses_the_library_keeps_its_own_sigterm() -> None:
    with interruptions_held():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
