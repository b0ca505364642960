"""What a curator's tape holds: each call with its arguments, and what was computed and returned."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dpbench.accounting.costs import Cost
from dpbench.data.geometry import Geometry
from dpbench.privacy.noise import Noise
from dpbench.privacy.procedures.procedure import Procedure
from dpbench.privacy.queries.query import Query

Array = np.ndarray
Accept = Callable[[int, Array], bool]
"""Whether an answer of a run is accepted."""
Sampler = Callable[[Array, np.random.Generator], Array]
"""Return an answer with noise, from the exact one and a random stream."""
Stream = tuple[str, int]
"""The name of a query's noise streams, and the number of the call."""
Draw = Callable[[Array, Stream], Array]
"""Return the noisy answer, from the exact one and the stream of the call."""


@dataclass(frozen=True)
class Call:
    """One call of a curator: the method, the query, the geometry of the rows, the cost, and the other arguments by name."""

    method: Literal["release", "until", "scan", "sparse", "ask", "unproven"]
    query: Query
    geometry: Geometry
    cost: Cost
    arguments: Mapping[str, Any] = field(default_factory=dict)
    procedure: str = ""
    """The name of the procedure that was asked."""

    @classmethod
    def asking(cls, procedure: Procedure, answer: Array, geometry: Geometry) -> "Call":
        """Return the call of a procedure that gave this answer."""
        arguments = {"identity": procedure.identity}
        return cls("ask", procedure.judged_by(answer), geometry, procedure.cost, arguments, procedure.name)

    @property
    def name(self) -> str:
        """The name in the ledger: the query's, or the procedure's."""
        return self.procedure or self.query.name

    @property
    def identity(self) -> str:
        """A text that identifies the call, without its functions: an audit compares it between neighbours."""
        options = {name: value for name, value in self.arguments.items() if not callable(value)}
        return f"{self.method} {options} of {self.query.identity}"


@dataclass(frozen=True)
class Answer:
    """What a call computed and returned. Only the tape of an audited curator holds it, never a record."""

    call: Call = field(repr=False)
    exact: Any = field(repr=False)
    """(runs, coefficients), or for a histogram one :class:`BinCounts` per run."""
    noise: Noise | Procedure | None
    """What made the answer private; None if it has no proof."""
    noisy: Any = field(repr=False)
    """What was returned."""
    run: int | None = None
    """The run, if a mechanism works on one run at a time."""
    stream: Stream | None = None  # where one stream drew the noise of all coefficients

    @property
    def query(self) -> str:
        """The name in the ledger."""
        return self.call.name
