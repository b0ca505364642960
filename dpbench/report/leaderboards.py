"""Leaderboards: the cells of one problem in order, ranked where they may be ranked, and compared with the best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpbench.records.cell_record import CellRecord, distinguishing_params, label
from dpbench.report.formatting import group_by
from dpbench.report.statistics.paired import Comparison, Contest, against_best


@dataclass(frozen=True)
class Place:
    """A cell on a leaderboard."""

    cell: CellRecord
    epsilons: tuple[str, ...]
    """Every requested ε: a fit without privacy is the same at all of them, and has one place."""
    rank: int | None = None
    """By the median error among the ranked cells at the same accounted ε; None if the cell is not ranked or has no error."""
    comparison: Comparison | None = None
    """With the best cell of the level; None for the best itself, and if nothing can be paired."""
    best: bool = False
    """Whether the others of its level are compared with it: it has the smallest median of the repeats' means."""

    @property
    def accounted(self) -> float | None:
        """None if no finite ε covers what was released."""
        return self.cell.metrics.get("privacy/epsilon_accounted")

    @property
    def delta(self) -> float | None:
        """The δ at which the accounted ε holds; 0 if it is pure."""
        return None if self.accounted is None else self.cell.metrics.get("privacy/delta", 0.0)

    @property
    def epsilon(self) -> str:
        return self.epsilons[0] if len(self.epsilons) == 1 else f"{self.epsilons[0]} to {self.epsilons[-1]}"

    @property
    def lost(self) -> float | None:
        """The share of what the features can tell that is lost: 0 for the non-private fit, 1 for the mean predictor."""
        error, low, high = self.cell.error(), self.cell.reference("no_privacy"), self.cell.reference("mean_predictor")
        if error is None or low is None or high is None or high <= low:
            return None
        return (error - low) / (high - low)


@dataclass(frozen=True)
class Level:
    """The cells of one problem at one accounted ε: ranked cells first, then the others."""

    accounted: float
    """Infinite if no ε covers them."""
    places: tuple[Place, ...]
    contest: Contest | None = None
    """None if fewer than two ranked cells have an error."""

    @property
    def private(self) -> list[Place]:
        """The cells that may be ranked, those without a finite error included."""
        return [place for place in self.places if place.cell.ranked]

    @property
    def ranked(self) -> list[Place]:
        return [place for place in self.places if place.rank is not None]

    @property
    def deltas(self) -> list[float]:
        """Every δ at which an accounted ε holds."""
        return sorted({place.delta for place in self.places if place.delta is not None})

    @property
    def winner(self) -> CellRecord:
        """The cell that the others are compared with."""
        return self.contest.best if self.contest else self.places[0].cell


@dataclass(frozen=True)
class Board:
    """A leaderboard: everything except the mechanism and ε is the same in all its cells."""

    problem: Mapping[str, str]
    """The parameters that tell it apart from the sweep's other problems."""
    levels: tuple[Level, ...]

    @property
    def places(self) -> list[Place]:
        return [place for level in self.levels for place in level.places]

    @property
    def first(self) -> CellRecord:
        return self.levels[0].places[0].cell

    @property
    def compared(self) -> bool:
        """Whether a test compared any cell with the best of its level."""
        return any(place.comparison for place in self.places)

    @property
    def title(self) -> str:
        """The problem in words."""
        more = [f"{name}={text}" for name, text in self.problem.items() if name not in ("model", "dataset") and text]
        return f"{self.problem['model']} on {self.problem['dataset']}" + (f" ({', '.join(more)})" if more else "")


def boards(cells: Sequence[CellRecord]) -> list[Board]:
    """Return a leaderboard for each problem, in the order of the sweep.

    An attack fits nothing anew: of the cells that differ by their attack alone, those of the first attack count.
    """
    done = [cell for cell in cells if cell.done]
    keys = [key for key in distinguishing_params(done) if not key.startswith(("mechanism.", "attack"))]
    problems = group_by(done, lambda cell: tuple(item for item in cell.problem if not item[0].startswith("attack")))
    return [_board(fits, ["model", "dataset", *keys]) for fits in map(_first_attack, problems.values())]


def _first_attack(cells: Sequence[CellRecord]) -> list[CellRecord]:
    attacks = group_by(cells, lambda cell: tuple(item for item in cell.problem if item[0].startswith("attack")))
    return next(iter(attacks.values()))


def _board(cells: Sequence[CellRecord], names: Sequence[str]) -> Board:
    levels = group_by(cells, lambda cell: cell.accounted)
    problem = {name: cells[0].params.get(name, "") for name in names}
    return Board(problem, tuple(_level(accounted, levels[accounted]) for accounted in sorted(levels)))


def _level(accounted: float, cells: Sequence[CellRecord]) -> Level:
    ordered = sorted(cells, key=lambda cell: (cell.error() is None, cell.error() or 0.0))
    ranked = [cell for cell in ordered if cell.ranked]
    contest = against_best(ranked) if sum(cell.error() is not None for cell in ranked) > 1 else None
    comparisons = {id(comparison.second): comparison for comparison in contest.comparisons} if contest else {}
    places = []
    for rank, cell in enumerate(ranked, 1):
        best = contest is not None and cell is contest.best
        known_rank = None if cell.error() is None else rank
        places.append(Place(cell, (cell.params["epsilon"],), known_rank, comparisons.get(id(cell)), best))
    # cells that differ by the requested ε alone share a place
    for same in group_by((cell for cell in ordered if not cell.ranked), _numbers).values():
        places.append(Place(same[0], tuple(cell.params["epsilon"] for cell in same)))
    return Level(accounted, tuple(places), contest)


def _numbers(cell: CellRecord) -> tuple[object, ...]:
    errors = (cell.error(suffix) for suffix in ("median", "p20", "p80"))
    return (label(cell), cell.metrics.get("privacy/epsilon_accounted"), cell.guarantee, *errors)
