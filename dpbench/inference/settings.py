"""The keys of the command that say which intervals are made."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from dpbench.base.options import check_options, option
from dpbench.contracts.uncertainty import Covers


@dataclass(frozen=True)
class InferenceSettings:
    """How the intervals of coefficients are made, and what they cover."""

    name: ClassVar[str] = "inference"

    method: Literal["auto", "none", "naive", "delta", "bootstrap", "iterates", "covariance"] = option(
        "auto", help="auto: the one that suits the mechanism; naive: the textbook formula, which ignores the noise"
    )
    covers: Covers = option("population", help="sampling and privacy noise together, or privacy noise alone (table)")
    level: float = option(0.95, low=0.5, high=0.999, help="the coverage that the intervals aim at")
    draws: int = option(999, low=99, help="how often the bootstrap draws in each run")

    def __post_init__(self) -> None:
        check_options(self, self.name)

    def as_config(self) -> dict[str, Any]:
        """Return what differs from the default: cells that do not say how intervals are made keep their keys."""
        plain = asdict(PLAIN_INTERVALS)
        return {key: value for key, value in asdict(self).items() if value != plain[key]}


PLAIN_INTERVALS = InferenceSettings()
