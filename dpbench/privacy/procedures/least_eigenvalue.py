"""The least eigenvalue of an additive symmetric matrix, with noise."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpbench.accounting.costs import Cost, LedgerEntry
from dpbench.data.samples import Sample
from dpbench.privacy.noise import Noise, plain_noise
from dpbench.privacy.procedures.procedure import Array, Exact, Procedure
from dpbench.privacy.queries.query import Query


@dataclass(frozen=True, eq=False)
class LeastEigenvalue(Procedure):
    """The least eigenvalue of a symmetric matrix M whose upper triangle, row by row, is a query's answer; plus noise.

    By Weyl's inequality it moves by at most the spectral norm of a change of M, which is what the noise's bound must cover. For
    X'X of rows of norm at most B, replacing a row u by v moves M by vv' - uu', whose eigenvalues lie between -B² and B².
    """

    query: Query
    noise: Noise
    """One scale, for all runs or for each."""
    name: str = "least eigenvalue"

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", plain_noise(self.noise))
        if self.noise.scale.shape[1] != 1:
            raise ValueError("The noise on a least eigenvalue must have one scale.")
        _side(self.query.size)

    @property
    def proof(self) -> str:  # type: ignore[override]
        return self.noise.proof

    @property
    def cost(self) -> Cost:
        return self.noise.cost

    @property
    def identity(self) -> str:
        return f"{self.name} of {self.query.identity}, {self.noise.law.name} {self.noise.scale.tolist()} {self.noise.bound}"

    def answer(self, sample: Sample, exact: Exact, generators: Sequence[np.random.Generator]) -> Array:
        least = np.linalg.eigvalsh(_symmetric(exact(self.query)))[:, :1]
        standard = np.stack([self.noise.law.standard(generator, 1) for generator in generators])
        return np.asarray(least + self.noise.law.shape(standard, self.noise.scale))

    def judged_by(self, answer: Array) -> Query:
        return self.query

    def moved(self, one: Array, other: Array, run: int | None = None) -> Array:
        norm = np.abs(np.linalg.eigvalsh(_symmetric(np.asarray(one - other)))).max(axis=-1, keepdims=True)
        return self.noise.moved(norm, np.zeros_like(norm), run)

    def ledger_entry(self) -> LedgerEntry:
        return self.noise.ledger_entry(self.name)


def _side(size: int) -> int:
    """Return D, if ``size`` is the number D(D + 1)/2 of entries of an upper triangle."""
    side = int((np.sqrt(8 * size + 1) - 1) / 2)
    if side * (side + 1) // 2 != size:
        raise ValueError(f"An upper triangle has 1, 3, 6, 10, … entries. Got a query of {size} instead.")
    return side


def _symmetric(triangle: Array) -> Array:
    """Return symmetric matrices from their upper triangles: (…, D, D)."""
    side = _side(triangle.shape[-1])
    row, column = np.triu_indices(side)
    matrix = np.zeros((*triangle.shape[:-1], side, side))
    matrix[..., row, column] = matrix[..., column, row] = triangle
    return matrix
