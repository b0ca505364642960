"""What it would cost to release the best cell of a sweep: in numbers for the parent run, in sentences for readers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpbench.accounting.composition import Guarantee
from dpbench.accounting.selection_price import SelectionPrice, price_selection
from dpbench.records.cell_record import CellRecord
from dpbench.report.formatting import group_by

HEADING = "What releasing the best cell would cost"
NO_BOUND = "choosing by these errors has no finite privacy cost: they are computed on the private rows, without noise"
SHARED_NOISE = (
    "The cells recorded here are not these fits: drawn from one seed, they share their noise at every ε, so that the noisy "
    "answers of two cells give away the exact one. Never publish them together."
)


@dataclass(frozen=True)
class ReleasePrice(SelectionPrice):
    """The price of choosing among the cells of the table that costs most.

    Tables are not added up: another table has other rows, so what is released of it costs these nothing.
    """

    table: str = ""
    """Which table it is, if the sweep has several."""
    shared_noise: bool = False
    """Whether the recorded cells drew their noise from one seed."""

    @property
    def sentence(self) -> str:
        """One sentence, printed below the table: the cheapest way first, and none that costs more than releasing all."""
        ways = [f"{_price(self.naive)} if all are fitted anew and released"]
        if self.selection_pays:
            ways.insert(0, f"{_price(self.selected)} if only the best by a noisy score is released")
        return f"Releasing the best of these {self.cells} private cells{self.table}: {', '.join(ways)}; {NO_BOUND}."

    @property
    def paragraph(self) -> str:
        """The text below the heading in the note and on the page."""
        return (
            f"To fit each of the {self.cells} private cells{self.table} once on the same rows, each with noise of its own, and "
            f"publish them all: {_price(self.naive)}, the sum. {self._selection} But {NO_BOUND}. To have a bound, choose by "
            "facts that do not depend on these rows, or let every cell spend a part of its ε on a noisy score and choose by that."
            + (f" {SHARED_NOISE}" if self.shared_noise else "")
        )

    @property
    def _selection(self) -> str:
        if not self.selection_pays:
            return f"To publish only the one with the best noisy score would not be cheaper ({_price(self.selected)})."
        geometric = f"; with a geometric number, {_price(self.geometric)}" if self.geometric.epsilon < self.naive.epsilon else ""
        return (
            f"To draw cells at random, about {self.cells} times, and publish only the one with the best score, where each cell "
            f"releases its score within its own ε: {_price(self.selected)} if the number of draws has the logarithmic law"
            f"{geometric} (Papernot and Steinke 2022)."
        )


def release_price(cells: Sequence[CellRecord]) -> ReleasePrice | None:
    """Return the price of the private cells, each fitted once; None if there is no choice."""
    private = [cell for cell in cells if cell.ranked and "privacy/epsilon_accounted" in cell.metrics]
    prices = {}
    for table, fits in group_by(private, lambda cell: cell.params["dataset"]).items():
        once = {_fit_params(cell): cell for cell in fits}
        if len(once) > 1:
            shared = sum(cell.simulated for cell in once.values()) > 1
            prices[table] = price_selection([_accounted(cell) for cell in once.values()]), shared
    if not prices:
        return None
    table, (price, shared) = max(prices.items(), key=lambda item: item[1][0].naive.epsilon)
    text = f" on {table}, the most expensive of {len(prices)} tables" if len(prices) > 1 else ""
    return ReleasePrice(price.cells, price.naive, price.selected, price.geometric, text, shared)


def _fit_params(cell: CellRecord) -> frozenset[tuple[str, str]]:
    """Return what tells one fit from another: attacks, splits and intervals fit nothing anew."""
    return frozenset(item for item in cell.params.items() if not item[0].startswith(("attack", "splits", "inference")))


def _accounted(cell: CellRecord) -> Guarantee:
    return Guarantee(cell.metrics["privacy/epsilon_accounted"], cell.metrics.get("privacy/delta", 0.0))


def _price(guarantee: Guarantee) -> str:
    if not math.isfinite(guarantee.epsilon):
        return "no bound at this δ"
    return f"ε = {_round_up(guarantee.epsilon, 4)}" + (f" at δ = {_round_up(guarantee.delta, 2)}" if guarantee.delta else "")


def _round_up(value: float, digits: int) -> str:
    """Return this many digits, rounded up because the value is a bound."""
    text = f"{value:.{digits}g}"
    if float(text) < value * (1 - 1e-12):  # a sum of tenths is not exact beyond its digits
        text = f"{float(text) + 10.0 ** (math.floor(math.log10(value)) - digits + 1):.{digits}g}"
    return text
