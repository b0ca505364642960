"""Secure noise: a Curator for an actual release, whose draws come from OpenDP and the operating system.

Simulated noise is seeded and rounded like any floating-point number: anyone who knows the seed, or looks at the last bits of an
answer, can remove it (Mironov 2012). Here an answer is a sum of integers and the noise on it is discrete:

- each row's contribution is rounded to a multiple of 2^k, a public k, and the multiples are summed as integers. Rows lie on a
  dyadic grid (:mod:`dpbench.data.scaling`), so that second moments are such multiples already and nothing is lost; the sum is
  exact for every query;
- rounding moves a coefficient's change by at most 2^k for each replaced row, so the scales s are enlarged until the bound holds
  for the rounded sums: for one row s (Δ₁ + d 2^k) / Δ₁ with one scale and the L1 norm, sup ‖(|change| + 2^k) / s'‖ <= bound in
  general;
- OpenDP adds discrete Laplace or discrete Gaussian noise of that scale, exactly (Canonne, Kamath, Steinke 2020). Statements in
  ε or in ρ hold exactly; a statement in μ holds for the rounded normal law, from which a discrete one of σ >= 2^24 steps
  differs by less than 1 / (12 σ²) in total variation, below 4e-16 per coefficient.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, NoReturn, Self

import numpy as np

from dpbench.accounting.costs import LedgerEntry
from dpbench.base.errors import Refused
from dpbench.base.read_only import read_only
from dpbench.data.samples import Sample
from dpbench.data.scaling import Rows
from dpbench.privacy.calls import Answer, Call
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws, Gaussian, Geometric, Laplace, Law, Noise
from dpbench.privacy.queries.query import Query, contributions
from dpbench.records.leaks import Leak

INSTALL = "pip install 'dp-regression-bench[secure]' (opendp)"

MIN_GRID_POWER = -32
"""Products of two scaled values are multiples of 2^-32. The grid is finer only where normal noise is small."""
MAX_SCALE_BITS = 48
"""A scale is at most 2^48 grid steps, which leaves room for its tails in 64 bits."""
MIN_NORMAL_SCALE_BITS = 24
"""The scale of a normal law is at least 2^24 grid steps."""
ROW_BITS = 6
"""The grid is chosen for rows that contribute at most 2^6 to a coefficient."""
SLACK = 1e-12
"""Relative slack for the rounding of each row's contribution and of the scales."""
MECHANISMS: dict[type[Law], str] = {Laplace: "make_laplace", Geometric: "make_laplace", Gaussian: "make_gaussian"}
"""OpenDP's constructor for each noise law."""


class NoSecureNoise(Refused):
    """A mechanism asks for what has no cryptographic sampler or no proof."""


class SecureCurator(Curator):
    """A Curator that draws through OpenDP, and refuses everything that has no cryptographic sampler or no proof.

    It takes no seed. Its ledger has the scales that were drawn: larger than the requested ones, by the rounding at most.
    """

    def __init__(self, sample: Sample, budget: Budget, leaks: Sequence[Leak] = (), paid: Sequence[LedgerEntry] = ()) -> None:
        require()
        if leaks:
            _refuse(f"the data leaks {', '.join(leak.what for leak in leaks)}: {leaks[0].why}")
        if paid:
            _refuse("an answer was drawn from a seed before")
        super().__init__(sample, _NoStreams(seed=0, identity="", runs=[(0, 0)]), budget)

    def release(self, query: Query, noise: Noise) -> np.ndarray:
        noise = self._checked(query, noise)
        if type(noise.law) not in MECHANISMS:
            names = ", ".join(law.name for law in MECHANISMS)
            _refuse(f"{noise.law.name} noise has no cryptographic sampler here ({names} have)")
        grid = _Grid.for_noise(noise, int(self.n.max()), self.geometry.replaced_rows)
        drawn = enlarged(noise, query.size, grid.rounding)
        library = f"OpenDP {version('opendp')}"
        proof = f"{noise.proof}; discrete on multiples of 2^{grid.power}, scales enlarged for the rounding ({library})"
        self._pay(replace(drawn, proof=proof).ledger_entry(query.name))
        totals = (grid.sum_steps(query, self._sample.chunks(run), int(self.n[run]), run) for run in range(self.runs))
        noisy = read_only(np.stack([_answer(drawn, run, grid, total) for run, total in enumerate(totals)]))
        if self.tape is not None:
            call = Call("release", query, self.geometry, noise.cost)
            self.tape.append(Answer(call, self._exact(query), noise, noisy, self._run))
        return noisy

    def until(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("the number of draws until an answer is accepted would show in the time it takes")

    def scan(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("noise on all bins of a histogram is drawn from a seed")

    def sparse(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("a sparse histogram is drawn from a seed")

    def ask(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("an answer that is not noise on a sum has no cryptographic sampler here")

    def unproven(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("it publishes noise without a proof")

    def reveal(self, what: str, compute: Callable[[Sample], Any], reason: str) -> NoReturn:
        _refuse(f"{what!r} is not private: {reason}")

    def leak(self, what: str, why: str, compute: Callable[[Sample], Any]) -> NoReturn:
        _refuse(f"{what!r} would leak: {why}")


def require() -> None:
    """Refuse if OpenDP is not installed."""
    if find_spec("opendp") is None:
        raise Refused(f"Secure noise needs OpenDP, which is not installed: {INSTALL}.")


def enlarged(noise: Noise, size: int, rounding: float) -> Noise:
    """Return the same noise with scales at which the bound still holds when every coefficient's change grows by ``rounding``."""
    inverse = np.broadcast_to(1 / noise.scale, (len(noise.scale), size))
    norms = inverse.sum(axis=1) if noise.law.norm == "L1" else np.sqrt(np.square(inverse).sum(axis=1))
    factor = 1 + rounding * norms / noise.bound + SLACK
    return replace(noise, scale=noise.scale * factor[:, None])


@dataclass(frozen=True)
class _Grid:
    """The multiples of 2^power to which contributions are rounded."""

    power: int
    rounding: float
    """By how much rounding can move a coefficient's change: 2^power for each replaced row, or 0 for answers in whole numbers."""

    @classmethod
    def for_noise(cls, noise: Noise, rows: int, replaced_rows: int = 1) -> Self:
        """Return the grid for a noise, chosen by public facts: its scales and n."""
        if type(noise.law) is Geometric:
            return cls(0, rounding=0.0)
        low, high = (math.log2(float(edge)) for edge in (noise.scale.min(), noise.scale.max()))
        room = math.ceil(math.log2(max(rows, 2))) + ROW_BITS - 62
        is_normal = type(noise.law) is Gaussian
        finest = min(MIN_GRID_POWER, math.floor(low) - MIN_NORMAL_SCALE_BITS) if is_normal else MIN_GRID_POWER
        power = max(finest, math.ceil(high) - MAX_SCALE_BITS, room)
        if is_normal and low - power < MIN_NORMAL_SCALE_BITS:
            _refuse(f"normal noise of scale {2**low:.3g} is too small for the grid 2^{power}: use a smaller ε")
        return cls(power, replaced_rows * 2.0**power)

    def sum_steps(self, query: Query, chunks: Iterable[Rows], n: int, run: int) -> np.ndarray:
        """Return the sum of the rounded contributions of at most n rows, in grid steps."""
        total = np.zeros(query.size, dtype=np.int64)
        limit = 2.0**62 / max(n, 1)  # keeps the sum of all rows within 64 bits
        for chunk in chunks:
            steps = np.ldexp(contributions(query, chunk, run), -self.power)
            rounded = np.rint(steps)
            if not (np.abs(rounded) < limit).all() or (not self.rounding and (rounded != steps).any()):
                raise ValueError(f"The contributions to {query.name!r} do not fit the grid of a secure release.")
            total += rounded.astype(np.int64).sum(axis=0)
        return total


def _answer(noise: Noise, run: int, grid: _Grid, total: np.ndarray) -> np.ndarray:
    """Return one run's answer, by one call of OpenDP for each scale."""
    scales = np.broadcast_to(noise.scale_of(run), total.shape)
    answer = np.empty(len(total))
    for scale in np.unique(scales):
        same = scales == scale
        measurement = measure(MECHANISMS[type(noise.law)], int(same.sum()), math.ldexp(float(scale), -grid.power))
        answer[same] = np.ldexp(np.array(measurement([int(steps) for steps in total[same]]), dtype=float), grid.power)
    return answer


def measure(mechanism: str, size: int, scale: float) -> Any:
    """Return OpenDP's measurement that adds noise of a scale, in grid steps, to ``size`` whole numbers."""
    prelude = opendp()
    integers = prelude.vector_domain(prelude.atom_domain(T="i64"), size=size)
    distance = prelude.l1_distance if mechanism == "make_laplace" else prelude.l2_distance
    return getattr(prelude.m, mechanism)(integers, distance(T="i64"), scale=scale)


@cache
def opendp() -> Any:
    """Import OpenDP on first use, because that takes a second and only a release needs it."""
    require()
    prelude = import_module("opendp.prelude")
    prelude.enable_features("contrib")  # OpenDP files its discrete samplers under "contrib"; their proofs are next to the code
    return prelude


class _NoStreams(Draws):
    """Streams that refuse to draw, because secure noise has no seed."""

    def for_run(self, run: int) -> Draws:
        return self

    def generator(self, *_: Any) -> NoReturn:
        _refuse("it draws from a seed")


def _refuse(reason: str) -> NoReturn:
    raise NoSecureNoise(f"Not with secure noise: {reason}.")
