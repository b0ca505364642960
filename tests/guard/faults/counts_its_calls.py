"""Its query counts the rows it has seen, and contributes a thousand times as much from its third call on. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import hookimpl

from ._planted import Planted, Products, products, size_of


class Counting(Products):
    """A query with a memory."""

    calls = 0

    def contribution(self, rows: Any, run: int = 0) -> Any:
        type(self).calls += 1
        return products(rows) * (1000 if type(self).calls > 2 else 1)


@dataclass(frozen=True)
class CountsItsCalls(Planted):
    """Its query counts the rows it has seen, and contributes a thousand times as much from its third call on."""

    name: ClassVar[str] = "counts_its_calls"

    def query(self, curator: Any) -> Any:
        return Counting(size_of(curator), products)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [CountsItsCalls]
