"""The exponential mechanism: choose the candidate of the largest additive score, with noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpbench.accounting.costs import Cost, Pure, Zcdp
from dpbench.data.samples import Sample
from dpbench.privacy.procedures.procedure import Array, Exact, Procedure
from dpbench.privacy.queries.query import Query


@dataclass(frozen=True, eq=False)
class Selection(Procedure):
    """Choose candidate j with probability proportional to exp(score_j / scale): McSherry and Talwar 2007, by Gumbel noise.

    The scores are a query's answer. ``bound`` is the supremum, over neighbours, of the range of the scores' changes (the largest
    change minus the smallest one) divided by the scale. The choice is ``bound``-DP: the change of log P[j] is that of score_j /
    scale minus one number, which lies between the smallest and the largest of these changes. So log-ratios have the range
    ``bound`` themselves, which is bound²/8-zCDP (Cesar and Rogers 2021, "Bounding, concentrating, and truncating"):
    ``counted="zcdp"``.
    """

    query: Query
    scale: float
    bound: float
    proof: str
    counted: Literal["pure", "zcdp"] = "pure"
    name: str = "selection"

    def __post_init__(self) -> None:
        if not (0 < self.scale < math.inf and 0 < self.bound < math.inf):
            raise ValueError("The scale and the bound of a selection must be finite and positive.")
        if not self.proof.strip():
            raise ValueError("A selection's proof must say why its bound holds.")
        if self.query.size < 2:
            raise ValueError("A selection needs at least two candidates.")

    @property
    def cost(self) -> Cost:
        return Pure(self.bound) if self.counted == "pure" else Zcdp(self.bound**2 / 8)

    @property
    def identity(self) -> str:
        return f"{self.name} of {self.query.identity}, scale {self.scale} bound {self.bound} {self.counted}"

    def answer(self, sample: Sample, exact: Exact, generators: Sequence[np.random.Generator]) -> Array:
        scores = exact(self.query)
        noise = np.stack([generator.gumbel(size=self.query.size) for generator in generators])
        return np.asarray((scores + self.scale * noise).argmax(axis=1, keepdims=True).astype(float))

    def judged_by(self, answer: Array) -> Query:
        return self.query

    def moved(self, one: Array, other: Array, run: int | None = None) -> Array:
        change = one - other
        return np.asarray((change.max(axis=-1) - change.min(axis=-1)) / self.scale / self.bound)
