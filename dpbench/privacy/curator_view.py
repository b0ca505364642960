"""The closed view of a curator: what mechanisms and models get instead of the curator.

It has the curator's calls and nothing else: no rows, no streams, no tape and no ledger. Python cannot hide an object from an
author who takes functions apart, but nobody reaches it by accident, and the checks of a plugin's fit look for those who try.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from dpbench.accounting.costs import Cost
from dpbench.data.bins import BinCounts
from dpbench.data.geometry import Geometry
from dpbench.data.samples import Sample
from dpbench.privacy.calls import Accept, Sampler
from dpbench.privacy.curator import Curator
from dpbench.privacy.noise import Noise
from dpbench.privacy.procedures.procedure import Procedure
from dpbench.privacy.queries.histogram import Histogram, Scan
from dpbench.privacy.queries.query import Query

T = TypeVar("T")


class CuratorView:
    """The calls of a :class:`Curator`, whose docstrings say what they do."""

    __slots__ = ("_call", "geometry", "n", "runs")

    def __init__(self, curator: Curator) -> None:
        calls: dict[str, Callable[..., Any]] = {name: getattr(curator, name) for name in CALLS}

        def call(name: str, *arguments: Any) -> Any:
            return calls[name](*arguments)

        self._call = call
        self.geometry: Geometry = curator.geometry
        self.n: np.ndarray = curator.n
        self.runs: int = curator.runs

    def release(self, query: Query, noise: Noise) -> np.ndarray:
        """Return the query's sum for each run, with noise: (runs, coefficients)."""
        return cast(np.ndarray, self._call("release", query, noise))

    def until(self, query: Query, noise: Noise, accept: Accept, max_tries: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw again until ``accept(run, answer)`` is true; return the answers and whether each was accepted."""
        return cast(tuple[np.ndarray, np.ndarray], self._call("until", query, noise, accept, max_tries))

    def scan(self, query: Histogram, noise: Noise, step: int) -> Scan:
        """Return the noisy count of every bin."""
        return cast(Scan, self._call("scan", query, noise, step))

    def sparse(self, query: Histogram, noise: Noise, threshold: int, size: int) -> Iterator[BinCounts]:
        """Return at most ``size`` bins per run, sampled by priority among those whose noisy count reaches the threshold."""
        return cast(Iterator[BinCounts], self._call("sparse", query, noise, threshold, size))

    def ask(self, procedure: Procedure) -> np.ndarray:
        """Return a procedure's answer for each run: a private answer that is not noise on a sum."""
        return cast(np.ndarray, self._call("ask", procedure))

    def unproven(self, query: Query, sampler: Sampler, claimed: Cost, reason: str) -> np.ndarray:
        """Return ``sampler(exact answer, generator)`` of each run: published noise without a proof of privacy."""
        return cast(np.ndarray, self._call("unproven", query, sampler, claimed, reason))

    def reveal(self, what: str, compute: Callable[[Sample], T], reason: str) -> T:
        """Return something that is not private at all."""
        return cast(T, self._call("reveal", what, compute, reason))

    def leak(self, what: str, why: str, compute: Callable[[Sample], T]) -> T:
        """Return something chosen on the exact data that ε does not count: every record names the leak."""
        return cast(T, self._call("leak", what, why, compute))

    def without(self, attributes: Sequence[str]) -> "CuratorView":
        """Return a view of the same rows without these attributes."""
        return CuratorView(self._call("without", attributes))

    def for_run(self, run: int) -> "CuratorView":
        """Return a view of a single run."""
        return CuratorView(self._call("for_run", run))


CALLS = ("release", "until", "scan", "sparse", "ask", "unproven", "reveal", "leak", "without", "for_run")


def closed(curator: Curator) -> Curator:
    """Return the closed view of a curator, or the view itself. It counts as a curator, because it answers the same calls."""
    return curator if isinstance(curator, CuratorView) else cast(Curator, CuratorView(curator))
