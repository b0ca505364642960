"""Only dpbench's own procedures are asked, because a procedure sees rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from dpbench.accounting.costs import Gdp, LedgerEntry
from dpbench.data.samples import WholeSample
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws, gaussian
from dpbench.privacy.procedures.least_eigenvalue import LeastEigenvalue
from dpbench.privacy.procedures.procedure import Procedure
from dpbench.privacy.queries.query import Layer, MomentQuery


@dataclass(frozen=True, eq=False)
class Stranger(Procedure):
    """A procedure of somebody else's, which returns exact sums."""

    name: ClassVar[str] = "stranger"  # type: ignore[misc]
    proof: ClassVar[str] = "none"  # type: ignore[misc]
    cost: ClassVar[Any] = Gdp(0.001)  # type: ignore[misc]
    identity: ClassVar[str] = "stranger"  # type: ignore[misc]

    def answer(self, sample: Any, exact: Any, generators: Any) -> np.ndarray:
        return np.asarray(sample.moments.xy)

    def judged_by(self, answer: np.ndarray) -> Any:
        raise NotImplementedError

    def moved(self, one: np.ndarray, other: np.ndarray, run: int | None = None) -> np.ndarray:
        return np.zeros(1)


def test_a_procedure_of_somebody_else_is_refused(geometry, rows) -> None:
    curator = Curator(WholeSample(rows(geometry(2), [[0, 1]], [1])), Draws(0, "t", [(0, 0)]), Budget())
    with pytest.raises(TypeError, match="one of dpbench's own"):
        curator.ask(Stranger())
    assert curator.ledger.entries == []


def test_two_procedures_of_a_kind_draw_noise_of_their_own(geometry, rows) -> None:
    """Otherwise 2b - a would be exact, where b has twice the noise of a."""

    class Scores(MomentQuery):
        name = "scores"
        layers = (Layer(np.array([1, 2]), np.array([3, 3]), np.ones(2)), Layer(np.array([1]), np.array([3]), np.ones(1), 2))

    sample = WholeSample(*[rows(geometry(2), [[0, 1]], [1])] * 20)
    noise = [gaussian(1.0, mu, "proof") for mu in (0.01, 0.02)]
    numbers = []
    for paid in ((), [LedgerEntry("a", Gdp(0.1), True, "proof")]):
        curator = Curator(sample, Draws(0, "t", [(run, 0) for run in range(20)]), Budget(9.0, 1e-6), paid=paid)
        first, second = (curator.ask(LeastEigenvalue(Scores(), law, name)) for law, name in zip(noise, "ab", strict=True))
        assert (np.abs(first / second - 2) > 1e-6).all()
        numbers.append(first)
    assert (numbers[0] != numbers[1]).all(), "what was paid before drew from the first stream"
