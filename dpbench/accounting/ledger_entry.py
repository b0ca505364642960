"""A line of the ledger: one private answer, its price, and the noise that the price rests on."""

from dataclasses import dataclass, replace
from typing import Any, Self

from dpbench.accounting.costs import Cost


@dataclass(frozen=True)
class LedgerEntry:
    """One line of the ledger. The noise of an answer without a proof is not listed."""

    query: str
    cost: Cost
    sound: bool
    proof: str
    norm: str | None = None
    noise: str | None = None
    """The name of the noise's law."""
    sensitivity: float | None = None
    bound: float | None = None
    scale: tuple[float, float] | None = None
    """The smallest and the largest scale, over coefficients and runs."""

    def merged(self, other: Self) -> Self:
        """Return the entry of the same call in two blocks of runs: the range of the scales covers both."""
        if self.scale is None or other.scale is None or self.scale == other.scale:
            return self
        scale = (min(self.scale[0], other.scale[0]), max(self.scale[1], other.scale[1]))
        return replace(self, scale=scale, sensitivity=None)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as recorded in the ledger file: the query, its noise, its price."""
        low, high = self.scale or (None, None)
        scale = low if low == high else {"smallest": low, "largest": high}
        entry = {**vars(self), "scale": scale, "cost": self.cost.as_dict()}
        return {name: entry[name] for name in RECORDED_ORDER}


RECORDED_ORDER = ("query", "norm", "sensitivity", "bound", "noise", "scale", "cost", "sound", "proof")
