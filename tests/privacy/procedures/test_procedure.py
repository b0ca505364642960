"""Only dpbench's own procedures are asked, because a procedure sees rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from dpbench.accounting.costs import Gdp
from dpbench.data.samples import WholeSample
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.privacy.procedures.procedure import Procedure


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
