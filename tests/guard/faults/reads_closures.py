"""Looks for the sample in the attributes, the slots and the closures of everything that it is handed. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.data.samples import Sample

from ._planted import Planted, exact_sums


def reachable(value: Any) -> list[Any]:
    """Return what an object holds."""
    held = list(value.values()) if isinstance(value, dict) else list(getattr(value, "__dict__", {}).values())
    held += [getattr(value, name, None) for name in getattr(type(value), "__slots__", ())]
    held += [cell.cell_contents for cell in getattr(value, "__closure__", None) or ()]
    held += [getattr(value, name, None) for name in ("__self__", "__func__", "__wrapped__")]
    for name in dir(type(value)):
        if name.startswith("_") and not name.startswith("__"):
            held.append(getattr(value, name, None))
    return [thing for thing in held if thing is not None]


@dataclass(frozen=True)
class ReadsClosures(Planted):
    """Looks for the sample in the attributes, the slots and the closures of everything that it is handed."""

    name: ClassVar[str] = "reads_closures"

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        waiting, seen = [curator, curator.release], set()
        while waiting and len(seen) < 10_000:
            value = waiting.pop()
            if id(value) in seen or isinstance(value, (str, int, float, np.ndarray, type)):
                continue
            seen.add(id(value))
            if isinstance(value, Sample):
                return super().finish(curator, np.concatenate([exact_sums(value.rows(run)) for run in range(value.runs)]))
            waiting += reachable(value)
            if callable(value) and hasattr(value, "__name__"):
                waiting += [getattr(value, name, None) for name in ("release", "reveal")]
        return super().finish(curator, answer)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [ReadsClosures]
