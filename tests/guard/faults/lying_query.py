"""A query that equals every other query, so that a cache of sums would mix them up. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted, Products, products, size_of

ALONE = True


class Equal(Products):
    """A query that equals everything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


@dataclass(frozen=True)
class LyingQuery(Planted):
    """A query that equals every other query, so that a cache of sums would mix them up."""

    name: ClassVar[str] = "lying_query"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        half = laplace(2 * size_of(curator), budget.epsilon / 2, "every product lies in [-1, 1]")
        zeros = Equal(size_of(curator), lambda rows: 0 * products(rows))
        curator.release(zeros, half)
        large = Equal(size_of(curator), lambda rows: 1000 * products(rows))
        return self.finish(curator, curator.release(large, half))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [LyingQuery]
