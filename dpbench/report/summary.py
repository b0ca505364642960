"""What a sweep's note, printed table and page have in common, computed once: leaderboards, the answer, the price of a release."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.answer import conclusion, details, short_answer
from dpbench.report.decision import Decision, decisions, pick
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
    command_of: Callable[[CellRecord], str] | None = None
    """Returns the command that releases what a cell fitted; by default the record has the commands."""

    @property
    def cells(self) -> tuple[CellRecord, ...]:
        return self.sweep.cells

    @cached_property
    def done(self) -> list[CellRecord]:
        return self.sweep.done

    @cached_property
    def boards(self) -> list[Board]:
        return boards(self.cells, self.comparer)

    @cached_property
    def _rows(self) -> list[list[Decision]]:
        """The decisions of each problem: one for each accounted ε and group of cells that may be compared."""
        return list(map(decisions, self.boards))

    @cached_property
    def decisions(self) -> list[Decision]:
        """The rows of the decision table: every ε of the only problem, or one row for each of several."""
        if len(self._rows) == 1:
            return self._rows[0]
        # without a pick, the largest ε says that not even that is enough
        return [pick(rows) or rows[-1] for rows in self._rows]

    @property
    def all_decisions(self) -> list[Decision]:
        """The rows of all problems."""
        return [row for rows in self._rows for row in rows]

    @cached_property
    def picks(self) -> list[Decision]:
        """The row that a reader would pick of each problem, where there is one."""
        return [row for row in map(pick, self._rows) if row is not None]

    @cached_property
    def releases(self) -> Mapping[str, str]:
        """The command that releases the picked cell of each problem, by the cell's key, where it can be released."""
        commands = {row.best.key: self.release_command(row.best) for row in self.picks if row.best and row.best.key}
        return {key: command for key, command in commands.items() if command}

    @property
    def release_commands(self) -> list[tuple[str, str]]:
        """The same commands, each after the title of its problem."""
        commands = ((row.board.title, self.releases.get(row.best.key, "")) for row in self.picks if row.best)
        return [(title, command) for title, command in commands if command]

    def release_command(self, cell: CellRecord) -> str:
        """Return the command that releases what a cell fitted; empty if there is none."""
        return self.command_of(cell) if self.command_of else self.sweep.releases.get(cell.key, "")

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
