"""Which mechanism is better over many datasets: mean ranks with their critical difference (Demšar 2006).

A dataset counts once: its ranks with several models, at several ε or with several options are not independent, and are averaged
first. The average varies less than a single rank, so the critical difference is on the safe side.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, permutations

import numpy as np

from dpbench.records.cell_record import CellRecord, label
from dpbench.report.formatting import group_by
from dpbench.report.statistics.comparable import groups
from dpbench.report.statistics.paired import LEVEL

MAX_ENUMERATED_ORDERS = 20_000
"""Up to this number of orders of the mechanisms Friedman's test is exact; beyond, χ² is close enough."""

SMALLEST_QUANTILE = 1.95
"""Below Nemenyi's q of two mechanisms, which is that of the normal law for 5 % and the smallest one."""


@dataclass(frozen=True)
class Ranking:
    """The mean ranks of mechanisms over datasets, the best first."""

    names: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    """1 is the best."""
    datasets: tuple[str, ...]
    critical: float | None
    """Mean ranks further apart than this differ (Nemenyi, 5 %); None if there are too few datasets for any to differ."""
    p: float | None
    """The p-value of Friedman's test that all mechanisms are alike; None with a single dataset."""


def ranks(cells: Sequence[CellRecord]) -> Ranking | None:
    """Return the mean ranks of the mechanisms by their median error; None if no two share a problem and an ε.

    Only ranked cells count, on the problems and at the accounted ε at which every compared mechanism has one. A mechanism that
    has few of them is left out if more datasets, or more mechanisms, can be compared without it.
    """
    blocks = [
        (group[0].params["dataset"], {label(cell): _error_or_infinite(cell) for cell in reversed(group)})
        for group in groups(cells)
    ]
    names = _compared(blocks)
    if len(names) < 2:
        return None
    by_dataset = group_by((block for block in blocks if block[1].keys() >= names), lambda block: block[0])
    table = np.array([np.mean([_ranks(errors, names) for _, errors in same], axis=0) for same in by_dataset.values()])
    order = sorted(zip(table.mean(axis=0).tolist(), sorted(names), strict=True))
    return Ranking(
        names=tuple(name for _, name in order),
        mean_ranks=tuple(rank for rank, _ in order),
        datasets=tuple(by_dataset),
        critical=_attainable(len(names), len(table)),
        p=friedman(table) if len(table) > 1 else None,
    )


def critical_difference(mechanisms: int, datasets: int, level: float = LEVEL) -> float:
    """Return Nemenyi's q √(k (k + 1) / (6 N)); q is a quantile of the studentized range over √2 (Demšar 2006, section 3.2.2)."""
    from scipy.stats import studentized_range

    quantile = float(studentized_range.ppf(1 - level, mechanisms, math.inf))
    return quantile / math.sqrt(2) * _spread_of_ranks(mechanisms, datasets)


def _attainable(mechanisms: int, datasets: int) -> float | None:
    """Return the critical difference; None if no two mean ranks can be that far apart."""
    # the quantile grows with the mechanisms: where that of two is too large, scipy.stats need not be imported, which takes long
    if SMALLEST_QUANTILE * _spread_of_ranks(mechanisms, datasets) >= mechanisms - 1:
        return None
    critical = critical_difference(mechanisms, datasets)
    return critical if critical < mechanisms - 1 else None


def _spread_of_ranks(mechanisms: int, datasets: int) -> float:
    return math.sqrt(mechanisms * (mechanisms + 1) / (6 * datasets))


def friedman(table: np.ndarray) -> float:
    """Return the p of Friedman's test for ranks, one line per dataset: exact if small, else by χ² (Conover 1999, 5.8).

    The statistic is the one for ties, which also suits averages of ranks.
    """
    datasets, mechanisms = table.shape
    centred = table - table.mean(axis=1, keepdims=True)
    within = float((centred**2).sum())
    if within == 0:
        return 1.0
    between = float((centred.sum(axis=0) ** 2).sum())
    if math.factorial(mechanisms) ** (datasets - 1) <= MAX_ENUMERATED_ORDERS:
        sums = centred[:1]  # by symmetry, the order on the first dataset may stay fixed
        for line in centred[1:]:
            sums = (sums[:, None] + np.array(list(permutations(line)))).reshape(-1, mechanisms)
        return float(((sums**2).sum(axis=1) >= between * (1 - 1e-9)).mean())
    from scipy.special import chdtrc

    return float(chdtrc(mechanisms - 1, (mechanisms - 1) * between / within))


def _error_or_infinite(cell: CellRecord) -> float:
    """Return the error; infinite, and so the last, if no run gave a finite one."""
    error = cell.error()
    return math.inf if error is None else error


def _compared(blocks: Sequence[tuple[str, Mapping[str, float]]]) -> frozenset[str]:
    """Return the mechanisms with the most to compare: datasets that have them all, times the mechanisms beyond the first."""
    whole = list(dict.fromkeys(frozenset(errors) for _, errors in blocks))
    shared = dict.fromkeys(one & other for one, other in combinations_with_replacement(whole, 2))

    def extent(names: frozenset[str]) -> tuple[int, int]:
        datasets = len({dataset for dataset, errors in blocks if errors.keys() >= names})
        return datasets * (len(names) - 1), len(names)

    return max(shared, key=extent, default=frozenset())


def _ranks(errors: Mapping[str, float], names: Iterable[str]) -> np.ndarray:
    """Return the ranks of these mechanisms in alphabetical order; equal errors share the mean of their ranks."""
    _, group, count = np.unique([errors[name] for name in sorted(names)], return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[group])
