"""Noise: a law, its scales, and the bound that they rest on; and standard draws, which cells that ask the same query share."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpbench.accounting.costs import Cost, Gdp, LedgerEntry, Pure
from dpbench.base.random_streams import long_stream, stream
from dpbench.base.read_only import read_only

Array = np.ndarray
Norm = Literal["L1", "L2", "Linf"]

MAX_CACHED_NUMBERS = 4_000_000
"""The standard draws that are cached for the next mechanism or ε, in numbers."""


class Law(ABC):
    """A noise law: how to make standard draws, how a scale shapes them, and what a bounded change costs.

    dpbench vouches for its own laws (:data:`CORE_LAWS`). Any other law must bring what an audit tests it against (``cdf``).
    """

    __slots__ = ()  # dpbench's laws have no state: no instance can bring functions of its own
    name: ClassVar[str]
    norm: ClassVar[Norm]
    excess_kurtosis: ClassVar[float] = 0.0
    """How heavy its tails are, next to those of the normal law: intervals need it."""
    joint: ClassVar[bool] = False
    """Whether the coefficients of one answer are drawn together. Then every coefficient needs a scale."""

    @abstractmethod
    def standard(self, generator: np.random.Generator, size: int) -> Array:
        """Return draws that depend on no scale, so that every mechanism and every ε can share them."""

    def standard_of_bins(self, generator: np.random.Generator, size: int) -> Array:
        """Return standard draws for the bins of a histogram, of which there may be millions: other draws of the same law."""
        return self.standard(generator, size)

    def shape(self, standard: Array, scale: Array) -> Array:
        """Return the noise of this scale, made from standard draws."""
        return np.asarray(standard * scale)

    @abstractmethod
    def cost(self, bound: float) -> Cost:
        """Return the price if neighbours move the exact answer, divided by the scale, by at most ``bound`` in ``norm``."""

    @abstractmethod
    def variance(self, scale: Array) -> Array:
        """Return the variance of the noise of this scale."""

    def cdf(self, x: Array, scale: Array) -> Array:
        """Return the probability that noise of this scale is at most ``x``. A discrete law takes whole numbers.

        A law of a plugin must define it: every audit tests its draws and price against this function. Without it, or with
        coefficients that are drawn together, audits cannot test a law, and its answers carry no proof.
        """
        raise NotImplementedError(f"The law {self.name!r} has no distribution function.")


class PureLaw(Law):
    """A law whose price is the bound itself, as pure ε."""

    __slots__ = ()
    norm: ClassVar[Norm] = "L1"

    def cost(self, bound: float) -> Cost:
        return Pure(bound)


class Laplace(PureLaw):
    """Density exp(-abs(x) / scale) / (2 scale)."""

    __slots__ = ()
    name = "laplace"
    excess_kurtosis = 3.0

    def standard(self, generator: np.random.Generator, size: int) -> Array:
        return generator.laplace(size=size)

    def standard_of_bins(self, generator: np.random.Generator, size: int) -> Array:
        # an exponential draw with a random sign: four times faster than inverting the distribution function
        draws = generator.standard_exponential(size)
        bits = np.unpackbits(np.frombuffer(generator.bytes(-(-size // 8)), dtype=np.uint8), count=size)
        draws *= 1 - 2 * bits.view(np.int8)
        return draws

    def variance(self, scale: Array) -> Array:
        return np.asarray(2 * np.square(scale))


class Geometric(PureLaw):
    """The two-sided geometric law: probability proportional to exp(-abs(x) / scale) on the integers (Ghosh et al. 2009)."""

    __slots__ = ()
    name = "geometric"

    def standard(self, generator: np.random.Generator, size: int) -> Array:
        return generator.uniform(-1, 1, size=size)

    def shape(self, standard: Array, scale: Array) -> Array:
        # the tail P[|X| >= k] = 2 a^k / (1 + a) with a = exp(-1 / scale), inverted at a uniform |u|
        tail = np.maximum(np.abs(standard), np.finfo(float).tiny) * (1 + np.exp(-1 / scale)) / 2
        return np.asarray(np.copysign(np.floor(-np.log(tail) * scale), standard) + 0.0)

    def variance(self, scale: Array) -> Array:
        a = np.exp(-1 / np.asarray(scale))
        return np.asarray(2 * a / (1 - a) ** 2)


class KNorm(PureLaw):
    """Density proportional to exp(-max abs(x_j) / scale_j): a radius Gamma(d + 1) times a uniform point of the cube [-1, 1]^d.

    It is the K-norm mechanism of Hardt and Talwar 2010 for a box of changes. ``variance`` needs the scales of all d coefficients.
    """

    __slots__ = ()
    name = "knorm"
    norm = "Linf"
    joint = True

    def standard(self, generator: np.random.Generator, size: int) -> Array:
        return generator.standard_gamma(size + 1) * generator.uniform(-1, 1, size=size)

    def variance(self, scale: Array) -> Array:
        size = scale.shape[-1]
        return np.asarray(np.square(scale) * (size + 1) * (size + 2) / 3)


class Gaussian(Law):
    """The normal law; ``scale`` is its standard deviation. It costs μ = bound in GDP, which is exact."""

    __slots__ = ()
    name = "gaussian"
    norm = "L2"

    def standard(self, generator: np.random.Generator, size: int) -> Array:
        return generator.standard_normal(size)

    def cost(self, bound: float) -> Cost:
        return Gdp(bound)

    def variance(self, scale: Array) -> Array:
        return np.asarray(np.square(scale))


CORE_LAWS: tuple[type[Law], ...] = (Laplace, Geometric, KNorm, Gaussian)
"""The laws that dpbench vouches for. A subclass of one of them is another law."""


def is_testable(law: Law) -> bool:
    """Return whether audits can test a law: dpbench knows it, or it brings the function of independent coefficients."""
    return type(law) in CORE_LAWS or (type(law).cdf is not Law.cdf and not law.joint)


@dataclass(frozen=True)
class Noise:
    """One joint release: ``bound`` is the supremum of ‖change / scale‖ over neighbours, in the law's norm."""

    law: Law
    scale: Array
    """(1 | runs, 1 | coefficients)"""
    bound: float
    proof: str

    def __post_init__(self) -> None:
        scale = np.atleast_2d(np.array(self.scale, dtype=float))  # a copy: nobody else can change what was paid for
        if not (np.isfinite(scale).all() and (scale > 0).all()):
            raise ValueError("A noise's scales must be finite and positive.")
        if not (np.isfinite(self.bound) and self.bound > 0):
            raise ValueError(f"A noise's bound must be finite and positive. Got {self.bound} instead.")
        if not self.proof.strip():
            raise ValueError("A noise's proof must say why its bound holds. Use curator.unproven for noise without a proof.")
        if type(self.law) not in CORE_LAWS and self.law.name in {law.name for law in CORE_LAWS}:
            raise ValueError(f"The law {type(self.law).__name__} must have a name of its own. Got {self.law.name!r} instead.")
        object.__setattr__(self, "scale", read_only(scale))
        object.__setattr__(self, "bound", float(self.bound))

    @property
    def cost(self) -> Cost:
        """The price of the release."""
        return self.law.cost(float(self.bound))

    def scale_of(self, run: int) -> Array:
        """Return the scales of one run: (1 | coefficients,)."""
        return np.asarray(self.scale[run if len(self.scale) > 1 else 0])

    @property
    def measure(self) -> str:
        """What the bound is called."""
        return f"{self.law.norm} sensitivity"

    def moved(self, one: Array, other: Array, run: int | None = None) -> Array:
        """Return how far apart exact answers are, in units of what the price pays for: (…,).

        Arrays are (runs, coefficients), or with ``run`` any number of answers for this run.
        """
        change = (one - other) / (self.scale if run is None else self.scale_of(run))
        return length(change, self.law.norm) / self.bound

    @property
    def sensitivity(self) -> float | None:
        """The sensitivity in the answer's own unit; None if the coefficients have different scales."""
        low, high = float(self.scale.min()), float(self.scale.max())
        return float(self.bound) * high if low == high else None

    def ledger_entry(self, query: str) -> LedgerEntry:
        """Return the ledger's entry of one answer with this noise."""
        law, scale = self.law, (float(self.scale.min()), float(self.scale.max()))
        entry = LedgerEntry(query, self.cost, True, self.proof, law.norm, law.name, self.sensitivity, self.bound, scale)
        why = "draws its coefficients together" if law.joint else "brings no distribution function"
        unproven = replace(entry, sound=False, proof=f"unproven: {type(law).__name__} {why}. {self.proof}")
        return entry if is_testable(law) else unproven


def length(change: Array, norm: Norm) -> Array:
    """Return the norm of each change, along the last axis."""
    return np.asarray(np.linalg.norm(change, {"L1": 1, "L2": 2, "Linf": np.inf}[norm], axis=-1))


def plain_noise(noise: Noise) -> Noise:
    """Return the same noise, made anew, so that nothing but its law, scales, bound and proof counts."""
    if type(noise) is not Noise:
        raise TypeError(f"A release needs a Noise itself, not a subclass. Got {type(noise).__name__} instead.")
    return Noise(noise.law, noise.scale, noise.bound, noise.proof)


def laplace(sensitivity: float, epsilon: float, proof: str) -> Noise:
    """Return Laplace noise for an L1 sensitivity: scale = sensitivity / ε (Dwork et al. 2006)."""
    return _equal_scales(Laplace(), sensitivity, epsilon, proof)


def geometric(sensitivity: int, epsilon: float, proof: str) -> Noise:
    """Return two-sided geometric noise for integer answers: P[x + 1] / P[x] = exp(-ε / L1 sensitivity) for x >= 0."""
    return _equal_scales(Geometric(), sensitivity, epsilon, proof)


def gaussian(sensitivity: float, mu: float, proof: str) -> Noise:
    """Return Gaussian noise for an L2 sensitivity: standard deviation = sensitivity / μ, which is μ-GDP (and μ²/2-zCDP)."""
    return _equal_scales(Gaussian(), sensitivity, mu, proof)


def _equal_scales(law: Law, sensitivity: float, bound: float, proof: str) -> Noise:
    """Return noise with one scale for every coefficient, at which the sensitivity is worth ``bound``."""
    for what, value in (("sensitivity", sensitivity), ("budget", bound)):
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"A {law.name} noise's {what} must be finite and positive. Got {value} instead.")
    return Noise(law, np.array([sensitivity / bound]), bound, proof)


class Draws:
    """Standard draws: noise of scale 1 by name, so that cells that ask the same query of the same run get the same noise.

    The names are (seed, data, repeat, fold, stream of the query, call), and all cells of a work unit share the draws.
    """

    def __init__(self, seed: int, identity: str, runs: Sequence[tuple[int, int]]) -> None:
        self.seed = seed
        self.identity = identity
        self.runs = tuple(runs)
        self._cache: dict[tuple[str, int, type[Law], int], Array] = {}
        self._cached_numbers = 0

    def generator(self, run: int, query: str, call: int) -> np.random.Generator:
        """Return the stream of one run for one call."""
        repeat, fold = self.runs[run]
        return stream(self.seed, self.identity, "noise", repeat, fold, query, call)

    def generator_of_bins(self, run: int, query: str, call: int, block: int = 0) -> np.random.Generator:
        """Return the stream of one run for one block of a histogram's bins."""
        repeat, fold = self.runs[run]
        return long_stream(self.seed, self.identity, "noise", repeat, fold, query, call, block)

    def standard(self, law: Law, query: str, call: int, size: int) -> Array:
        """Return (runs, size) standard draws of a law. Only those of the core's own laws are cached for other cells."""
        key = (query, call, type(law), size)
        if type(law) in CORE_LAWS and key in self._cache:
            return self._cache[key]
        drawn = np.stack([law.standard(self.generator(run, query, call), size) for run in range(len(self.runs))])
        read_only(drawn)
        if type(law) in CORE_LAWS and self._cached_numbers + drawn.size <= MAX_CACHED_NUMBERS:
            self._cache[key] = drawn
            self._cached_numbers += drawn.size
        return drawn

    def altered(self) -> bool:
        """Return whether a cached draw is no longer the one that its names give."""
        fresh = Draws(self.seed, self.identity, self.runs)
        return any(
            not np.array_equal(drawn, fresh.standard(law(), query, call, size))
            for (query, call, law, size), drawn in self._cache.items()
        )

    def for_run(self, run: int) -> "Draws":
        """Return the same streams for a single run."""
        return Draws(self.seed, self.identity, self.runs[run : run + 1])
