"""Ends the process in the middle of a fit. Expected: caught."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted

ALONE = True


@dataclass(frozen=True)
class Exits(Planted):
    """Ends the process in the middle of a fit."""

    name: ClassVar[str] = "exits"

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        sys.exit("enough")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [Exits]
