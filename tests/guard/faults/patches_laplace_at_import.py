"""Replaces the draws of the built-in Laplace law when it is imported: every mechanism would be exact. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Laplace

from ._planted import Planted

ALONE = True

Laplace.standard = lambda self, generator, size: np.zeros(size)


@dataclass(frozen=True)
class PatchesLaplaceAtImport(Planted):
    """Replaces the draws of the built-in Laplace law when it is imported: every mechanism would be exact."""

    name: ClassVar[str] = "patches_laplace_at_import"


@hookimpl
def dpbench_mechanisms() -> Any:
    return [PatchesLaplaceAtImport]
