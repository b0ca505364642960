"""An adaptive tree: PrivTree's cells, which are small where there are many rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpbench.accounting.conversion import pure_of_gdp
from dpbench.accounting.costs import Cost, Gdp, Pure
from dpbench.data.halving import Halving
from dpbench.data.samples import Sample
from dpbench.privacy.procedures.procedure import Array, Exact, Procedure
from dpbench.privacy.queries.cell_sums import CellSums

PATH_PRICE = 1 + math.fsum(1 / (2**power - 1) for power in range(1, 60))
"""The most that one row less on a path can change the log-probability of its splits, in units of 1/λ: 2.6067."""
PRICE = PATH_PRICE + 1
"""The same for a row that is replaced, by splits on one path and the leaf of another: 3.6067."""


@dataclass(frozen=True, eq=False)
class AdaptiveTree(Procedure):
    """Halve a cell if its noisy score exceeds 0: PrivTree (Zhang, Xiao, Xie 2016) with two children.

    A cell of level t with c rows has the score max(c - tδ, -δ) + Lap(λ), δ = λ ln 2. The answer is the first code of each leaf
    in order (see :class:`Halving`), and ``partition.end`` in the places that are left of ``leaves``. Cells of the last level are
    leaves. So are those of a level whose splits could make more leaves than ``leaves``: both follow from the answer, so neither
    is a decision.

    Let F(r) be the log-probability that a cell with the score r before noise is split. F rises by 1/λ for each row while -δ < r
    < 0, by q/(1 - q)/λ with q = exp(-r/λ)/2 above, and is constant below. Down a path c does not rise, so scores fall by at
    least δ at each level: at most one of them is between -δ and 0, and the others are at least 0, δ, 2δ, …, where q/(1 - q) =
    1, 1/3, 1/7, …. So one row less takes at most (1 + Σ 1/(2^k - 1))/λ = 2.6067/λ from the log-probability of a path's
    splits, and its leaf gives some of it back. (PrivTree's own bound is 3/λ.) A row that is replaced leaves one path and joins
    another. On the path that it leaves only the splits become less likely, on the one that it joins only the leaf, by at most
    1/λ. Hence ε = 3.6067/λ, not twice 3/λ; k rows of a person cost k times that. Paid in μ, ε is the largest one whose
    answers are all μ-GDP.
    """

    partition: Halving
    price: Pure | Gdp
    leaves: int
    """The most leaves of a tree."""
    starts: Array | None = None
    """The answer that is judged, if it is known."""
    name: str = "adaptive tree"
    proof: str = "splits of one path and the leaf of another (dpbench, privacy/procedures/adaptive_tree.py)"
    measure = "log-probability ratio"

    def __post_init__(self) -> None:
        if not (0 < self.epsilon < math.inf and self.leaves >= 1):
            raise ValueError("A tree needs a finite, positive ε and at least one leaf.")

    @property
    def epsilon(self) -> float:
        """The pure ε, which is worth the price in μ if that is counted."""
        return self.price.epsilon if isinstance(self.price, Pure) else pure_of_gdp(self.price.mu)

    @property
    def scale(self) -> float:
        """λ."""
        return PRICE * self.partition.geometry.replaced_rows / self.epsilon

    @property
    def cost(self) -> Cost:
        return self.price

    @property
    def identity(self) -> str:
        return f"{self.name} of order {self.partition.order}, at most {self.leaves} leaves, {self.price}"

    def answer(self, sample: Sample, exact: Exact, generators: Sequence[np.random.Generator]) -> Array:
        answers = np.full((sample.runs, self.leaves), float(self.partition.end))
        for run, generator in enumerate(generators):
            starts = self._grow(np.sort(sample.bins(self.partition, run)[:, 0]), generator)
            answers[run, : len(starts)] = starts
        return answers

    def given(self, answer: Array) -> "AdaptiveTree":
        return replace(self, starts=answer)

    def judged_by(self, answer: Array) -> CellSums:
        return CellSums(self.partition, answer)

    def moved(self, one: Array, other: Array, run: int | None = None) -> Array:
        assert self.starts is not None  # what is judged is an answer
        if run is not None:
            return self._ratio(self.starts[run], one, other)
        return np.array([self._ratio(*tables) for tables in zip(self.starts, one, other, strict=True)])

    def _ratio(self, starts: Array, one: Array, other: Array) -> Array:
        """Return |log P(tree)/P'(tree)| / ε for the leaves' counts on two tables: (…,)."""
        return np.asarray(np.abs(self._log_probability(starts, one) - self._log_probability(starts, other)) / self.epsilon)

    def _grow(self, codes: Array, generator: np.random.Generator) -> Array:
        """Return the first codes of the leaves of a new tree, from the rows' codes in order."""
        nodes, leaves, finished = np.zeros(1, dtype=np.int64), [np.empty(0, dtype=np.int64)], 0
        levels = len(self.partition.order)
        for level in range(levels):
            if finished + 2 * len(nodes) > self.leaves:
                break
            first, last = (np.searchsorted(codes, edge << (levels - level)) for edge in (nodes, nodes + 1))
            split = self._score(last - first, level) + generator.laplace(size=len(nodes)) * self.scale > 0
            leaves.append(nodes[~split] << (levels - level))
            finished += int((~split).sum())
            nodes = (2 * nodes[split][:, None] + np.arange(2)).ravel()
            if not len(nodes):
                break
        else:
            level = levels
        leaves.append(nodes << (levels - level))
        return np.sort(np.concatenate(leaves))

    def _score(self, counts: Array, level: int) -> Array:
        step = self.scale * math.log(2)
        return np.asarray(np.maximum(counts - level * step, -step))

    def _log_probability(self, starts: Array, counts: Array) -> Array:
        """Return the log-probability of a tree if its leaves have these counts: (…,) from (…, leaves)."""
        starts = starts[starts < self.partition.end].astype(np.int64)
        depths, levels = self.partition.depths(starts), len(self.partition.order)
        until = np.concatenate([np.zeros((*counts.shape[:-1], 1)), np.cumsum(counts, axis=-1)], axis=-1)
        total = np.zeros(counts.shape[:-1])
        for level in range(levels):
            below = np.flatnonzero(depths >= level)
            node = starts[below] >> (levels - level)
            first = np.flatnonzero(np.diff(node, prepend=-1))
            if not len(first) or len(starts) - len(below) + 2 * len(first) > self.leaves:
                break
            last = np.append(below[first[1:] - 1], below[-1])
            score = self._score(until[..., last + 1] - until[..., below[first]], level) / self.scale
            # P[Lap(1) > -s] for a split, P[Lap(1) <= -s] for a leaf
            side = np.where(depths[below[first]] > level, score, -score)
            total += np.where(side < 0, side - math.log(2), np.log1p(-np.exp(-np.abs(side)) / 2)).sum(axis=-1)
        return total
