"""What a sweep's note, printed table and page have in common, computed once: leaderboards, the answer, the price of a release."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.answer import MAX_SHORT_SENTENCES, answer, short_answer
from dpbench.report.leaderboards import Board, boards
from dpbench.report.release_price import ReleasePrice, release_price

MAX_SENTENCES = 6
"""With more problems and values of ε than this, terminal and note sum up the answer."""


@dataclass(frozen=True)
class SweepSummary:
    """A sweep, and what its records say."""

    sweep: SweepRecord

    @property
    def cells(self) -> tuple[CellRecord, ...]:
        return self.sweep.cells

    @cached_property
    def done(self) -> list[CellRecord]:
        return self.sweep.done

    @cached_property
    def boards(self) -> list[Board]:
        return boards(self.cells)

    @cached_property
    def answer(self) -> list[str]:
        """One sentence for each problem at each accounted ε."""
        return answer(self.boards)

    @cached_property
    def short_answer(self) -> list[str]:
        """The answer in at most three sentences."""
        return short_answer(self.cells, self.boards, self.answer)

    @property
    def detailed_answer(self) -> list[str]:
        """The answer's sentences if the short answer does not hold all of them."""
        return self.answer if len(self.answer) > MAX_SHORT_SENTENCES else []

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
