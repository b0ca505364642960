"""What a sweep's note, printed table and page have in common, computed once: leaderboards, the answer, the price of a release."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.answer import conclusion, details, short_answer
from dpbench.report.leaderboards import Board, boards
from dpbench.report.release_price import ReleasePrice, release_price
from dpbench.report.statistics.paired import Comparer, Comparison

MAX_SENTENCES = 8
"""With more sentences than this, terminal and note show the conclusion alone."""


@dataclass(frozen=True)
class SweepSummary:
    """A sweep, and what its records say."""

    sweep: SweepRecord
    comparer: Comparer | None = None
    """Compares two cells, where an earlier sweep has done so already."""

    @property
    def cells(self) -> tuple[CellRecord, ...]:
        return self.sweep.cells

    @cached_property
    def done(self) -> list[CellRecord]:
        return self.sweep.done

    @cached_property
    def boards(self) -> list[Board]:
        return boards(self.cells, self.comparer)

    @property
    def comparisons(self) -> Iterator[Comparison]:
        """All comparisons of cells with the best of their group."""
        return (comparison for board in self.boards for comparison in board.comparisons)

    @cached_property
    def conclusion(self) -> list[str]:
        """What a reader may conclude, in a few sentences."""
        return conclusion(self.boards)

    @cached_property
    def details(self) -> list[str]:
        """One sentence for each problem at each accounted ε; empty if the conclusion holds everything."""
        return details(self.boards)

    @property
    def answer(self) -> list[str]:
        """The whole answer: first what may be concluded, then the numbers."""
        return [*self.conclusion, *self.details]

    @cached_property
    def short_answer(self) -> list[str]:
        """The conclusion, and what is private."""
        return short_answer(self.cells, self.conclusion)

    @property
    def headlines(self) -> list[str]:
        """The answer if it is a few sentences, else in short."""
        return self.answer if 0 < len(self.answer) <= MAX_SENTENCES else self.short_answer

    @cached_property
    def price(self) -> ReleasePrice | None:
        """None if there is no choice between private cells."""
        return release_price(self.cells)

    @property
    def metrics(self) -> Mapping[str, float]:
        """The metrics of the parent run."""
        return self.price.metrics() if self.price else {}
