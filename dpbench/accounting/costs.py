"""What a private answer costs, in its own currency, for replace-one neighbours.

The accountant in :mod:`dpbench.accounting.composition` adds costs up.
"""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

Currency = Literal["pure", "approx", "zcdp", "gdp"]
"""How a budget's ε is counted."""


@dataclass(frozen=True)
class Cost:
    """The price of one answer; the subclasses are the currencies."""

    kind: ClassVar[str]

    def as_dict(self) -> dict[str, Any]:
        """Return the cost as recorded in the ledger file."""
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


def noise_costs(law: str, bound: float) -> tuple[Cost, ...]:
    """Return the costs that noise of a law may have if neighbours move its answer by a bound, in scales; none for other laws."""
    pure, normal = (Pure(bound),), (Gdp(bound), Zcdp(bound * bound / 2))
    return {"laplace": pure, "geometric": pure, "gaussian": normal}.get(law, ())
