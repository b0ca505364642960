"""What a private answer costs, in its own currency, for replace-one neighbours, and the line of the ledger that says so.

The accountant in :mod:`dpbench.accounting.composition` adds costs up.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal, Self

from dpbench.base.errors import Refused

Currency = Literal["pure", "approx", "zcdp", "gdp"]
"""How a budget's ε is counted."""
KIND_NAMES = {"pure": "pure", "zcdp": "zCDP", "gdp": "Gaussian DP", "approx": "approximate", "none": "no guarantee"}
SYMBOLS = {"epsilon": "ε", "rho": "ρ", "mu": "μ", "delta": "δ"}


@dataclass(frozen=True)
class Cost:
    """The price of one answer; the subclasses are the currencies."""

    kind: ClassVar[str]

    def as_dict(self) -> dict[str, Any]:
        """Return the cost as recorded in the ledger file."""
        return {"kind": self.kind, **asdict(self)}

    @property
    def text(self) -> str:
        """The cost as a reader sees it: ``Gaussian DP, μ = 0.2367``."""
        return ", ".join([KIND_NAMES[self.kind], *(f"{SYMBOLS[name]} = {value:.4g}" for name, value in asdict(self).items())])


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


def noise_cost(law: str, bound: float) -> Cost | None:
    """Return the cost of noise of a law if neighbours move its answer by a bound, in scales; None for other laws."""
    pure = Pure(bound)
    return {"laplace": pure, "geometric": pure, "knorm": pure, "gaussian": Gdp(bound)}.get(law)


COSTS: tuple[type[Cost], ...] = (Pure, Zcdp, Gdp, Approx, Nothing)
"""Every currency that the accountant knows."""


def cost_of(content: Mapping[str, Any]) -> Cost:
    """Return a cost as a ledger file has it; refuse a currency that is unknown, and a cost that is no number or negative."""
    kinds = {cost.kind: cost for cost in COSTS}
    if content["kind"] not in kinds:
        raise Refused(f"The cost of a ledger's entry must be one of {', '.join(kinds)}. Got {content['kind']!r} instead.")
    cost = kinds[content["kind"]](**{name: value for name, value in content.items() if name != "kind"})
    if not all(isinstance(value, (int, float)) and value >= 0 for value in vars(cost).values()):
        raise Refused(f"The cost of a ledger's entry must be numbers that are not negative. Got {dict(content)} instead.")
    return cost
