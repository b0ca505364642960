"""The tight total of a ledger: the distributions of its noises' privacy losses, composed numerically (``accounting=pld``).

Each entry is replaced by the worst pair of one-dimensional laws that its bound allows, and dp-accounting composes those pairs
(Koskela, Jälkö, Honkela 2020; Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022), rounding losses upwards. The worst pairs:

- Laplace, ‖change / scale‖₁ ≤ b: one coordinate that moves by b. Two coordinates that move by v ≤ u, b = u + v, do no worse:
  at ε in [0, b] a move by u alone has δ(ε) = 1 - e^((ε-u)/2) on [-u, u] and 0 above, so that together
  δ(ε) = E[δ_u(ε - L)] = 1 - E[min(e^((ε-L-u)/2), 1)] <= 1 - e^((ε-b)/2), because the loss L of the other is at most v.
- Geometric: the same proof on the integers, where the same formula holds on the lattice of losses.
- Gaussian, ‖change / scale‖₂ ≤ b: a shift by b, exactly.
- Anything else, K-norm noise included, by its cost: ε-DP is at worst randomised response, (ε, δ)-DP that and a failure of
  probability δ (Kairouz, Oh, Viswanath 2015), μ-GDP a shift of a normal law. ρ-zCDP alone has no worst pair and is refused.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from dpbench.accounting.composition import Guarantee, compose, epsilon_at, total_zcdp
from dpbench.accounting.costs import Approx, Gdp, LedgerEntry, Pure, Zcdp, noise_cost
from dpbench.base.errors import Refused

INSTALL = "pip install 'dp-regression-bench[accounting]' (dp-accounting)"
GRID_STEP = 2e-5
"""The step of the grid of losses, relative to the closed form's ε."""
GRID_TOLERANCE = 1e-3
"""Relative tolerance when comparing a stated ε with dp-accounting's, which is rounded up to a grid."""


def total(entries: Sequence[LedgerEntry], delta: float) -> Guarantee:
    """Return the smallest ε at the stated δ: the composed one, or the closed form's if that is smaller."""
    costs = [entry.cost for entry in entries]
    closed, at_delta = compose(costs, delta), epsilon_at(costs, delta)
    if not 0 < at_delta < math.inf:
        return closed
    pairs = Counter(map(_worst_pair, entries))
    tight = _composed(tuple(sorted(pairs.items(), key=repr)), delta, at_delta * GRID_STEP)
    return min((closed, Guarantee(min(tight, at_delta), delta)), key=lambda guarantee: guarantee.epsilon)


def epsilon_of_dp_accounting(entries: Sequence[LedgerEntry], delta: float) -> float:
    """Return ε at δ as dp-accounting alone computes it, rounded up to its grid, to check what the closed forms say.

    Losses of ρ-zCDP have no distribution: a ledger with such a cost is composed in Rényi orders (Mironov 2017).
    """
    require("This check")
    if not any(isinstance(entry.cost, Zcdp) for entry in entries):
        # at δ = 0 the largest loss alone counts, which is ε for every law; the grid of a law may round it to infinity
        pairs = Counter(_worst_pair(entry if delta else replace(entry, noise=None)) for entry in entries)
        size = compose([entry.cost for entry in entries], delta).epsilon
        return _composed(tuple(sorted(pairs.items(), key=repr)), delta, size * GRID_STEP)
    library = import_module("dp_accounting")
    orders = [1 + 10 ** (power / 100) for power in range(-300, 500)]
    accountant = library.rdp.RdpAccountant(orders, library.NeighboringRelation.REPLACE_ONE)
    for entry in entries:
        rho = total_zcdp([entry.cost])
        if not math.isfinite(rho):
            raise Refused(f"The query {entry.query!r} has a cost in {entry.cost.kind}, which has no Rényi orders.")
        accountant.compose(library.ZCDpEvent(rho))
    return float(accountant.get_epsilon(delta))


def require(what: str = "accounting=pld") -> None:
    """Refuse if dp-accounting is not installed."""
    if find_spec("dp_accounting") is None:
        raise Refused(f"{what} needs dp-accounting, which is not installed: {INSTALL}.")


Pair = tuple[str, float, float]
"""A pair of one-dimensional laws: its name in dp-accounting and two numbers. Entries with equal pairs have equal prices."""


def _worst_pair(entry: LedgerEntry) -> Pair:
    cost, noise, bound = entry.cost, entry.noise or "", entry.bound or 0.0
    # an entry with another cost than its law and bound have (from a loop, say) is priced by its stated cost
    if noise != "knorm" and cost == noise_cost(noise, bound):
        if noise != "geometric":
            return (noise, 1.0, bound)
        if steps := _steps(entry.scale, bound):
            return ("discrete_laplace", bound / steps, steps)
    if isinstance(cost, Gdp):
        return ("gaussian", 1.0, cost.mu)
    if isinstance(cost, (Pure, Approx)):
        return ("stated", cost.epsilon, cost.delta if isinstance(cost, Approx) else 0.0)
    raise Refused(
        f"accounting=pld cannot price the query {entry.query!r}: its cost is stated as {cost.kind}, without a noise of a known "
        "law. Take accounting=closed."
    )


def _steps(scale: tuple[float, float] | None, bound: float) -> int | None:
    """Return by how many integers neighbours move geometric noise of one scale at worst."""
    moved = bound * scale[0] if scale is not None and scale[0] == scale[1] else 0.0
    return round(moved) if round(moved) >= 1 and math.isclose(round(moved), moved, rel_tol=1e-9) else None


@lru_cache(maxsize=256)
def _composed(pairs: tuple[tuple[Pair, int], ...], delta: float, grid: float) -> float:
    """Return the smallest ε at δ of pairs that occur this many times each."""
    require()
    losses = import_module("dp_accounting.pld.privacy_loss_distribution")
    common = import_module("dp_accounting.pld.common")

    def distribution(pair: Pair, count: int) -> Any:
        name, first, second = pair
        if name == "stated":
            single = losses.from_privacy_parameters(common.DifferentialPrivacyParameters(first, second), grid)
        else:
            law = getattr(losses, f"from_{name}_mechanism")
            single = law(first, second, value_discretization_interval=grid, use_connect_dots=True)
        return single.self_compose(count, truncated) if count > 1 else single

    # at δ = 0 no tail may be cut off: what is cut counts as a failure of the guarantee
    truncated = 1e-15 if delta else 0.0
    composed = reduce(lambda loss, other: loss.compose(other, truncated), (distribution(*item) for item in pairs))
    return float(composed.get_epsilon_for_delta(delta))
