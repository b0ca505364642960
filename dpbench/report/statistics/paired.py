"""Which of two cells has the smaller error, and how sure that is: paired, repeat by repeat.

The folds of one repeat share training rows, so a repeat counts once, by the mean over its folds. Repeats are new splits of the
same rows and new noise: what is found holds for the table at hand, and other tables may differ (``ranks``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from dpbench.records.cell_record import CellRecord
from dpbench.report.statistics.signed_rank import fewest, needed, p_value, shift

LEVEL = 0.05
MAX_REPEATS = 100_000
"""Beyond so many repeats nothing is said to be in reach."""


@dataclass(frozen=True)
class Comparison:
    """Two cells by the repeats that both have; a difference is the second's error less the first's."""

    first: CellRecord
    second: CellRecord
    differences: tuple[float, ...] = field(repr=False)
    """One for each repeat."""
    shift: float
    """The Hodges-Lehmann estimate."""
    low: float
    high: float
    """Its 95 % interval by the signed-rank distribution; infinite with fewer than 6 repeats."""
    p: float
    """Of the Wilcoxon signed-rank test, two-sided."""
    corrected: float
    """The same, corrected for the comparisons that it was picked from (Holm 1979)."""
    level: float = LEVEL
    """What the uncorrected p is held against."""
    dropped: int = 0
    """Runs that were left out because one of the two has no finite error there."""

    @property
    def repeats(self) -> int:
        return len(self.differences)

    @property
    def separated(self) -> bool:
        return self.corrected < LEVEL

    @property
    def fewest(self) -> int:
        """With fewer repeats no difference could be told from chance."""
        return fewest(self.level)

    @property
    def more_repeats(self) -> int | None:
        """How many more would separate the two four times in five, by Noether's formula and the differences at hand.

        None where they are separated, where nothing points to either, and where it would take more than 100,000. Small samples
        guess badly: it is an order of magnitude.
        """
        size = math.inf if self.separated else needed(self.differences, self.level)
        return None if size > MAX_REPEATS else max(1, math.ceil(size) - self.repeats)


@dataclass(frozen=True)
class Contest:
    """The best of some cells, and each of the others compared with it."""

    best: CellRecord
    """With the smallest median of the repeats' means."""
    median: float
    comparisons: tuple[Comparison, ...]
    """The next best first."""
    unpaired: tuple[CellRecord, ...] = ()
    """Cells that have an error but share no runs with the best: those that a store has lost, for instance."""


def means(row: CellRecord, metric: str | None = None) -> dict[int, float]:
    """The mean over the folds of each repeat; folds without a finite value are left out, and repeats that have no other."""
    return _over_folds({key: value for key, value in _runs(row, metric).items() if math.isfinite(value)})


def compare(first: CellRecord, second: CellRecord, metric: str | None = None) -> Comparison | None:
    """The paired comparison of two cells on the same splits; None where they share no run with a finite error.

    The metric is the primary error of the first unless another is named.
    """
    name = metric or _primary(first)
    one, other = _runs(first, name), _runs(second, name)
    shared = sorted(one.keys() & other.keys())
    kept = [key for key in shared if math.isfinite(one[key]) and math.isfinite(other[key])]
    differences = tuple(_over_folds({key: other[key] - one[key] for key in kept}).values())
    if not differences:
        return None
    p = p_value(differences)
    return Comparison(first, second, differences, *shift(differences), p=p, corrected=p, dropped=len(shared) - len(kept))


def against_best(rows: Sequence[CellRecord], metric: str | None = None) -> Contest | None:
    """The ranked cells of one problem at one accounted ε (see :func:`groups`); None where none of them has an error.

    The best is picked by the errors that it is then compared by, as if every pair had been compared: so Holm's correction counts
    all pairs. Of 10 equal cells the best would otherwise be called better than another in one sweep out of ten.
    """
    middle = [(_middle(row, metric), row) for row in rows if row.ranked]
    order = sorted(((value, row) for value, row in middle if value is not None), key=lambda pair: pair[0])
    if not order:
        return None
    value, best = order[0]
    others = [row for _, row in order[1:]]
    found = [compare(best, row, metric) for row in others]
    unpaired = tuple(row for row, comparison in zip(others, found, strict=True) if comparison is None)
    return Contest(best, value, _holm([comparison for comparison in found if comparison]), unpaired)


def groups(rows: Sequence[CellRecord]) -> dict[tuple[tuple[tuple[str, str], ...], float], list[CellRecord]]:
    """The ranked cells by their problem and accounted ε, in the sweep's order: only those of one group can be compared."""
    found: dict[tuple[tuple[tuple[str, str], ...], float], list[CellRecord]] = {}
    for row in rows:
        if row.ranked:
            found.setdefault((row.problem, row.accounted), []).append(row)
    return found


def _holm(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Step down from the smallest p; the pairs without the best were not compared and come last."""
    pairs = len(comparisons) * (len(comparisons) + 1) // 2
    corrected = list(comparisons)
    reached = 0.0
    for step, index in enumerate(sorted(range(len(comparisons)), key=lambda index: comparisons[index].p)):
        reached = max(reached, min(1.0, (pairs - step) * comparisons[index].p))
        corrected[index] = replace(comparisons[index], corrected=reached, level=LEVEL / (pairs - step))
    return tuple(corrected)


def _primary(row: CellRecord) -> str:
    return f"utility/{row.primary}"


def _middle(row: CellRecord, metric: str | None) -> float | None:
    """The median of the repeats' means; of the runs where a cell has numbers but no runs."""
    found = means(row, metric)
    return median(found.values()) if found else row.metric(metric or _primary(row))


def _runs(row: CellRecord, metric: str | None) -> dict[tuple[int, int], float]:
    """A value for each repeat and fold."""
    runs = row.detail.runs
    name = metric or _primary(row)
    if name not in runs:
        return {}
    return dict(zip(zip(runs["repeat"].tolist(), runs["fold"].tolist(), strict=True), runs[name].tolist(), strict=True))


def _over_folds(values: Mapping[tuple[int, int], float]) -> dict[int, float]:
    folds: dict[int, list[float]] = {}
    for (repeat, _), value in values.items():
        folds.setdefault(repeat, []).append(value)
    return {repeat: sum(value / len(found) for value in found) for repeat, found in folds.items()}  # their sum may overflow
