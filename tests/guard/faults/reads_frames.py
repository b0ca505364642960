"""Walks up the stack to a frame that holds the sample, and fits its moments. Expected: caught."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.data.samples import Sample

from ._planted import Planted, exact_sums


@dataclass(frozen=True)
class ReadsFrames(Planted):
    """Walks up the stack to a frame that holds the sample, and fits its moments."""

    name: ClassVar[str] = "reads_frames"

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        frame = sys._getframe()
        while frame is not None:
            for value in list(frame.f_locals.values()):
                holders = (value, getattr(value, "_sample", None), getattr(getattr(value, "block", None), "train", None))
                for held in holders:
                    if isinstance(held, Sample):
                        return super().finish(curator, np.concatenate([exact_sums(held.rows(run)) for run in range(held.runs)]))
            frame = frame.f_back
        return super().finish(curator, answer)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [ReadsFrames]
