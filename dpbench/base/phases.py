"""Where the seconds of a sweep go: CPU seconds by phase, in this process and, with the results of units, in its workers.

The seconds of a phase inside another one count for the inner phase alone. An audit is one phase, whatever it does.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeVar

Result = TypeVar("Result")

Phase = Literal["load", "statistics", "fit", "score", "attack", "audit", "tracking", "report"]
PHASES: tuple[Phase, ...] = ("load", "statistics", "fit", "score", "attack", "audit", "tracking", "report")
PhaseSeconds = tuple[tuple[Phase, float], ...]


class PhaseClock(threading.local):
    """Adds up the CPU seconds of each phase; each thread has seconds of its own, because a worker may run units in threads."""

    def __init__(self) -> None:
        self._seconds: dict[Phase, float] = {}
        self._stack: list[Phase] = []
        self._since = 0.0
        """When the innermost phase began or went on."""
        self.total = 0.0
        """All seconds that this thread ever spent in phases."""

    @contextmanager
    def phase(self, name: Phase) -> Iterator[None]:
        """Count what happens inside for a phase."""
        if self._stack and self._stack[-1] == "audit":
            yield
            return
        self._count()
        self._stack.append(name)
        try:
            yield
        finally:
            self._count()
            self._stack.pop()

    def apart(self, call: Callable[[], Result]) -> tuple[Result, PhaseSeconds]:
        """Return what a call returns and the seconds of its phases, which travel with the result and are not added here."""
        before, self._seconds = self.seconds, {}
        try:
            return call(), tuple(self.seconds.items())
        finally:
            self._seconds = before

    @property
    def seconds(self) -> dict[Phase, float]:
        """The seconds of each phase until now."""
        self._count()
        return self._seconds

    def add(self, seconds: Iterable[tuple[Phase, float]]) -> None:
        """Count seconds that a unit of work took, here or elsewhere."""
        for name, value in seconds:
            self._seconds[name] = self._seconds.get(name, 0.0) + value

    def _count(self) -> None:
        now = time.thread_time()
        if self._stack:
            self.total += now - self._since
            self.add([(self._stack[-1], now - self._since)])
        self._since = now


clock = PhaseClock()
"""The clock of this thread."""
phase = clock.phase
