"""Which of two cells has the smaller error, and how sure that is: the difference of their medians over the same splits.

Repeats are new splits of the same rows and new noise: a result holds for this table, and other tables may differ (see ``ranks``).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpbench.base.one_thread import one_thread
from dpbench.records.cell_record import CellRecord, label
from dpbench.report.formatting import group_by
from dpbench.report.statistics.medians import MedianDifference, median_difference, min_repeats, p_value, sample_size

LEVEL = 0.05
MAX_REPEATS = 100_000
"""If more repeats than this would be needed, no number is given."""
PRACTICAL_SHARE = 0.01
"""Medians are practically the same if they differ by less than this share of the way from non-private fit to mean predictor."""


@dataclass(frozen=True)
class Comparison:
    """Two cells, compared on the repeats that both have; a difference is the second's median minus the first's."""

    first: CellRecord
    second: CellRecord
    difference: MedianDifference
    threshold: float
    """Below this difference the two are practically the same; 0 without references."""
    p: float | None = None
    """None if nothing was tested: the two are practically the same, or their runs are not in the record."""
    corrected: float | None = None
    """The p-value, corrected for the comparisons that it was picked from (Holm 1979)."""
    level: float = LEVEL
    """The level that the uncorrected p is compared with."""
    dropped: int = 0
    """How many runs of one of the two cells have no finite error and are left out."""

    @property
    def repeats(self) -> int:
        return self.difference.repeats

    @property
    def low(self) -> float:
        """The lower end of the 95 % interval; infinite with fewer than 6 repeats."""
        return self.difference.interval[0]

    @property
    def high(self) -> float:
        return self.difference.interval[1]

    @property
    def practically_same(self) -> bool:
        """Whether the difference is too small to matter, whatever a test says."""
        return abs(self.difference.value) < self.threshold or self.difference.value == 0

    @property
    def separated(self) -> bool:
        """Whether the difference matters and a test tells it from chance."""
        return not self.practically_same and self.corrected is not None and self.corrected < LEVEL

    @property
    def min_repeats(self) -> int:
        """The number of repeats below which no difference can be told from chance."""
        return min_repeats(self.level)

    @property
    def more_repeats(self) -> int | None:
        """How many more repeats would separate the two in four of five cases, if the difference stays as it is.

        None if they are separated or practically the same, and if it would take more than 100,000. It is an order of
        magnitude, since small samples guess badly.
        """
        decided = self.separated or self.practically_same
        size = math.inf if decided else sample_size(self.difference, self.level)
        return None if size > MAX_REPEATS else max(1, math.ceil(size) - self.repeats)


Comparer = Callable[[CellRecord, CellRecord, float], Comparison]
"""Compares two cells whose medians are practically the same below a threshold: :func:`compare`, or what it returned before."""


@dataclass(frozen=True)
class Contest:
    """The cell with the lowest median error among cells that may be compared, and the comparison of each other cell with it."""

    best: CellRecord
    comparisons: tuple[Comparison, ...]
    """The next best first."""

    @property
    def practically_same(self) -> list[CellRecord]:
        """The cells that are practically the same as the best."""
        return [comparison.second for comparison in self.comparisons if comparison.practically_same]

    @property
    def undecided(self) -> list[Comparison]:
        """The comparisons that no test separates, although the difference would matter."""
        return [comparison for comparison in self.comparisons if not (comparison.practically_same or comparison.separated)]

    @property
    def higher(self) -> list[Comparison]:
        """The comparisons with the cells that the best is lower than."""
        return [comparison for comparison in self.comparisons if comparison.separated]

    @property
    def winner(self) -> CellRecord | None:
        """The best cell if it is lower than every other cell; else None."""
        return self.best if len(self.higher) == len(self.comparisons) else None


def means(cell: CellRecord, metric: str = "") -> dict[int, float]:
    """Return the mean over the finite folds of each repeat that has any; by default of the primary error."""
    return _over_folds({key: value for key, value in _runs(cell, metric).items() if math.isfinite(value)})


def paired_differences(first: CellRecord, second: CellRecord, metric: str) -> tuple[float, ...]:
    """Return for each repeat the mean over the folds of the second's metric minus the first's, where both are finite."""
    one, other = _runs(first, metric), _runs(second, metric)
    shared = sorted(key for key in one.keys() & other.keys() if math.isfinite(one[key]) and math.isfinite(other[key]))
    return tuple(_over_folds({key: other[key] - one[key] for key in shared}).values())


def compare(first: CellRecord, second: CellRecord, threshold: float = 0.0) -> Comparison:
    """Compare the errors of two cells, on the same splits if both have their runs, else by their medians alone."""
    one, other = _table(first), _table(second)
    shared = sorted(one.keys() & other.keys())
    a, b = (np.array([cell[repeat] for repeat in shared], dtype=float) for cell in (one, other))
    if not (np.isfinite(a).any() and np.isfinite(b).any()):
        gap = (second.error() or 0.0) - (first.error() or 0.0)
        return Comparison(first, second, MedianDifference(gap, math.inf, 0), threshold)
    dropped = int(max((~np.isfinite(values)).sum() for values in (a, b)))
    difference = median_difference(a, b)
    comparison = Comparison(first, second, difference, threshold, dropped=dropped)
    if comparison.practically_same:
        return comparison
    p = p_value(a, b, difference)
    return replace(comparison, p=p, corrected=p)


def against_best(cells: Sequence[CellRecord], comparer: Comparer | None = None) -> Contest | None:
    """Compare cells that may be compared with the best of them; return None if none is ranked and has an error.

    The best is picked by the errors that it is then compared by, as if every pair had been compared, so Holm's correction counts
    all pairs. Otherwise the best of 10 equal cells would be called better than another in one sweep out of ten.
    """
    ranked = [cell for cell in cells if cell.ranked and cell.error() is not None]
    order = sorted(ranked, key=lambda cell: (cell.error(), label(cell)))
    if not order:
        return None
    best, threshold = order[0], PRACTICAL_SHARE * (distance(order[0]) or 0.0)
    with one_thread():  # the products are small: waiting for a second thread takes ten times as long
        comparisons = [(comparer or compare)(best, cell, threshold) for cell in order[1:]]
    return Contest(best, holm(comparisons, len(comparisons) * (len(comparisons) + 1) // 2))


def distance(cell: CellRecord) -> float | None:
    """Return how far the mean predictor's error lies above the non-private fit's; None if one of them is not recorded."""
    low, high = cell.reference("no_privacy"), cell.reference("mean_predictor")
    return None if low is None or high is None else high - low


def holm(comparisons: Sequence[Comparison], pairs: int) -> tuple[Comparison, ...]:
    """Correct the p-values for a number of pairs: step down from the smallest; pairs that were not tested come last."""
    corrected = list(comparisons)
    largest = 0.0
    tested = [(comparison.p, index) for index, comparison in enumerate(comparisons) if comparison.p is not None]
    for step, (p, index) in enumerate(sorted(tested)):
        largest = max(largest, min(1.0, (pairs - step) * p))
        corrected[index] = replace(comparisons[index], corrected=largest, level=LEVEL / (pairs - step))
    return tuple(corrected)


def _table(cell: CellRecord) -> dict[int, list[float]]:
    """Return the errors of the folds of each repeat, which all have the same number of folds."""
    runs = group_by(_runs(cell, "").items(), lambda item: item[0][0])
    return {repeat: [value for _, value in sorted(items)] for repeat, items in runs.items()}


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
