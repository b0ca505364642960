"""Worker processes heed their parent, and neither the terminal nor the program that started them."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

from dpbench.sweeps.engines.worker_processes import TERMINAL_SIGNALS, terminal_signals_blocked, without_main


def test_a_worker_ignores_the_terminal_and_uses_one_thread(python: Callable[[str], str]) -> None:
    printed = python(
        """
        import os, signal
        from dpbench.sweeps.engines.worker_processes import ONE_THREAD, TERMINAL_SIGNALS, prepare_worker
        prepare_worker()
        for number in TERMINAL_SIGNALS:
            os.kill(os.getpid(), number)
        print({name: os.environ[name] for name in ONE_THREAD} == ONE_THREAD)
        """.replace("\n        ", "\n")
    )
    assert printed == "True\n"


def test_what_is_started_meanwhile_inherits_that_the_terminals_signals_wait() -> None:
    with terminal_signals_blocked():
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) >= set(TERMINAL_SIGNALS)
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []) & set(TERMINAL_SIGNALS)


def test_the_callers_program_is_hidden_and_put_back() -> None:
    main = vars(sys.modules["__main__"])
    before = {name: main.get(name) for name in ("__spec__", "__file__")}
    with without_main():
        assert main.get("__spec__") is None
        assert main.get("__file__") is None
    assert {name: main.get(name) for name in ("__spec__", "__file__")} == before
