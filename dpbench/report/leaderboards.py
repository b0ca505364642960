"""Leaderboards: the cells of one problem in order, ranked where they may be ranked, and compared with the best of their group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpbench.records.budget_free import BUDGET_KEYS, spread
from dpbench.records.cell_record import CellRecord, distinguishing_params, label
from dpbench.records.explosion import Explosion
from dpbench.report.explosions import explosion
from dpbench.report.formatting import group_by
from dpbench.report.statistics.comparable import comparable, currency_text, delta_text, is_pure, proof_text, rule_of, rule_text
from dpbench.report.statistics.paired import Comparer, Comparison, Contest, against_best, distance

COUNTING_KEYS = tuple(key for key in BUDGET_KEYS if key != "epsilon")
"""The part of the budget that makes problems of their own."""
MOST_RUNS = 0.5
"""A cell of which more than this share of the runs lost everything is never recommended."""


@dataclass(frozen=True)
class Place:
    """A cell on a leaderboard."""

    cell: CellRecord
    epsilons: tuple[str, ...]
    """Every requested ε: cells whose numbers are the same at all of them have one place. None if it uses no budget."""
    rank: int | None = None
    """By the median error within its group; the cells that are practically the same as the best share the first rank.

    None if the cell is not ranked, has no error, or if nothing can be compared.
    """
    comparison: Comparison | None = None
    """With the best cell of its group; None for the best itself."""
    best: bool = False
    """Whether the others of its group are compared with it: it has the lowest median error."""

    @property
    def accounted(self) -> float | None:
        """None if no finite ε covers what was released."""
        return self.cell.metrics.get("privacy/epsilon_accounted")

    @property
    def delta(self) -> float | None:
        """The δ at which the accounted ε holds; 0 if it is pure."""
        return None if self.accounted is None else self.cell.metrics.get("privacy/delta", 0.0)

    @property
    def epsilon(self) -> str | None:
        """The requested ε, or its range; None if the mechanism uses no budget."""
        return " to ".join(dict.fromkeys((self.epsilons[0], self.epsilons[-1]))) if self.epsilons else None

    @property
    def lost(self) -> float | None:
        """The share of what the features can tell that is lost: 0 for the non-private fit, 1 for the mean predictor."""
        return share_lost(self.cell)

    @property
    def explosion(self) -> Explosion | None:
        """The runs with an error far above the mean predictor's, if there are any."""
        return explosion(self.cell)


@dataclass(frozen=True)
class Group:
    """The cells of a level that may be compared: the same rule for sensitivities, currency and kind of proof, the best first."""

    places: tuple[Place, ...]
    basis: str = ""
    """What these cells rest on, in words; empty if the level has no other group."""
    mark: str = ""
    """The same in short, without what the labels of the cells say already."""
    contest: Contest | None = None
    """None if fewer than two cells have an error, and if nothing can be compared."""

    @property
    def cells(self) -> list[CellRecord]:
        """The cells that have an error."""
        return [place.cell for place in self.places if place.cell.error() is not None]

    @property
    def best(self) -> CellRecord:
        return self.places[0].cell


@dataclass(frozen=True)
class Level:
    """The cells of one problem at one accounted ε: groups of ranked cells first, then the others."""

    accounted: float
    """Infinite if no ε covers them."""
    groups: tuple[Group, ...]
    others: tuple[Place, ...] = ()
    """Cells that are not private, not proven, or leak."""

    @property
    def places(self) -> list[Place]:
        return [*(place for group in self.groups for place in group.places), *self.others]

    @property
    def sections(self) -> list[Group]:
        """The groups, and the other cells as one more: what a table shows below each other."""
        return [*self.groups, *([Group(self.others)] if self.others else [])]

    @property
    def deltas(self) -> list[float]:
        """Every δ at which an accounted ε holds."""
        return sorted({place.delta for place in self.places if place.delta is not None})


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
    def comparisons(self) -> list[Comparison]:
        """The comparisons of cells with the best of their group."""
        return [place.comparison for place in self.places if place.comparison]

    @property
    def first(self) -> CellRecord:
        return self.levels[0].places[0].cell

    @property
    def compared(self) -> bool:
        """Whether a test compared any cell with the best of its level."""
        return bool(self.comparisons)

    @property
    def title(self) -> str:
        """The problem in words."""
        more = [f"{name}={text}" for name, text in self.problem.items() if name not in ("model", "dataset") and text]
        return f"{self.problem['model']} on {self.problem['dataset']}" + (f" ({', '.join(more)})" if more else "")


def boards(cells: Sequence[CellRecord], comparer: Comparer | None = None) -> list[Board]:
    """Return a leaderboard for each problem, in the order of the sweep.

    An attack fits nothing anew: of the cells that differ by their attack alone, those of the first attack count.
    """
    done = spread([cell for cell in cells if cell.done], COUNTING_KEYS)  # a fit without a budget belongs to every problem
    keys = [key for key in distinguishing_params(done) if not key.startswith(("mechanism.", "attack"))]
    problems = group_by(done, lambda cell: tuple(item for item in cell.problem if not item[0].startswith("attack")))
    return [_board(fits, ["model", "dataset", *keys], comparer) for fits in map(_first_attack, problems.values())]


def _first_attack(cells: Sequence[CellRecord]) -> list[CellRecord]:
    attacks = group_by(cells, lambda cell: tuple(item for item in cell.problem if item[0].startswith("attack")))
    return next(iter(attacks.values()))


def _board(cells: Sequence[CellRecord], names: Sequence[str], comparer: Comparer | None) -> Board:
    levels = group_by(cells, lambda cell: cell.accounted)
    problem = {name: cells[0].params.get(name, "") for name in names}
    return Board(problem, tuple(_level(accounted, levels[accounted], comparer) for accounted in sorted(levels)))


def share_lost(cell: CellRecord) -> float | None:
    """Return where the error is between the non-private fit (0) and the mean predictor (1); None where that says nothing."""
    error, low, way = cell.error(), cell.reference("no_privacy"), distance(cell)
    return None if error is None or low is None or way is None or way <= 0 else (error - low) / way


def lost_everything(cell: CellRecord) -> bool:
    """Whether most runs lost everything. A low rate of wrong classes can hide it: the loss judges probabilities."""
    return cell.failed_share > MOST_RUNS


def _hides_failures(cell: CellRecord) -> bool:
    """Whether most runs lost everything, but the error that orders the cells is not above the mean predictor's."""
    return lost_everything(cell) and (share_lost(cell) or 0.0) <= 1


def nothing_to_learn(cell: CellRecord) -> bool:
    """Whether even the non-private fit is no better than the mean predictor: errors then say nothing about mechanisms."""
    way = distance(cell)
    return way is not None and way <= 0


def _level(accounted: float, cells: Sequence[CellRecord], comparer: Comparer | None) -> Level:
    ordered = sorted(cells, key=lambda cell: (cell.error() is None, cell.error() or 0.0))
    groups = comparable([cell for cell in ordered if cell.ranked])
    bases = _bases(groups)
    # cells that differ by the requested ε alone share a place
    others = group_by((cell for cell in ordered if not cell.ranked), _numbers).values()
    places = tuple(Place(same[0], _epsilons(same)) for same in others)
    ranked = (_group(group, basis, comparer) for group, basis in zip(groups, bases, strict=True))
    return Level(accounted, tuple(ranked), places)


def _bases(groups: Sequence[Sequence[CellRecord]]) -> list[tuple[str, str]]:
    """Return what distinguishes each group from the others, in words and in short."""
    rules = len({rule_of(group) for group in groups} - {""}) > 1
    currencies = len({is_pure(group[0]) for group in groups}) > 1
    proofs = len({group[0].sound for group in groups}) > 1
    bases = []
    for group in groups:
        words = [rule_text(rule_of(group))] * rules + [currency_text(group)] * currencies + [proof_text(group)] * proofs
        in_labels = all("mechanism.sensitivity" in cell.params for cell in group)
        marks = [f"sensitivity {rule_of(group) or 'of any rule'}"] * (rules and not in_labels)
        marks += [delta_text(group)] * currencies + [group[0].guarantee] * proofs
        bases.append((", ".join(words), ", ".join(marks)))
    return bases


def _group(cells: Sequence[CellRecord], basis: tuple[str, str], comparer: Comparer | None) -> Group:
    """Return the places of cells that may be compared, which come in the order of their errors."""
    with_error = [cell for cell in cells if cell.error() is not None]
    compared = not any(map(nothing_to_learn, cells))
    # what lost everything must not be called the best, nor as good as it
    contenders = [cell for cell in with_error if not _hides_failures(cell)] or with_error
    contest = against_best(contenders, comparer) if compared and len(contenders) > 1 else None
    order = [contest.best, *(comparison.second for comparison in contest.comparisons)] if contest else contenders
    placed = {id(cell) for cell in order}
    comparisons = {id(comparison.second): comparison for comparison in contest.comparisons} if contest else {}
    ties = 1 + len(contest.practically_same) if contest else 1
    ranks = {id(cell): 1 if position <= ties else position for position, cell in enumerate(order, 1)} if compared else {}
    places = [
        Place(
            cell,
            _epsilons([cell]),
            ranks.get(id(cell)),
            comparisons.get(id(cell)),
            contest is not None and cell is contest.best,
        )
        for cell in (*order, *(cell for cell in cells if id(cell) not in placed))
    ]
    return Group(tuple(places), *basis, contest)


def _epsilons(cells: Sequence[CellRecord]) -> tuple[str, ...]:
    return tuple(cell.params["epsilon"] for cell in cells if "epsilon" in cell.params)


def _numbers(cell: CellRecord) -> tuple[object, ...]:
    errors = (cell.error(suffix) for suffix in ("median", "p20", "p80"))
    return (label(cell), cell.metrics.get("privacy/epsilon_accounted"), cell.guarantee, *errors)
