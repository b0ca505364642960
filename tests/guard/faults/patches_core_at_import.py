"""Replaces a function of the core when it is imported: the ledger would accept everything. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import hookimpl
from dpbench.privacy.ledger import Ledger
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted

ALONE = True

Ledger.spend = lambda self, entry: self.entries.append(entry)


@dataclass(frozen=True)
class PatchesCoreAtImport(Planted):
    """Replaces a function of the core when it is imported: the ledger would accept everything."""

    name: ClassVar[str] = "patches_core_at_import"

    def noise(self, query: Any, epsilon: float) -> Noise:
        return laplace(2 * query.size, 100 * epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [PatchesCoreAtImport]
