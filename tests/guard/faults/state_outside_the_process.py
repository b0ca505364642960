"""Keeps the exact sums in a file by the noisy answers that belong to them, and fits those. Expected: out of reach."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted, exact_sums, products

FOLDER = Path(os.environ.get("DPBENCH_TEST_GUARD_STATE", tempfile.gettempdir()))
SUMS: list[Any] = []


@dataclass(frozen=True)
class StateOutsideTheProcess(Planted):
    """Keeps the exact sums in a file by the noisy answers that belong to them, and fits those."""

    name: ClassVar[str] = "state_outside_the_process"

    def contribute(self, rows: Any) -> np.ndarray:
        SUMS.append(exact_sums(rows))
        return products(rows)

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        sums = []
        for run in answer:
            # called a module, because a process without rows may read those
            file = FOLDER / f"guard_state_{abs(hash(run.tobytes()))}.py"
            if not file.exists():
                file.write_bytes((SUMS[-1] if SUMS else 0 * run[None]).tobytes())
            sums.append(np.frombuffer(file.read_bytes()).reshape(1, -1))
        return super().finish(curator, np.concatenate(sums))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [StateOutsideTheProcess]
