"""Signals that end a command: treat all of them as Ctrl-C, and hold them back while something must not be cut."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Sent by kill, by schedulers and by a terminal that closes. Windows has no SIGHUP."""

_pressed: list[int] = []
"""The signals that are held back."""


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt for SIGTERM and SIGHUP too, so that a command ends in one way only.

    A signal that is ignored, as under nohup, or that has a handler already, stays as it is; so do all of them outside the main
    thread, which alone may set handlers.
    """
    in_main = threading.current_thread() is threading.main_thread()
    taken = [number for number in ENDING_SIGNALS if in_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def interruptions_held() -> Iterator[None]:
    """Hold back Ctrl-C, and the signals that count as Ctrl-C, until the block has ended."""
    if threading.current_thread() is not threading.main_thread():  # signals interrupt the main thread only
        yield
        return
    outermost = signal.getsignal(signal.SIGINT) is not _hold
    as_ctrl_c = [number for number in ENDING_SIGNALS if signal.getsignal(number) is signal.default_int_handler]
    before = {number: signal.signal(number, _hold) for number in (signal.SIGINT, *as_ctrl_c)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if outermost and _pressed:
        _pressed.clear()
        raise KeyboardInterrupt


def interrupted_while_held() -> bool:
    """Return whether somebody wants to end the command and is held back: what may take long should end soon."""
    return bool(_pressed)


def _hold(number: int, _: FrameType | None) -> None:
    _pressed.append(number)
