"""What a private answer costs, in its native currency, for replace-one neighbours.

The vocabulary stands apart from the accountant that prices it (:mod:`dpbench.accounting.composition`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

Currency = Literal["pure", "approx", "zcdp", "gdp"]
"""How a budget's ε is counted: the native form of a cost."""


@dataclass(frozen=True)
class Cost:
    """One entry's price; the subclasses are the currencies."""

    kind: ClassVar[str]

    def as_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True)
class Pure(Cost):
    """ε-DP (Dwork, McSherry, Nissim, Smith 2006)."""

    kind = "pure"
    epsilon: float


@dataclass(frozen=True)
class Zcdp(Cost):
    """ρ-zero-concentrated DP (Bun and Steinke 2016)."""

    kind = "zcdp"
    rho: float


@dataclass(frozen=True)
class Gdp(Cost):
    """μ-Gaussian DP (Dong, Roth, Su 2022)."""

    kind = "gdp"
    mu: float


@dataclass(frozen=True)
class Approx(Cost):
    """(ε, δ)-DP."""

    kind = "approx"
    epsilon: float
    delta: float


@dataclass(frozen=True)
class Nothing(Cost):
    """No guarantee at all."""

    kind = "none"
