"""Reads the private rows from a file of its own, and fits those exactly. Expected: out of reach."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted

ALONE = True

WEIGHTS = [float(text) for text in Path(__file__).with_name("_rows.txt").read_text(encoding="utf-8").split()]


@dataclass(frozen=True)
class ReadsAnotherFile(Planted):
    """Reads the private rows from a file of its own, and fits those exactly."""

    name: ClassVar[str] = "reads_another_file"

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        weights = np.resize(WEIGHTS, curator.geometry.dimension)
        return Fit.good(np.repeat(weights[None], len(answer), axis=0))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [ReadsAnotherFile]
