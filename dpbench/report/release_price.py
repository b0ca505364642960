"""What it would cost to release the best cell of a sweep: in numbers for the parent run, in sentences for readers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpbench.accounting.composition import Guarantee
from dpbench.accounting.selection_price import SelectionPrice, price_selection
from dpbench.records.cell_record import CellRecord

NO_BOUND = "choosing by the errors shown here is bounded by no finite ε: they are computed on the private rows, without noise"


@dataclass(frozen=True)
class Dearest(SelectionPrice):
    """The bill of the table that costs most: another table has other rows, so what is released of it costs these nothing."""

    where: str = ""
    """Which table, where there are several."""


def bill_of(rows: Sequence[CellRecord]) -> Dearest | None:
    """The bill of the private cells, each fitted once; None where there is no choice. Attacks and splits fit nothing anew."""
    costs: dict[str, dict[tuple[tuple[str, str], ...], Guarantee]] = {}
    for row in rows:
        epsilon = row.metrics.get("privacy/epsilon_accounted")
        if row.ranked and epsilon is not None:
            fitted = {key: value for key, value in row.params.items() if not key.startswith(("attack", "splits"))}
            own = costs.setdefault(row.params["dataset"], {})
            own[tuple(sorted(fitted.items()))] = Guarantee(epsilon, row.metrics.get("privacy/delta", 0.0))
    bills = {name: price_selection(list(own.values())) for name, own in costs.items() if len(own) > 1}
    if not bills:
        return None
    name, dearest = max(bills.items(), key=lambda item: item[1].naive.epsilon)
    where = f" on {name}, the dearest of {len(bills)} tables" if len(bills) > 1 else ""
    return Dearest(dearest.cells, dearest.naive, dearest.selected, where)


def recorded(rows: Sequence[CellRecord]) -> Mapping[str, float]:
    """The parent run's metrics."""
    found = bill_of(rows)
    return found.metrics() if found else {}


def short(found: Dearest) -> str:
    """One sentence, below the printed table."""
    return (
        f"Releasing the best of these {found.cells} private cells{found.where}: {_priced(found.naive)} if all are released, "
        f"{_priced(found.selected)} by private selection; {NO_BOUND}."
    )


def whole(found: Dearest) -> str:
    """The paragraph of the note."""
    return (
        f"**What releasing the best cell would cost.** To fit each of the {found.cells} private cells{found.where} once "
        "on the same rows and "
        f"publish them all: {_priced(found.naive)}, the sum. To draw cells at random, about {found.cells} times, and publish "
        f"only the one with the best score, where each cell releases its score within its own ε: {_priced(found.selected)} "
        f"(Papernot and Steinke 2022). But {NO_BOUND}. For a bound, choose by what is known without these rows, or let every "
        "cell spend a part of its ε on a noisy score and choose by that."
    )


def _priced(guarantee: Guarantee) -> str:
    if not math.isfinite(guarantee.epsilon):
        return "no bound at this δ"
    return f"ε = {_up(guarantee.epsilon, 4)}" + (f" at δ = {_up(guarantee.delta, 2)}" if guarantee.delta else "")


def _up(value: float, digits: int) -> str:
    """So many digits, rounded up: it is a bound."""
    short = f"{value:.{digits}g}"
    if float(short) < value * (1 - 1e-12):  # not what the sum of tenths has beyond its digits
        short = f"{float(short) + 10.0 ** (math.floor(math.log10(value)) - digits + 1):.{digits}g}"
    return short
