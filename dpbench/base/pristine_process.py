"""A pristine copy of this process, put aside before any row is loaded: what runs in it cannot know anything about the rows.

A plugin's code may keep what it was shown in a global variable, in another module, or anywhere else in the memory of its process,
and no check in the same process can rule that out. The copy has the plugins' modules as they were after their import. It waits,
and forks a child for every task; the child ends with the task.
"""

import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from types import ModuleType
from typing import Any

from dpbench.base.interruption import ENDING_SIGNALS
from dpbench.base.one_thread import one_thread

SUPPORTED = sys.platform == "linux"
"""Elsewhere a fork of a process with threads may hang, and tasks run in the process itself."""

FORBIDDEN_EVENTS = ("gc.get_", "sys._current_", "socket.", "subprocess.", "os.system", "os.fork", "os.exec", "os.posix_spawn")
FORBIDDEN_READS = ("ctypes.cdata", "ctypes.string_at", "ctypes.wstring_at", "ctypes.PyObj_FromPtr")
"""The audit events (PEP 578) of what a task has no use for: other objects, other processes, the memory of this one."""
CODE_SUFFIXES = (".py", ".pyc", ".so", ".pyd", ".dylib", ".dll")
"""A task opens no files except those that an import reads."""


GRACE_SECONDS = 5.0
"""A task that does not end at its time limit, although its process has an alarm, ends the copy this much later."""


class TaskFailed(Exception):
    """A task that raised an error, took too long, or ended its process."""


class Forbidden(Exception):
    """A task used what it must not use."""


class PristineProcess:
    """The copy: a process that forks a child for each task."""

    def __init__(self, prepare: Callable[[], object]) -> None:
        self._pipe, ours = Pipe()
        self._process = os.fork()
        if self._process == 0:
            self._pipe.close()
            _serve(ours, prepare)
        ours.close()

    def run(self, task: Callable[..., Any], arguments: tuple[Any, ...], seconds: float) -> Any:
        """Run a module's function in a child of the copy and return its result."""
        try:
            self._pipe.send_bytes(pickle.dumps((task, arguments, seconds)))
            if not self._pipe.poll(seconds + GRACE_SECONDS):
                self.end()
                raise TaskFailed("it took too long")
            succeeded, result = self._pipe.recv()
        except (OSError, EOFError, pickle.PickleError, AttributeError, TypeError) as error:
            raise TaskFailed(f"its process cannot be reached ({type(error).__name__})") from error
        if not succeeded:
            raise TaskFailed(str(result))
        return result

    def end(self) -> None:
        """End the copy, and the task that it runs."""
        self._pipe.close()
        with suppress(OSError):
            os.killpg(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)


_copy: PristineProcess | None = None
_is_copy = False


def put_aside(prepare: Callable[[], object] | None) -> None:
    """Put a pristine copy of this process aside, instead of an earlier one. It begins with ``prepare``; None: make no copy."""
    global _copy
    if _is_copy:
        return
    if _copy is not None:
        _copy.end()
    _copy = PristineProcess(prepare) if SUPPORTED and prepare is not None else None


def run_pristine(task: Callable[..., Any], *arguments: Any, seconds: float) -> Any:
    """Run a module's function in a process that has seen no row; raise :class:`TaskFailed` if it does not return."""
    if _copy is not None:
        return _copy.run(task, arguments, seconds)
    try:
        return task(*arguments)
    except Exception as error:
        raise TaskFailed(type(error).__name__) from error


def _serve(pipe: Connection, prepare: Callable[[], object]) -> None:
    """Fork a child for every task, until the process that made this copy ends."""
    global _is_copy
    _is_copy = True
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in ENDING_SIGNALS:  # the command's handlers are of no use here
        signal.signal(number, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    # a notebook's streams, for example, need sockets that are closed below
    sys.stdout = sys.stderr = open(nothing, "w", closefd=False)  # noqa: SIM115  open as long as the process
    for file in {*map(int, os.listdir("/proc/self/fd"))} - {0, 1, 2, nothing, pipe.fileno()}:
        with suppress(OSError):
            os.close(file)
    with suppress(Exception):
        prepare()
    with suppress(EOFError, OSError):
        while True:
            message = pipe.recv_bytes()
            receiver, sender = Pipe(duplex=False)
            child = os.fork()
            if child == 0:
                pipe.close()
                _answer(sender, message)
            sender.close()
            if receiver not in wait([receiver, pipe]):  # the process that sent the task has ended
                os.killpg(0, signal.SIGKILL)
            try:
                answer = receiver.recv_bytes()
            except EOFError:
                answer = pickle.dumps((False, "it took too long, or ended its process"))
            receiver.close()
            os.waitpid(child, 0)
            pipe.send_bytes(answer)
    os._exit(0)


def _answer(pipe: Connection, message: bytes) -> None:
    """Run one task in a thread, whose stack does not lead to the frames of those that forked, and send its result."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    sys.modules["__main__"] = ModuleType("__main__")
    result: list[Any] = []

    def run() -> None:
        try:
            task, arguments, seconds = pickle.loads(message)
            signal.setitimer(signal.ITIMER_REAL, seconds)
            with one_thread():
                sys.addaudithook(_refuse)
                result[:] = True, task(*arguments)
        except Forbidden as error:
            result[:] = False, str(error)
        except BaseException as error:  # noqa: BLE001  the other side says what happened
            result[:] = False, f"it ends with {type(error).__name__}"

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    pipe.send(tuple(result))
    os._exit(0)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what a task has no use for."""
    if event.startswith(FORBIDDEN_EVENTS) or event in FORBIDDEN_READS:
        raise Forbidden(f"it is not allowed to use {event}")
    if event == "open":
        path, mode, flags = (*arguments, None, None, None)[:3]
        writes = any(letter in str(mode or "") for letter in "wax+") or int(flags or 0) & (os.O_WRONLY | os.O_RDWR)
        if writes or not str(path).endswith(CODE_SUFFIXES):
            raise Forbidden("it is not allowed to open a file")
