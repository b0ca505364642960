"""What it would cost to release the best cell of a sweep: in numbers for the parent run, in sentences for readers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dpbench.privacy.accounting import Guarantee
from dpbench.privacy.selection import Bill, bill
from dpbench.report.rows import Row

NO_BOUND = "choosing by the errors shown here is bounded by no finite ε: they are computed on the private rows, without noise"


def bill_of(rows: Sequence[Row]) -> Bill | None:
    """The bill of the private cells, each fitted once; None where there is no choice. Attacks and splits fit nothing anew."""
    costs: dict[tuple[tuple[str, str], ...], Guarantee] = {}
    for row in rows:
        epsilon = row.metrics.get("privacy/epsilon_accounted")
        if row.ranked and epsilon is not None:
            fitted = {key: value for key, value in row.params.items() if not key.startswith(("attack", "splits"))}
            costs[tuple(sorted(fitted.items()))] = Guarantee(epsilon, row.metrics.get("privacy/delta", 0.0))
    return bill(list(costs.values())) if len(costs) > 1 else None


def recorded(rows: Sequence[Row]) -> Mapping[str, float]:
    """The parent run's metrics."""
    found = bill_of(rows)
    return found.metrics() if found else {}


def short(found: Bill) -> str:
    """One sentence, below the printed table."""
    return (
        f"Releasing the best of these {found.cells} private cells: {_priced(found.naive)} if all are released, "
        f"{_priced(found.selected)} by private selection; {NO_BOUND}."
    )


def whole(found: Bill) -> str:
    """The paragraph of the note."""
    return (
        f"**What releasing the best cell would cost.** To fit each of the {found.cells} private cells once on the same rows and "
        f"publish them all: {_priced(found.naive)}, the sum. To draw cells at random, about {found.cells} times, and publish "
        f"only the one with the best score, where each cell releases its score within its own ε: {_priced(found.selected)} "
        f"(Papernot and Steinke 2022). But {NO_BOUND}. For a bound, choose by what is known without these rows, or let every "
        "cell spend a part of its ε on a noisy score and choose by that."
    )


def _priced(guarantee: Guarantee) -> str:
    if not math.isfinite(guarantee.epsilon):
        return "no bound at this δ"
    return f"ε = {guarantee.epsilon:.4g}" + (f" at δ = {guarantee.delta:.2g}" if guarantee.delta else "")
