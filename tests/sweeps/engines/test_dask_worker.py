"""Dask makes its own processes workers of dpbench by calling what it loads first."""

from __future__ import annotations

from collections.abc import Callable


def test_what_dask_calls_makes_the_process_a_worker(python: Callable[[str], str]) -> None:
    code = (
        "import os, signal\n"
        "from dpbench.sweeps.engines.dask_worker import dask_setup\n"
        "dask_setup(None)\n"
        "print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN, os.environ['OMP_NUM_THREADS'])\n"
    )
    assert python(code) == "True 1\n"
