"""Which of two cells has the smaller error, and how sure that is: paired, repeat by repeat.

The folds of one repeat share training rows, so a repeat counts once, by the mean over its folds. Repeats are new splits of the
same rows and new noise: a result holds for this table, and other tables may differ (see ``ranks``).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from dpbench.records.cell_record import CellRecord
from dpbench.report.formatting import group_by
from dpbench.report.statistics.signed_rank import min_sample_size, p_value, sample_size, shift

LEVEL = 0.05
MAX_REPEATS = 100_000
"""If more repeats than this would be needed, no number is given."""


@dataclass(frozen=True)
class Comparison:
    """Two cells, compared on the repeats that both have; a difference is the second's error minus the first's."""

    first: CellRecord
    second: CellRecord
    differences: tuple[float, ...] = field(repr=False)
    """One per repeat."""
    shift: float
    """The Hodges-Lehmann estimate."""
    low: float
    high: float
    """Its 95 % interval by the signed-rank distribution; infinite with fewer than 6 repeats."""
    p: float
    """The p-value of the two-sided Wilcoxon signed-rank test."""
    corrected: float
    """The p-value, corrected for the comparisons that it was picked from (Holm 1979)."""
    level: float = LEVEL
    """The level that the uncorrected p is compared with."""
    dropped: int = 0
    """How many runs are left out because one of the two cells has no finite error there."""

    @property
    def repeats(self) -> int:
        return len(self.differences)

    @property
    def separated(self) -> bool:
        return self.corrected < LEVEL

    @property
    def min_repeats(self) -> int:
        """The number of repeats below which no difference can be told from chance."""
        return min_sample_size(self.level)

    @property
    def more_repeats(self) -> int | None:
        """How many more repeats would separate the two in four of five cases, by Noether's formula and these differences.

        None if they are separated, if nothing points to either, and if it would take more than 100,000. It is an order of
        magnitude, since small samples guess badly.
        """
        size = math.inf if self.separated else sample_size(self.differences, self.level)
        return None if size > MAX_REPEATS else max(1, math.ceil(size) - self.repeats)


@dataclass(frozen=True)
class Contest:
    """The best of some cells, and the comparison of each other cell with it."""

    best: CellRecord
    """The cell with the smallest median of the repeats' means."""
    median: float
    comparisons: tuple[Comparison, ...]
    """The next best first."""
    unpaired: tuple[CellRecord, ...] = ()
    """Cells that have an error but share no runs with the best: those that a store has lost, for instance."""


def means(cell: CellRecord, metric: str = "") -> dict[int, float]:
    """Return the mean over the finite folds of each repeat that has any; by default of the primary error."""
    return _over_folds({key: value for key, value in _runs(cell, metric).items() if math.isfinite(value)})


def compare(first: CellRecord, second: CellRecord, metric: str = "") -> Comparison | None:
    """Compare two cells on the same splits; return None if they share no run with a finite error.

    The metric is by default the primary error of the first.
    """
    metric = metric or f"utility/{first.primary}"
    one, other = _runs(first, metric), _runs(second, metric)
    shared = sorted(one.keys() & other.keys())
    finite = [key for key in shared if math.isfinite(one[key]) and math.isfinite(other[key])]
    differences = tuple(_over_folds({key: other[key] - one[key] for key in finite}).values())
    if not differences:
        return None
    p = p_value(differences)
    return Comparison(first, second, differences, *shift(differences), p=p, corrected=p, dropped=len(shared) - len(finite))


def against_best(cells: Sequence[CellRecord]) -> Contest | None:
    """Compare the ranked cells of one problem at one accounted ε with the best of them; return None if none has an error.

    The best is picked by the errors that it is then compared by, as if every pair had been compared, so Holm's correction counts
    all pairs. Otherwise the best of 10 equal cells would be called better than another in one sweep out of ten.
    """
    medians = [(_median(cell), cell) for cell in cells if cell.ranked]
    order = sorted(((value, cell) for value, cell in medians if value is not None), key=lambda pair: pair[0])
    if not order:
        return None
    value, best = order[0]
    others = [(cell, compare(best, cell)) for _, cell in order[1:]]
    unpaired = tuple(cell for cell, comparison in others if comparison is None)
    return Contest(best, value, _holm([comparison for _, comparison in others if comparison]), unpaired)


def groups(cells: Sequence[CellRecord]) -> dict[tuple[tuple[tuple[str, str], ...], float], list[CellRecord]]:
    """Return the ranked cells by their problem and accounted ε: only those of one group can be compared."""
    return group_by((cell for cell in cells if cell.ranked), lambda cell: (cell.problem, cell.accounted))


def _holm(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Step down from the smallest p; the pairs without the best were not compared and come last."""
    pairs = len(comparisons) * (len(comparisons) + 1) // 2
    corrected = list(comparisons)
    largest = 0.0
    for step, index in enumerate(sorted(range(len(comparisons)), key=lambda index: comparisons[index].p)):
        largest = max(largest, min(1.0, (pairs - step) * comparisons[index].p))
        corrected[index] = replace(comparisons[index], corrected=largest, level=LEVEL / (pairs - step))
    return tuple(corrected)


def _median(cell: CellRecord) -> float | None:
    """Return the median of the repeats' means, or of the runs if a cell has numbers but no runs."""
    by_repeat = means(cell)
    return median(by_repeat.values()) if by_repeat else cell.error()


def _runs(cell: CellRecord, metric: str) -> dict[tuple[int, int], float]:
    """Return a value for each repeat and fold."""
    runs, name = cell.detail.runs, metric or f"utility/{cell.primary}"
    if name not in runs:
        return {}
    return dict(zip(zip(runs["repeat"].tolist(), runs["fold"].tolist(), strict=True), runs[name].tolist(), strict=True))


def _over_folds(values: Mapping[tuple[int, int], float]) -> dict[int, float]:
    folds = group_by(values, lambda key: key[0])
    # the sum of the values may overflow, so each is divided first
    return {repeat: sum(values[key] / len(keys) for key in keys) for repeat, keys in folds.items()}
