"""Leaderboards: the cells of one problem in order, ranked where they may be ranked, and compared with the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dpbench.records.cell_record import CellRecord, distinguishing_params, label
from dpbench.report.statistics.paired import Comparison, against_best


@dataclass(frozen=True)
class Place:
    """A cell on a leaderboard."""

    row: CellRecord
    epsilons: tuple[str, ...]
    """Every ε that was asked for: a fit without privacy is the same at all of them, and stands here once."""
    rank: int | None = None
    """By the median error among the ranked cells at the same accounted ε; None for a cell that may not be ranked."""
    comparison: Comparison | None = None
    """With the best of them; None for the best itself, and where nothing can be paired."""
    best: bool = False
    """Whether the others at this accounted ε are compared with it: it has the smallest median of the repeats' means."""

    @property
    def accounted(self) -> float | None:
        """None where no finite ε covers what was released."""
        return self.row.metrics.get("privacy/epsilon_accounted")

    @property
    def delta(self) -> float | None:
        """The δ at which the accounted ε holds; 0 where it is pure."""
        return None if self.accounted is None else self.row.metrics.get("privacy/delta", 0.0)

    @property
    def epsilon(self) -> str:
        return self.epsilons[0] if len(self.epsilons) == 1 else f"{self.epsilons[0]} to {self.epsilons[-1]}"

    def utility(self, suffix: str = "median") -> float | None:
        return self.row.metric(f"utility/{self.row.primary}", suffix)

    def reference(self, name: str) -> float | None:
        return self.row.metric(f"reference/{name}/{self.row.primary}")

    @property
    def lost(self) -> float | None:
        """How far the error is on the way from the fit without privacy (0) to predicting the mean for everybody (1)."""
        error, low, high = self.utility(), self.reference("no_privacy"), self.reference("mean_predictor")
        if error is None or low is None or high is None or high <= low:
            return None
        return (error - low) / (high - low)


@dataclass(frozen=True)
class Board:
    """One problem: everything but the mechanism and ε is the same in all its cells."""

    problem: Mapping[str, str]
    """What tells it from the sweep's other problems, by name."""
    places: tuple[Place, ...]

    @property
    def first(self) -> Place:
        return self.places[0]

    @property
    def title(self) -> str:
        """The problem in words."""
        more = [f"{name}={text}" for name, text in self.problem.items() if name not in ("model", "dataset") and text]
        place = f"{self.problem['model']} on {self.problem['dataset']}"
        return place + (f" ({', '.join(more)})" if more else "")

    @property
    def at(self) -> dict[float, list[Place]]:
        """The ranked places by their accounted ε, each in order."""
        found: dict[float, list[Place]] = {}
        for place in self.places:
            if place.rank is not None:
                found.setdefault(place.row.accounted, []).append(place)
        return found


def boards(rows: Sequence[CellRecord]) -> list[Board]:
    """A leaderboard for each problem, in the order of the sweep. An attack fits nothing anew, so cells of the first one do."""
    done = [row for row in rows if row.done]
    names = ["model", "dataset", *(key for key in distinguishing_params(done) if not key.startswith(("mechanism.", "attack")))]
    problems: dict[object, list[CellRecord]] = {}
    for row in done:
        problems.setdefault(tuple(item for item in row.problem if not item[0].startswith("attack")), []).append(row)
    found = []
    for here in problems.values():
        attack = [item for item in here[0].problem if item[0].startswith("attack")]
        fits = [row for row in here if [item for item in row.problem if item[0].startswith("attack")] == attack]
        found.append(_board(fits, {name: fits[0].params.get(name, "") for name in names}))
    return found


def _board(rows: Sequence[CellRecord], problem: Mapping[str, str]) -> Board:
    """At each accounted ε the ranked cells in their order, then the others; what is covered by no ε comes last."""
    levels: dict[float, list[CellRecord]] = {}
    for row in rows:
        levels.setdefault(row.accounted, []).append(row)
    places: list[Place] = []
    for level in sorted(levels):
        ranked = sorted((row for row in levels[level] if row.ranked), key=_error)
        others = sorted((row for row in levels[level] if not row.ranked), key=_error)
        board = against_best(ranked) if len(ranked) > 1 else None
        compared = {id(found.second): found for found in board.comparisons} if board else {}
        for rank, row in enumerate(ranked, 1):
            number = rank if math.isfinite(_error(row)) else None
            best = board is not None and row is board.best
            places.append(Place(row, (row.params["epsilon"],), number, compared.get(id(row)), best))
        places += _once([Place(row, (row.params["epsilon"],)) for row in others])
    return Board(problem, tuple(places))


def _once(places: Sequence[Place]) -> list[Place]:
    """Cells that say the same but for the ε that was asked for, as one."""
    found: dict[object, Place] = {}
    for place in places:
        numbers = tuple(place.utility(suffix) for suffix in ("median", "p20", "p80"))
        key = (label(place.row), place.accounted, place.row.guarantee, numbers)
        known = found.get(key)
        found[key] = place if known is None else replace(known, epsilons=(*known.epsilons, *place.epsilons))
    return list(found.values())


def _error(row: CellRecord) -> float:
    value = row.metric(f"utility/{row.primary}")
    return math.inf if value is None else value
