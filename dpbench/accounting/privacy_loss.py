"""The tight total of a ledger: the distributions of its noises' privacy losses, composed numerically (``accounting=pld``).

Each entry is replaced by the worst pair of one-dimensional laws that its bound allows, and dp-accounting composes those
(Koskela, Jälkö, Honkela 2020; Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022), rounding losses upwards. The worst pairs:

- Laplace, ‖change / scale‖₁ ≤ b: one coordinate that moves by b. Two coordinates that move by v ≤ u, b = u + v, do no worse:
  at ε in [0, b] a move by u alone has δ(ε) = 1 - e^((ε-u)/2) on [-u, u] and 0 above, so that together
  δ(ε) = E[δ_u(ε - L)] = 1 - E[min(e^((ε-L-u)/2), 1)] <= 1 - e^((ε-b)/2), because the loss L of the other is at most v.
- Geometric: the same proof on the integers, where the same formula holds on the lattice of losses.
- Gaussian, ‖change / scale‖₂ ≤ b: a shift by b, exactly.
- Anything else by what it costs: ε-DP is at worst randomised response, (ε, δ)-DP that and a failure of probability δ
  (Kairouz, Oh, Viswanath 2015), μ-GDP a shift of a normal law. ρ-zCDP alone has no worst pair and is refused.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from dpbench.accounting.composition import Guarantee, compose, epsilon_at
from dpbench.accounting.costs import Approx, Cost, Gdp, Pure, Zcdp
from dpbench.base.errors import Refused

INSTALL = "pip install 'dp-regression-bench[accounting]' (dp-accounting)"
FINENESS = 2e-5
"""The grid of losses, relative to the closed form's ε."""


class PricedAnswer(Protocol):
    """A ledger entry, as far as its price is concerned."""

    @property
    def query(self) -> str: ...
    @property
    def cost(self) -> Cost: ...
    @property
    def noise(self) -> str | None: ...
    @property
    def bound(self) -> float | None: ...
    @property
    def scale(self) -> tuple[float, float] | None: ...


def total(entries: Sequence[PricedAnswer], delta: float) -> Guarantee:
    """The smallest ε at the stated δ: the composed one, or the closed form's where that is less."""
    closed = compose([entry.cost for entry in entries], delta)
    at_delta = epsilon_at([entry.cost for entry in entries], delta)
    if not 0 < at_delta < math.inf:
        return closed
    worst = Counter(map(_worst, entries))
    tight = _composed(tuple(sorted(worst.items(), key=repr)), delta, at_delta * FINENESS)
    return min((closed, Guarantee(min(tight, at_delta), delta)), key=lambda guarantee: guarantee.epsilon)


def require() -> None:
    """Refuse where dp-accounting is not installed."""
    if find_spec("dp_accounting") is None:
        raise Refused(f"accounting=pld needs dp-accounting, which is not installed: {INSTALL}.")


Worst = tuple[str, float, float]
"""A pair of one-dimensional laws by name, with its numbers: what two entries of equal price have in common."""

_PRICES: dict[str, Callable[[float], tuple[Cost, ...]]] = {
    "laplace": lambda bound: (Pure(bound),),
    "geometric": lambda bound: (Pure(bound),),
    "gaussian": lambda bound: (Gdp(bound), Zcdp(bound * bound / 2)),
}
"""What a noise costs by its bound alone. An entry that costs something else (a loop, say) is priced by what it states."""


def _worst(entry: PricedAnswer) -> Worst:
    cost, noise, bound = entry.cost, entry.noise or "", entry.bound
    if bound is not None and noise in _PRICES and cost in _PRICES[noise](bound):
        if noise != "geometric":
            return (noise, bound, 0.0)
        if steps := _steps(entry, bound):
            return (noise, steps, bound / steps)
    if isinstance(cost, Gdp):
        return ("gaussian", cost.mu, 0.0)
    if isinstance(cost, Pure):
        return ("stated", cost.epsilon, 0.0)
    if isinstance(cost, Approx):
        return ("stated", cost.epsilon, cost.delta)
    raise Refused(
        f"accounting=pld cannot price the query {entry.query!r}: its cost is stated as {cost.kind}, without a noise of a known "
        "law. Take accounting=closed."
    )


def _steps(entry: PricedAnswer, bound: float) -> int | None:
    """By how many integers geometric noise of one scale is moved at worst."""
    if entry.scale is None or entry.scale[0] != entry.scale[1]:
        return None
    steps = round(bound * entry.scale[0])
    return steps if steps >= 1 and math.isclose(steps, bound * entry.scale[0], rel_tol=1e-9) else None


@lru_cache(maxsize=256)
def _composed(worst: tuple[tuple[Worst, int], ...], delta: float, grid: float) -> float:
    """The smallest ε at δ of so many of each pair."""
    require()
    losses = import_module("dp_accounting.pld.privacy_loss_distribution")
    common = import_module("dp_accounting.pld.common")

    def pair(name: str, first: float, second: float) -> Any:
        if name == "laplace":
            return losses.from_laplace_mechanism(1.0, first, value_discretization_interval=grid)
        if name == "gaussian":
            return losses.from_gaussian_mechanism(1.0, first, value_discretization_interval=grid)
        if name == "geometric":
            return losses.from_discrete_laplace_mechanism(
                second, int(first), value_discretization_interval=grid, use_connect_dots=True
            )
        stated = common.DifferentialPrivacyParameters(first, second)
        return losses.from_privacy_parameters(stated, value_discretization_interval=grid)

    whole: Any = None
    for (name, first, second), count in worst:
        some = pair(name, first, second)
        some = some.self_compose(count) if count > 1 else some
        whole = some if whole is None else whole.compose(some)
    return float(whole.get_epsilon_for_delta(delta))
