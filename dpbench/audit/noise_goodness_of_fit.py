"""Goodness of fit: is the noise that was drawn the declared noise, in law, scale, price and independence?

A built-in law is looked up by its class, and what the class says about itself is not trusted. A law of a plugin is tested against
the distribution function F that it brings: its draws must follow F, and shifts of F must not tell more than the law's price.
Each draw x becomes a uniform number, F(x), or a random point of the jump of F at x. Four tests follow, with Bonferroni's
correction: all numbers together, each coefficient alone (Kolmogorov and Smirnov, exact law), the sum over the coefficients of
each run, and the largest correlation of two coefficients (Student's t, exact for normal numbers).

The component level tests answers that it repeats on two tables. A law of a plugin is also tested by draws of its own, at every
level: a replay repeats no draw, so it cannot see that a law draws or costs something else than it says.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its modules are imported when they are first used: that takes half a second, and a replay needs none of them

from dpbench.accounting.costs import noise_cost
from dpbench.audit.epsilon_lower_bound import least_privacy_loss
from dpbench.audit.repeated_answers import RepeatedAnswers
from dpbench.audit.same_state import same_state
from dpbench.audit.subject import AuditSubject, ClaimedPrivacy
from dpbench.base.errors import Refused
from dpbench.base.random_streams import stream
from dpbench.privacy.calls import Answer
from dpbench.privacy.noise import CORE_LAWS, Gaussian, Geometric, KNorm, Laplace, Law, Noise, Norm, is_testable, length

MAX_CORRELATED = 60
"""Coefficients whose correlations are tested: the first ones."""
MIN_MASS = 1e-6
"""Events of less probability do not count against a price: floating-point distribution functions are not more exact."""
MASS_ROUNDING = 1e-12
PRICE_SLACK = 1e-3
"""A price may be this much too small, relatively: the rounding of distribution functions."""
PRICE_DELTA = 1e-6
"""The δ at which a price is compared that is neither pure ε nor μ."""
WHOLE_ROUNDING = 1e-9
"""A sensitivity that is this close to a whole number, relatively, is that number: it is computed from a bound and a scale."""
LAW_FALSE_ALARM = 1e-6
"""The probability, at most, that the tests of a fit's plugin laws fail laws that are what they say."""
LAW_RUNS = 5_000
"""Draws of all plugin laws of a fit, each of LAW_COEFFICIENTS coefficients: a scale that is 6 % off is found."""
LAW_COEFFICIENTS = 20
PRICE_TEST = "the price that the law states"
VALUES_TEST = "the values that the law can take"

Cdf = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Return P[X <= x] for numbers and their scales."""


@dataclass(frozen=True)
class NoiseTest:
    """The goodness of fit of one answer's noise."""

    answer: str
    law: str
    draws: int
    p_value: float
    """The smallest p-value of the tests, times their number."""
    test: str
    """The test that gave it."""
    false_alarm: float

    @property
    def violation(self) -> str:
        """What is wrong with the noise, in a sentence; empty if the tests passed."""
        if self.p_value >= self.false_alarm:
            return ""
        return f"The noise of {self.answer!r} is not the {self.law} noise declared: {self.test}, p = {self.p_value:.2g}."


def check_answer_noise(repeats: RepeatedAnswers, false_alarm: float, seed: int) -> list[NoiseTest]:
    """Test the noise of one call; return nothing where its law cannot be tested, so that the ledger has no proof.

    Where answers are selected (drawn until accepted, or in a summary), draws from the law itself are tested.
    """
    noise, name = repeats.answer.noise, repeats.answer.query
    if not isinstance(noise, Noise) or not is_testable(noise.law):
        return []
    if repeats.additive:
        draws = (repeats.numbers - repeats.exact[:, None]).reshape(-1, repeats.numbers.shape[2])
    else:
        runs, size = repeats.numbers.shape[1], noise.scale.shape[1]
        generator = stream(seed, "audit, law", name)
        standard = np.stack([noise.law.standard(generator, size) for _ in range(runs)])
        draws = noise.law.shape(standard, noise.scale[:1])
    return [check_noise(noise, draws, false_alarm, stream(seed, "audit, ties", name), name)]


def check_plugin_laws(tape: Sequence[Answer], subject: AuditSubject) -> list[NoiseTest]:
    """Test each law of a plugin on a tape: the price of every answer, and draws with the scales of all its answers together."""
    groups: list[list[tuple[Answer, Noise]]] = []
    for answer in tape:
        noise = getattr(answer.noise, "noise", answer.noise)  # a procedure may add noise to something else than a sum
        if not isinstance(noise, Noise) or type(noise.law) in CORE_LAWS or not is_testable(noise.law):
            continue
        key = answer.call.method == "scan", noise.law  # bins have draws of their own
        group = next((group for group in groups if same_state(key, (group[0][0].call.method == "scan", group[0][1].law))), [])
        groups += [] if group else [group]
        group.append((answer, noise))
    try:
        with np.errstate(all="ignore"):
            return [_check_plugin_law(group, subject, len(groups)) for group in groups]
    except Exception as error:
        raise Refused(f"A law of {subject.mechanism.name} cannot be tested: it ends with {type(error).__name__}.") from error


def _check_plugin_law(group: Sequence[tuple[Answer, Noise]], subject: AuditSubject, laws: int) -> NoiseTest:
    """Test one of the plugin laws of a fit, on the answers that it adds noise to. Laws and answers share the draws equally."""
    false_alarm, runs = LAW_FALSE_ALARM / laws, max(LAW_RUNS // laws // len(group), 1)
    streams, tables, scales = subject.draws("plugin law", runs), [], []
    for number, (answer, noise) in enumerate(group):
        law, name = noise.law, answer.call.query.name
        problem = "" if _price_of_plugin_holds(noise, 1 if noise is not answer.noise else answer.call.query.size) else PRICE_TEST
        if _is_whole(law, float(noise.scale.max())) and not _has_whole_values(answer):
            problem = "it takes whole numbers only, and the exact answer is not one"
        if problem:
            return NoiseTest(answer.query, law.name, 0, 0.0, problem, false_alarm)
        if answer.call.method == "scan":
            bins = (streams.generator_of_bins(run, name, number) for run in range(runs))
            standard = np.stack([law.standard_of_bins(generator, LAW_COEFFICIENTS) for generator in bins])
        else:
            standard = streams.standard(law, name, number, LAW_COEFFICIENTS)
        scale = np.resize(noise.scale[0], (1, LAW_COEFFICIENTS))
        tables.append(np.asarray(law.shape(standard, scale), dtype=float).reshape(runs, LAW_COEFFICIENTS))
        scales.append(np.repeat(scale, runs, axis=0))
    draws, scale = np.concatenate(tables), np.concatenate(scales)
    (answer, noise), ties = group[0], stream(subject.settings.seed, "audit, ties of laws").random(draws.shape)
    return _test_of(answer.query, noise.law, draws, _fit_p_values(noise.law.cdf, draws, scale, ties), false_alarm)


def _has_whole_values(answer: Answer) -> bool:
    """Return whether an exact answer consists of whole numbers, as counts do; the result of a procedure need not."""
    exact = answer.exact
    return isinstance(answer.noise, Noise) and not (isinstance(exact, np.ndarray) and (exact != np.round(exact)).any())


def check_noise(noise: Noise, draws: np.ndarray, false_alarm: float, ties: np.random.Generator, answer: str = "") -> NoiseTest:
    """Test draws (runs, coefficients) that are declared to be independent; ``ties`` draws points of the jumps of F."""
    scale = np.broadcast_to(noise.scale, draws.shape)
    known = DECLARED_LAWS.get(type(noise.law))
    cdf = noise.law.cdf if known is None else known.cdf
    if not (_price_of_plugin_holds(noise, draws.shape[1]) if known is None else _price_is_known(noise, known)):
        p_values = {PRICE_TEST: 0.0}
    else:
        if known is not None and known.independent is not None:
            draws, scale = known.independent(draws / scale), np.ones(draws.shape)
        p_values = _fit_p_values(cdf, draws, scale, ties.random(draws.shape), known is not None and known.whole)
    return _test_of(answer, noise.law, draws, p_values, false_alarm)


def _fit_p_values(cdf: Cdf, draws: np.ndarray, scale: np.ndarray, ties: np.ndarray, whole: bool = False) -> dict[str, float]:
    """Return the p-value of each test of draws against a distribution function; 0 where it cannot give one of them."""
    uniform = _uniform(cdf, draws, scale, ties)
    possible = np.isfinite(uniform) & (draws == np.round(draws) if whole else True)
    return _p_values(uniform) if possible.all() else {VALUES_TEST: 0.0}


def _test_of(answer: str, law: Law, draws: np.ndarray, p_values: dict[str, float], false_alarm: float) -> NoiseTest:
    test = min(p_values, key=lambda name: p_values[name])
    return NoiseTest(answer, law.name, draws.size, min(1.0, len(p_values) * p_values[test]), test, false_alarm)


@dataclass(frozen=True)
class DeclaredLaw:
    """What dpbench knows of a built-in law."""

    norm: Norm
    cdf: Cdf
    whole: bool = False
    """Whether the law lives on the integers."""
    independent: Callable[[np.ndarray], np.ndarray] | None = None
    """For a law of joint draws in scales: returns as many independent ones, each of which has the distribution function."""


def _geometric_cdf(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return P[X <= x], where P[X = k] = (1 - a)/(1 + a) a^|k| on the integers."""
    a, k = np.exp(-1 / scale), np.floor(x)
    return np.asarray(np.where(k < 0, a ** np.maximum(-k, 0) / (1 + a), 1 - a ** (np.maximum(k, 0) + 1) / (1 + a)))


def _independent_parts(draws: np.ndarray) -> np.ndarray:
    """Return independent numbers, uniform on [-1, 1], for K-norm draws in scales.

    The largest of d numbers |x_j| has the law Gamma(d), and gives the first column. The others are uniform relative to it.
    """
    runs, size = draws.shape
    at = np.abs(draws).argmax(axis=1)
    largest = np.abs(draws).max(axis=1)
    others = draws[np.arange(size) != at[:, None]].reshape(runs, size - 1)
    return np.column_stack([2 * scipy.special.gammainc(size, largest) - 1, others / largest[:, None]])


DECLARED_LAWS: dict[type[Law], DeclaredLaw] = {
    Laplace: DeclaredLaw("L1", lambda x, scale: scipy.stats.laplace.cdf(x, scale=scale)),
    Geometric: DeclaredLaw("L1", _geometric_cdf, whole=True),
    KNorm: DeclaredLaw("Linf", lambda x, scale: np.clip((1 + x / scale) / 2, 0, 1), independent=_independent_parts),
    Gaussian: DeclaredLaw("L2", lambda x, scale: scipy.special.ndtr(x / scale)),
}


def _uniform(cdf: Cdf, x: np.ndarray, scale: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """Return P[X < x] + ties P[X = x]; NaN where the law cannot give x."""
    below, until = (np.asarray(cdf(values, scale)) for values in (np.nextafter(x, -np.inf), x))
    return np.where((until > 0) & (below < 1), below + ties * (until - below), np.nan)


def _price_is_known(noise: Noise, known: DeclaredLaw) -> bool:
    return noise.law.norm == known.norm and noise.cost == noise_cost(noise.law.name, float(noise.bound))


def _price_of_plugin_holds(noise: Noise, size: int) -> bool:
    """Return whether no interval tells two shifted laws apart by more than the price, as far as its probability can be computed.

    The bound is moved to one coefficient, and shared equally by all. Then k coefficients lose k times ε, or √k times μ.
    """
    delta = 0.0 if noise.cost.kind == "pure" else PRICE_DELTA
    claim = ClaimedPrivacy.of([noise.cost], delta)
    price = claim.epsilon if claim.mu is None else claim.mu
    for scale in {float(noise.scale.min()), float(noise.scale.max())}:
        for count, move in _worst_moves(noise, scale, size if claim.mu is not None or delta == 0 else 1):
            together = count if claim.mu is None else math.sqrt(count)
            if together * _largest_loss(noise.law.cdf, scale, move, claim) > price * (1 + PRICE_SLACK):
                return False
    return True


def _worst_moves(noise: Noise, scale: float, size: int) -> list[tuple[int, float]]:
    """Return how many coefficients move, and how far each: one by the whole bound, and all by an equal share.

    Where answers are whole numbers, they move by whole numbers: as many coefficients as the bound allows move by 1.
    """
    reach, norm = noise.bound * scale, noise.law.norm
    if not _is_whole(noise.law, scale):
        return [(count, reach / float(length(np.ones(count), norm))) for count in {1, size}]
    steps = math.floor(reach * (1 + WHOLE_ROUNDING))
    if norm == "Linf" or not steps:
        return [(size, float(steps))]
    movable = math.floor((reach if norm == "L1" else reach**2) * (1 + WHOLE_ROUNDING))
    return [(1, float(steps)), (min(size, movable), 1.0)]


def _is_whole(law: Law, scale: float) -> bool:
    """Return whether a law takes whole numbers only: its distribution function does not rise between them."""
    steps = np.arange(-3.0, 4.0)[:, None]
    values = np.asarray(law.cdf(steps + np.array([0.0, 0.25, 0.5, 0.999]), np.full((7, 4), scale)))
    return bool((values == values[:, :1]).all())


def _largest_loss(cdf: Cdf, scale: float, move: float, claim: ClaimedPrivacy) -> float:
    """Return the largest privacy loss of an interval between the law and the law moved by this much, in either direction."""
    tails = np.geomspace(1e-3, 60, 300) * scale
    ends = np.unique(np.concatenate([shift + np.concatenate([-tails, [0.0], tails]) for shift in (-move, 0.0, move)]))
    here, there = (np.concatenate([[0.0], cdf(ends - shift, np.full(ends.shape, scale)), [1.0]]) for shift in (0.0, move))
    losses = [-math.inf]
    for first, second in ((here, there), (there, here)):
        # the intervals between neighbouring ends, and both sides of each end
        p, q = (np.concatenate([np.diff(table), table, 1 - table]) for table in (first, second))
        counted = p > MIN_MASS
        most = np.minimum(q[counted] + MASS_ROUNDING, 1.0)
        losses.append(float(least_privacy_loss(p[counted] - MASS_ROUNDING, most, claim).max()))
    return max(losses)


def _p_values(uniform: np.ndarray) -> dict[str, float]:
    size = uniform.shape[1]
    p_values = {"all draws together": _kolmogorov_smirnov(uniform.ravel())}
    if size > 1:
        p_values["a coefficient"] = min(1.0, size * min(_kolmogorov_smirnov(column) for column in uniform.T))
        normal = scipy.special.ndtri(np.clip(uniform, 1e-300, 1 - 1e-16))
        p_values["a run's sum"] = _kolmogorov_smirnov(scipy.special.ndtr(normal.sum(axis=1) / math.sqrt(size)))
        p_values["a correlation"] = _correlation(normal[:, :MAX_CORRELATED])
    return p_values


def _kolmogorov_smirnov(uniform: np.ndarray) -> float:
    return float(scipy.stats.ks_1samp(uniform, scipy.stats.uniform.cdf, method="exact").pvalue)


def _correlation(normal: np.ndarray) -> float:
    """Return the probability of so large a correlation between any two columns."""
    runs, size = normal.shape
    if runs < 3:
        return 1.0
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = np.abs(np.corrcoef(normal, rowvar=False)[np.triu_indices(size, 1)])
        # a column without any spread has no correlation: that is as wrong as perfect correlation
        largest = float(np.nan_to_num(correlations, nan=1.0).max())
        t = largest * math.sqrt((runs - 2) / max(1 - largest**2, 1e-300))
    return float(min(1.0, 2 * len(correlations) * scipy.stats.t.sf(t, runs - 2)))
