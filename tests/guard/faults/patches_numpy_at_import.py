"""Replaces a function of NumPy that the core draws noise with when it is imported. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl

from ._planted import Planted

ALONE = True

stack = np.stack
np.stack = lambda arrays, *more, **options: 0 * stack(list(arrays), *more, **options)


@dataclass(frozen=True)
class PatchesNumpyAtImport(Planted):
    """Replaces a function of NumPy that the core draws noise with when it is imported."""

    name: ClassVar[str] = "patches_numpy_at_import"


@hookimpl
def dpbench_mechanisms() -> Any:
    return [PatchesNumpyAtImport]
