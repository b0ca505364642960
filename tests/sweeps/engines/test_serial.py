"""The serial engine runs units in this very process."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from dpbench.sweeps.engines.loop import run
from dpbench.sweeps.engines.serial import Serial


def test_units_run_in_this_process_one_after_the_other(do: Callable[[Any], Any]) -> None:
    units = [("pid", number) for number in range(3)]
    assert list(run(Serial(), do, units)) == [(unit, os.getpid()) for unit in units]
