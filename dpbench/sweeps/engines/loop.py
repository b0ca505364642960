"""The one loop that all engines share: units go out as slots become free, results come back in the order they finish."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from typing import Any, TypeVar

from dpbench.base.errors import Unfinished

Unit = TypeVar("Unit")
Result = TypeVar("Result")

MAX_ATTEMPTS = 2
"""A unit whose worker died this often is given up."""


@dataclass(frozen=True)
class WorkerDied:
    """A worker died while it ran this unit, or the unit or its result could not be sent."""

    reason: str


class Engine:
    """Where units run. A subclass says how its workers start, what their death looks like, and how they end."""

    workers: int | None = 1
    """The number of units that run at the same time; None if that is not known before they start."""
    slots = 1
    """The number of units in flight. It bounds memory, and how many units one death affects."""
    shares_fate = False
    """Whether the death of one worker makes the whole executor unusable, so that a new one must be opened."""
    cells_apart = False
    """Whether every cell is a unit of its own."""
    shares_passes = True
    """Whether the passes over one streamed table can be spread over the workers, before any unit runs."""
    partial = False
    """Whether only some of the units come back, and the sweep is to say so."""
    timeout: float | None = None
    """The seconds that one cell may take; None if there is no limit."""

    def open(self) -> Executor:
        """Start the workers."""
        raise NotImplementedError

    def keep_request(self, name: str, request: Any) -> None:
        """Keep what the sweep asks for, where its results may be delivered by another process."""

    def available(self, units: Iterable[Unit]) -> Iterable[Unit]:
        """Return the units that can come back."""
        return units

    def withdraw(self) -> None:
        """Take back what no worker has begun, before the engine is closed early."""

    def task(self, task: Callable[[Unit], Result]) -> Callable[[Unit], Any]:
        """Return the task as it is sent to the workers."""
        return task

    def died(self, error: BaseException) -> bool:
        """Return whether this error of a future means that a worker died."""
        return False

    def close(self, executor: Executor, interrupted: bool) -> None:
        """End the workers; if interrupted, without waiting for what they run."""
        executor.shutdown(wait=not interrupted, cancel_futures=True)


def run(engine: Engine, task: Callable[[Unit], Result], units: Iterable[Unit]) -> Iterator[tuple[Unit, Result | WorkerDied]]:
    """Yield every unit with its result, in the order in which they finish. A dead worker costs only its own unit.

    The next unit is taken from ``units`` only when a slot is free for it. When a worker dies, several units may have been the
    cause: they run again one at a time, and a unit whose worker dies while it runs alone is given up.
    """
    source = iter(engine.available(units))
    suspects: deque[tuple[Unit, int]] = deque()
    flying: dict[Future[Any], tuple[Unit, int]] = {}
    exhausted = alone = False
    sent = engine.task(task)
    executor = engine.open()
    interrupted = True
    try:
        while not exhausted or suspects or flying:
            broken = False
            while not broken and (suspects or not exhausted):
                if flying and (suspects or alone or len(flying) >= engine.slots):
                    break
                if suspects:
                    unit, attempt = suspects.popleft()
                else:
                    try:
                        unit, attempt = next(source), 1
                    except StopIteration:
                        exhausted = True
                        break
                alone = attempt > 1
                try:
                    flying[executor.submit(sent, unit)] = unit, attempt
                except Exception as error:  # noqa: BLE001  an executor may refuse a unit that it cannot send in its own way
                    if engine.died(error):
                        suspects.append((unit, attempt))
                        broken = True
                    else:
                        yield unit, WorkerDied(f"{type(error).__name__}: {error}")
            for future in wait(flying, return_when=FIRST_COMPLETED).done if flying else ():
                unit, attempt = flying.pop(future)
                if future.cancelled():
                    raise Unfinished(f"{type(engine).__name__} lost the process that hands out its units: is it still running?")
                failure = future.exception()
                if failure is None:
                    yield unit, future.result()
                elif not engine.died(failure):  # the unit failed, not its worker
                    yield unit, WorkerDied(f"{type(failure).__name__}: {failure}")
                elif attempt >= MAX_ATTEMPTS:
                    broken = True
                    yield unit, WorkerDied("the worker process died while it ran this cell, twice")
                else:
                    broken = True
                    suspects.append((unit, attempt + 1))
            if broken and engine.shares_fate:
                suspects.extend((unit, attempt + 1) for unit, attempt in flying.values())
                flying.clear()
                engine.close(executor, interrupted=True)
                executor = engine.open()
        interrupted = False
    finally:
        engine.close(executor, interrupted)
