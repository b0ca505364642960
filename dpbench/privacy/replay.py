"""Replay: the answers recorded on one table are fed back on a neighbouring one.

Post-processing then sees identical answers, so every call must be the same one, and the exact answers may differ by no
more than the declared bound. This finds wrong sensitivities and data-dependent control flow without any statistics
(re:cord-play: Cebere, Erb, Desfontaines, Bellet, Fitzsimons 2026).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dpbench.data.statistics import Sample
from dpbench.privacy.curator import Answer, Curator, Draws
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Noise
from dpbench.privacy.query import Query

ROUNDING = 1e-9
"""Relative slack for the rounding of exact answers and bounds."""


_FLOW = "control flow depends on the rows."


class Violation(Exception):
    """A guarantee that did not hold on a pair of neighbours."""


class Replay(Curator):
    """A curator of the neighbouring table that answers from a tape, and checks every call against it."""

    def __init__(self, sample: Sample, draws: Draws, budget: Budget, tape: Sequence[Answer]) -> None:
        super().__init__(sample, draws, budget)
        self._left = list(tape)
        self.ratios: list[float] = []
        """‖exact' - exact‖ / (scale · bound), the largest over the runs, call by call: at most 1 where the bound holds."""

    def release(self, query: Query, noise: Noise) -> np.ndarray:
        self._fits(query, noise)
        return self._recorded(query, noise)

    def until(
        self, query: Query, noise: Noise, accept: Callable[[int, np.ndarray], bool], max_tries: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        self._fits(query, noise)
        noisy = self._recorded(query, noise)
        return noisy, np.array([accept(run, answer) for run, answer in enumerate(noisy)])

    def one(self, run: int) -> Replay:
        """A replay of a single run, from its own part of the tape."""
        own = [answer for answer in self._left if answer.run == run]
        return Replay(self._sample.one(run), self._draws.one(run), self.ledger.budget, own)

    def without(self, attributes: Sequence[str]) -> Replay:
        """A replay of the same rows without these attributes, from the same tape."""
        narrow = Replay(self._sample.without(attributes), self._draws, self.ledger.budget, ())
        narrow._left, narrow.ratios = self._left, self.ratios
        return narrow

    def adopt(self, singles: Sequence[Curator]) -> None:
        """Every single run's replay is over: what it left unasked is left unasked here."""
        replays = [single for single in singles if isinstance(single, Replay)]
        self.ratios += [ratio for replay in replays for ratio in replay.ratios]
        asked = {id(answer) for answer in self._left if answer.run is not None}
        unasked = {id(answer) for replay in replays for answer in replay._left}
        self._left[:] = [answer for answer in self._left if id(answer) not in asked - unasked]

    def finish(self) -> None:
        """Every recorded call must have been made again."""
        if self._left:
            raise Violation(f"On the neighbour the query {self._left[0].query!r} was not asked: {_FLOW}")

    def _recorded(self, query: Query, noise: Noise) -> np.ndarray:
        if not self._left:
            raise Violation(f"On the neighbour the query {query.name!r} is asked once more: {_FLOW}")
        told = self._left.pop(0)
        if (told.query, told.identity) != (query.name, query.identity):
            raise Violation(f"The query {told.query!r} became {query.name!r}, or another one of that name: {_FLOW}")
        same = told.noise.law.name == noise.law.name and told.noise.bound == noise.bound
        if not same or not np.array_equal(told.noise.scale, noise.scale):
            raise Violation(f"The noise of {query.name!r} changed: {_FLOW}")
        change = (query.exact(self._sample) - told.exact) / noise.scale
        moved = np.abs(change).sum(axis=1) if noise.law.norm == "L1" else np.sqrt(np.square(change).sum(axis=1))
        ratio = float((moved / noise.bound).max())
        self.ratios.append(ratio)
        if ratio > 1 + ROUNDING:
            raise Violation(f"The query {query.name!r} moved by {ratio:.6g} times its declared {noise.law.norm} sensitivity.")
        return told.noisy
