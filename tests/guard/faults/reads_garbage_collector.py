"""Finds the sample among all objects of the process, and fits its moments. Expected: caught."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.data.samples import Sample

from ._planted import Planted, exact_sums


@dataclass(frozen=True)
class ReadsGarbageCollector(Planted):
    """Finds the sample among all objects of the process, and fits its moments."""

    name: ClassVar[str] = "reads_garbage_collector"

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        for held in gc.get_objects():
            if isinstance(held, Sample) and held.runs == len(answer) and held.n[0] == curator.n[0]:
                return super().finish(curator, np.concatenate([exact_sums(held.rows(run)) for run in range(held.runs)]))
        return super().finish(curator, answer)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [ReadsGarbageCollector]
