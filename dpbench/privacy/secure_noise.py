"""Secure noise: a Curator for an actual release, whose draws come from OpenDP and the operating system.

Simulated noise is seeded and rounded like any floating-point number: who knows the seed, or looks at the last bits of an answer,
takes it away (Mironov 2012). Here an answer is a sum of integers and the noise on it is discrete:

- each row's contribution is rounded to a multiple of 2^k, a public k, and the multiples are summed as integers. Rows lie on a
  dyadic grid (:mod:`dpbench.data.scaling`), so that second moments are such multiples already and nothing is lost; the sum is
  exact for every query;
- rounding moves a coefficient's change by at most 2^k, so the scales s are enlarged until the bound holds for the rounded sums:
  s (Δ₁ + d 2^k) / Δ₁ for one scale and the L1 norm, sup ‖(|change| + 2^k) / s'‖ <= bound in general;
- OpenDP adds discrete Laplace or discrete Gaussian noise of that scale, exactly (Canonne, Kamath, Steinke 2020). What is
  stated in ε or in ρ holds to the letter; a statement in μ holds for the rounded normal law, from which a discrete one of
  σ >= 2^24 steps differs by less than 1 / (12 σ²) in total variation, below 4e-16 a coefficient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, NoReturn

import numpy as np

from dpbench.base.errors import Refused
from dpbench.data.samples import CHUNK, Sample
from dpbench.data.scaling import Rows
from dpbench.privacy.curator import Curator, Draws
from dpbench.privacy.ledger import Budget, LedgerEntry
from dpbench.privacy.noise import Noise
from dpbench.privacy.query import Query
from dpbench.records.leaks import Leak

INSTALL = "pip install 'dp-regression-bench[secure]' (opendp)"

FINEST = -32
"""2^-32: products of two scaled values lie on this grid."""
SCALE_BITS = 48
"""A scale is at most 2^48 grid steps, which leaves room for its tails in 64 bits."""
NORMAL_BITS = 24
"""A normal law's scale is at least 2^24 grid steps."""
ROW_BITS = 6
"""A row contributes at most 2^6 to a coefficient, as far as the grid is chosen for it."""
SLACK = 1e-12
"""Relative slack for the rounding of each row's own contribution and of the scales."""


class SecureCurator(Curator):
    """A Curator that draws through OpenDP, and refuses whatever has no cryptographic sampler or no proof.

    It takes no seed. Its ledger has the scales that were drawn: larger than asked, at most by the rounding.
    """

    def __init__(self, sample: Sample, budget: Budget, leaks: Sequence[Leak] = (), paid: Sequence[LedgerEntry] = ()) -> None:
        require()
        if leaks:
            _refuse(f"the data leaks {', '.join(leak.what for leak in leaks)}: {leaks[0].why}")
        if paid:
            _refuse("an answer was drawn from a seed before")
        super().__init__(sample, _Unseeded(), budget)

    def release(self, query: Query, noise: Noise) -> np.ndarray:
        self._check_scales(query, noise)
        if noise.law.name not in _SAMPLERS:
            _refuse(f"{noise.law.name} noise has no cryptographic sampler here ({', '.join(_SAMPLERS)} have)")
        grid = _Grid.for_noise(noise, int(self.n.max()))
        drawn = enlarged(noise, query.size, grid.rounding)
        proof = f"{noise.proof}; discrete on multiples of {grid}, scales enlarged for the rounding (OpenDP {version('opendp')})"
        self._pay(LedgerEntry.of(query.name, replace(drawn, proof=proof)))
        return np.stack([_sampled(drawn, run, grid, grid.tally(query, self._sample.rows(run), run)) for run in range(self.runs)])

    def until(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("the number of draws until an answer is accepted would show in the time it takes")

    def scan(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("noise on a whole domain of cells is drawn from a seed")

    def sparse(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("a sparse histogram is drawn from a seed")

    def unproven(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("it publishes noise without a proof")

    def reveal(self, what: str, compute: Callable[[Sample], Any], reason: str) -> NoReturn:
        _refuse(f"{what!r} is not private: {reason}")

    def leak(self, what: str, why: str, compute: Callable[[Sample], Any]) -> NoReturn:
        _refuse(f"{what!r} would leak: {why}")


def require() -> None:
    """Refuse where OpenDP is not installed."""
    if find_spec("opendp") is None:
        raise Refused(f"Secure noise needs OpenDP, which is not installed: {INSTALL}.")


def enlarged(noise: Noise, size: int, rounding: float) -> Noise:
    """The same noise with scales at which the bound also holds when every coefficient's change grows by ``rounding``."""
    inverse = np.broadcast_to(1 / noise.scale, (len(noise.scale), size))
    norms = inverse.sum(axis=1) if noise.law.norm == "L1" else np.sqrt(np.square(inverse).sum(axis=1))
    factor = 1 + rounding * norms / noise.bound + SLACK
    return replace(noise, scale=noise.scale * factor[:, None])


@dataclass(frozen=True)
class _Grid:
    """Multiples of 2^power; ``whole`` where answers are whole numbers and nothing is rounded."""

    power: int
    whole: bool = False

    @classmethod
    def for_noise(cls, noise: Noise, rows: int) -> _Grid:
        """The grid of a noise, by what is public: its scales and n."""
        low, high = (math.log2(float(edge)) for edge in (noise.scale.min(), noise.scale.max()))
        room = math.ceil(math.log2(max(rows, 2))) + ROW_BITS - 62
        if noise.law.name == "geometric":
            return cls(0, whole=True)
        power = max(FINEST, math.ceil(high) - SCALE_BITS, room)
        if noise.law.name == "gaussian" and low - power < NORMAL_BITS:
            _refuse(f"normal noise of scale {2**low:.3g} is too small for the grid 2^{power}: ask for a smaller ε")
        return cls(power)

    @property
    def rounding(self) -> float:
        """By how much rounding two rows can move a coefficient's change."""
        return 0.0 if self.whole else 2.0**self.power

    def __str__(self) -> str:
        return f"2^{self.power}"

    def tally(self, query: Query, rows: Rows, run: int) -> np.ndarray:
        """The sum of the rows' rounded contributions, in grid steps."""
        total = np.zeros(query.size, dtype=np.int64)
        most = 2.0**62 / max(rows.n, 1)
        for start in range(0, rows.n, CHUNK):
            chunk = Rows(rows.z[start : start + CHUNK], rows.geometry)
            steps = np.ldexp(query.contribution(chunk, run), -self.power)
            rounded = np.rint(steps)
            if not (np.abs(rounded) < most).all() or (self.whole and (rounded != steps).any()):
                raise ValueError(f"The contributions to {query.name!r} do not fit the grid of a secure release.")
            total += rounded.astype(np.int64).sum(axis=0)
        return total


def _sampled(noise: Noise, run: int, grid: _Grid, total: np.ndarray) -> np.ndarray:
    """One run's answer: one call of OpenDP for each scale."""
    scales = np.broadcast_to(noise.scale[run if len(noise.scale) > 1 else 0], total.shape)
    answer = np.empty(len(total))
    for scale in np.unique(scales):
        chosen = scales == scale
        sampler = _SAMPLERS[noise.law.name](int(chosen.sum()), math.ldexp(float(scale), -grid.power))
        drawn = sampler([int(steps) for steps in total[chosen]])
        answer[chosen] = np.ldexp(np.array(drawn, dtype=float), grid.power)
    return answer


@cache
def opendp() -> Any:
    """OpenDP's namespace: it takes a second to import, so only a release does."""
    require()
    prelude = import_module("opendp.prelude")
    prelude.enable_features("contrib")  # its discrete samplers are kept there; their proofs stand beside their code
    return prelude


def _integers(size: int) -> Any:
    return opendp().vector_domain(opendp().atom_domain(T="i64"), size=size)


def _laplace(size: int, scale: float) -> Any:
    return opendp().m.make_laplace(_integers(size), opendp().l1_distance(T="i64"), scale=scale)


def _gaussian(size: int, scale: float) -> Any:
    return opendp().m.make_gaussian(_integers(size), opendp().l2_distance(T="i64"), scale=scale)


_SAMPLERS: dict[str, Callable[[int, float], Any]] = {"laplace": _laplace, "geometric": _laplace, "gaussian": _gaussian}
"""By the law's name: how many whole numbers, and the scale in steps."""


class _Unseeded(Draws):
    """No streams: whatever would draw from a seed is refused."""

    def __init__(self) -> None:
        super().__init__(0, "", [(0, 0)])

    def for_run(self, run: int) -> Draws:
        return self

    def generator(self, *_: Any) -> NoReturn:
        _refuse("it draws from a seed")

    def standard(self, *_: Any) -> NoReturn:
        _refuse("it draws from a seed")


def _refuse(reason: str) -> NoReturn:
    raise Refused(f"Not with secure noise: {reason}.")
