"""Replaces a function of NumPy while it fits, which later cells would call. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted

ALONE = True
eigh = np.linalg.eigh


def flat(matrix: Any) -> Any:
    """Return eigenvalues of one."""
    values, vectors = eigh(matrix)
    return np.ones_like(values), vectors


@dataclass(frozen=True)
class PatchesNumpyInFit(Planted):
    """Replaces a function of NumPy while it fits, which later cells would call."""

    name: ClassVar[str] = "patches_numpy_in_fit"

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        fit = super().finish(curator, answer)
        np.linalg.eigh = flat
        return fit


@hookimpl
def dpbench_mechanisms() -> Any:
    return [PatchesNumpyInFit]
