"""An outside program: somebody else's fit of the rows, with the price that it claims, and without a proof of ours."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from dpbench.accounting.costs import Cost, LedgerEntry
from dpbench.data.samples import Sample
from dpbench.data.scaling import Rows
from dpbench.privacy.procedures.procedure import Array, Exact, Procedure
from dpbench.privacy.queries.query import RowQuery

Program = Callable[[Mapping[str, Array]], Array]
"""Return the answers (fits, size) for ``features`` and ``target`` of all tables one below the other, the row at which each table
``ends``, how many ``fits`` are made on each, and a seed for each fit (``seeds``)."""
TableFit = Callable[[Array, Array, int], Array]
"""Return the private weights of one table, given its features (n, d), its target (n,) and a seed for the noise."""
MAX_NUMBERS = 20_000_000
"""Numbers that a program gets at a time."""


@dataclass(frozen=True)
class _Nothing(RowQuery):
    """A query that no row contributes to: a replay can judge nothing of a program whose noise it does not know."""

    name: str

    @property
    def size(self) -> int:
        return 1

    def contribution(self, rows: Rows, run: int) -> Array:
        return np.zeros((rows.n, 1))


@dataclass(frozen=True, eq=False)
class OutsideProgram(Procedure):
    """The answers of a program that sees the rows. Its ledger entry is never sound: dpbench has no proof of what it does.

    A replay would only give the recorded answers back: ``audit.level=release`` tries whole fits.
    """

    name: str
    program: Program
    settings: str
    """The program's settings, in a text that identifies them."""
    claimed: Cost
    reason: str
    """Why nothing is proven."""

    measure: ClassVar[str] = "claim"
    opaque: ClassVar[bool] = True

    @classmethod
    def of_tables(cls, name: str, fit: TableFit, settings: str, claimed: Cost, reason: str) -> Self:
        """Return the program that calls ``fit(features, target, seed)``, in this process, for one table after the other.

        Features have no column for an intercept. The result holds as many numbers as the mechanism makes weights of.
        """

        def program(arrays: Mapping[str, Array]) -> Array:
            tables = [np.split(arrays[part], arrays["ends"][:-1]) for part in ("features", "target")]
            of_fit = np.repeat(np.arange(len(arrays["fits"])), arrays["fits"])  # several fits may share a table
            seeds = zip(of_fit, arrays["seeds"], strict=True)
            return np.stack([fit(tables[0][table], tables[1][table], int(seed)) for table, seed in seeds])

        return cls(name, program, settings, claimed, reason)

    @property
    def proof(self) -> str:  # type: ignore[override]
        return f"unproven: {self.reason}"

    @property
    def cost(self) -> Cost:
        return self.claimed

    @property
    def identity(self) -> str:
        return f"{self.name}, {self.settings}"

    def answer(self, sample: Sample, exact: Exact, generators: Sequence[np.random.Generator]) -> Array:
        tables: list[tuple[Rows, list[int]]] = []
        for run, generator in enumerate(generators):
            rows, seed = sample.rows(run), int(generator.integers(2**31))
            if tables and tables[-1][0] is rows:
                tables[-1][1].append(seed)
            else:
                tables.append((rows, [seed]))
        answers, waiting = [], list(reversed(tables))
        while waiting:
            chunk = [waiting.pop()]
            while waiting and sum(rows.z.size for rows, _ in (*chunk, waiting[-1])) <= MAX_NUMBERS:
                chunk.append(waiting.pop())
            answers.append(self.program(_arrays(chunk)))
        return np.concatenate(answers)

    def judged_by(self, answer: Array) -> RowQuery:
        return _Nothing(self.name)

    def moved(self, one: Array, other: Array, run: int | None = None) -> Array:
        return np.zeros(np.shape(one)[:-1])

    def ledger_entry(self) -> LedgerEntry:
        return LedgerEntry(self.name, self.cost, False, self.proof)


def _arrays(tables: Sequence[tuple[Rows, list[int]]]) -> dict[str, Array]:
    z = np.concatenate([rows.z for rows, _ in tables])
    return {
        "features": z[:, 1:-1],
        "target": z[:, -1],
        "ends": np.cumsum([rows.n for rows, _ in tables]),
        "fits": np.array([len(seeds) for _, seeds in tables]),
        "seeds": np.array([seed for _, seeds in tables for seed in seeds]),
    }
