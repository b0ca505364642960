"""Random stopping: how many candidates a private selection draws, and which, by the operating system's randomness alone."""

import math
import secrets
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class RandomStopping:
    """The logarithmic law of the number K of candidates that are drawn: P[K = k] proportional to (1 - 1/odds)^k / k, k >= 1.

    Papernot and Steinke 2022, Definition 1 with η = 0 and γ = 1/odds. The draws are exact: no probability is rounded.
    """

    odds: int = 100
    """1/γ, a whole number of at least 2. More odds mean more draws: longer runs, and less δ for each candidate."""

    def __post_init__(self) -> None:
        if self.odds < 2:
            raise ValueError(f"The odds of random stopping must be at least 2. Got {self.odds} instead.")

    @property
    def mean(self) -> float:
        """The mean of K."""
        return (self.odds - 1) / math.log(self.odds)

    def probability(self, k: int) -> float:
        """Return P[K = k]."""
        return float((1 - 1 / self.odds) ** k / k / math.log(self.odds))

    def chance_untried(self, candidates: int) -> float:
        """Return the probability that a candidate is never drawn: K's generating function at 1 - 1/candidates."""
        return math.log(self.odds * candidates / (candidates + self.odds - 1)) / math.log(self.odds)

    def draw(self) -> int:
        """Return K, by rejection: a number with the geometric law, which is kept with probability 1/k."""
        while True:
            k = 1
            while secrets.randbelow(self.odds):
                k += 1
            if not secrets.randbelow(k):
                return k

    def candidates(self, number: int) -> Iterator[int]:
        """Yield K candidates of this number, each drawn at random on its own."""
        return (secrets.randbelow(number) for _ in range(self.draw()))
