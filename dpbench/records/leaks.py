"""Name the leaks that the core knows: what reached a result without being paid for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Leak:
    """Something that reached the result without being paid for: a short name, and the reason why it is a leak."""

    what: str
    why: str


BOUNDS_FROM_DATA = Leak("bounds_from_data", "the bounds were read from the private rows, which no ε pays for")

ROWS_DROPPED = Leak(
    "rows_dropped", "rows were left out because of their values, so that n, which counts as public, depends on the data"
)

UNPROVEN_NOISE = Leak("unproven_noise", "noise was published with a claim and without a proof: it may protect nothing")
"""The leak that the ledger adds with every entry that has a claim and no proof."""
