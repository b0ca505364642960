"""Secure noise: the requested law, scales that leave room for rounding, exact sums, and refusals of everything else.

Its draws have no seed, so the tests of their law can fail by chance: with probability 1e-7 each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpbench.accounting.costs import Gdp, LedgerEntry, Pure
from dpbench.base.errors import Refused
from dpbench.contracts.mechanism import OneRunMechanism
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import scale
from dpbench.privacy import secure_noise as secure
from dpbench.privacy.ledger import Budget, Overspent
from dpbench.privacy.noise import Laplace, Noise, gaussian, geometric, laplace
from dpbench.privacy.queries.query import RowQuery, exact_answer
from dpbench.privacy.secure_noise import SecureCurator, enlarged
from dpbench.records.leaks import BOUNDS_FROM_DATA

pytest.importorskip("opendp", reason="OpenDP is not installed: pip install 'dp-regression-bench[secure]' (opendp)")

ALARM = 1e-7
STEP = 2.0**-32


@dataclass(frozen=True)
class Columns(RowQuery):
    """The sums of the design's columns, each repeated."""

    times: int = 1
    factor: float = 1.0
    name: str = "columns"
    width: int = 1

    @property
    def size(self) -> int:
        return self.times * self.width

    def contribution(self, rows: Any, run: int) -> np.ndarray:
        return np.tile(rows.x * self.factor, (1, self.times))


@pytest.fixture
def zeros(geometry, rows):
    return WholeSample(rows(geometry(1), np.zeros((3, 1)), np.zeros(3)))


def open_secure(sample: Any, epsilon: float = 1.0, currency: Any = "approx") -> SecureCurator:
    return SecureCurator(sample, Budget(epsilon, 1e-6, currency))


# -- the law ---------------------------------------------------------------------------------------------------------------

COUNT = 60_000


def has_law(values: np.ndarray, law: Any) -> bool:
    """By shape, and by scale: 5.4 standard errors of a standard deviation are 1.6 % (normal) and 2.5 % (Laplace) here."""
    _, variance, _, excess = law.stats(moments="mvsk")
    near = abs(values.std() / math.sqrt(variance) - 1) < 5.4 * math.sqrt((excess + 2) / (4 * len(values)))
    return bool(near and stats.kstest(values, law.cdf).pvalue > ALARM)


def drawn(sample: Any, noise: Noise) -> np.ndarray:
    return np.asarray(SecureCurator(sample, Budget(1e6, 0.5, "approx")).release(Columns(COUNT), noise)[0])


def test_laplace_noise_has_the_requested_law(zeros) -> None:
    noise = Noise(Laplace(), np.array([2.5]), 1.0, "p")
    assert has_law(drawn(zeros, noise) / 2.5, stats.laplace)


def test_normal_noise_has_the_requested_law(zeros) -> None:
    noise = gaussian(3.0, 0.5, "p")
    assert has_law(drawn(zeros, noise) / noise.scale[0, 0], stats.norm)


def test_geometric_noise_has_the_requested_law_and_is_whole(zeros) -> None:
    values = drawn(zeros, geometric(2, 0.8, "p"))
    assert (values == np.rint(values)).all()
    a = math.exp(-0.4)
    observed = [(values == 0).sum(), (np.abs(values) == 1).sum(), (np.abs(values) == 2).sum(), (np.abs(values) > 2).sum()]
    zero = (1 - a) / (1 + a)
    expected = np.array([zero, 2 * zero * a, 2 * zero * a * a, 2 * a**3 / (1 + a)])
    assert stats.chisquare(observed, expected * COUNT).pvalue > ALARM


def test_coefficients_are_independent_and_so_are_calls(zeros) -> None:
    """Correlations of as many pairs lie within 5.4 standard errors, except with probability 1e-7."""
    noise = Noise(Laplace(), np.array([1.0]), 1.0, "p")
    first, second = drawn(zeros, noise), drawn(zeros, noise)
    for a, b in ((first, second), (first[1:], first[:-1])):
        assert abs(np.corrcoef(a, b)[0, 1]) < 5.4 / math.sqrt(len(a))


def test_unequal_scales_reach_their_coefficients(zeros) -> None:
    scales = np.repeat([0.5, 40.0, 7.0], COUNT // 4)
    values = SecureCurator(zeros, Budget(1e6, 0.5)).release(Columns(len(scales)), Noise(Laplace(), scales, 1.0, "p"))[0]
    for value in (0.5, 40.0, 7.0):
        assert stats.kstest(values[scales == value] / value, stats.laplace.cdf).pvalue > ALARM


# -- the scales ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 105])
@pytest.mark.parametrize("sensitivity", [1e-3, 2.0, 338.0])
def test_the_enlarged_scale_is_the_closed_form_and_opendp_agrees(size: int, sensitivity: float) -> None:
    """s = (Δ₁ + d 2^k) / ε, and OpenDP's own map from a change in grid steps says no more than ε."""
    epsilon = 0.8
    made = enlarged(laplace(sensitivity, epsilon, "p"), size, STEP)
    assert made.scale[0, 0] == pytest.approx((sensitivity + size * STEP) / epsilon, rel=1e-11)
    assert made.bound == epsilon
    steps = math.floor(sensitivity / STEP) + size
    assert secure.measure("make_laplace", size, made.scale[0, 0] / STEP).map(steps) <= epsilon
    assert secure.measure("make_laplace", size, made.scale[0, 0] / STEP * (1 - 1e-6)).map(steps) > epsilon


@pytest.mark.parametrize("size", [1, 105])
def test_a_normal_scale_leaves_room_in_the_other_norm(size: int) -> None:
    made = enlarged(gaussian(2.0, math.sqrt(0.6), "p"), size, STEP)
    assert made.scale[0, 0] == pytest.approx((2.0 + math.sqrt(size) * STEP) / math.sqrt(0.6), rel=1e-11)
    steps = math.floor((2.0 + math.sqrt(size) * STEP) / STEP)
    assert secure.measure("make_gaussian", size, made.scale[0, 0] / STEP).map(steps) <= 0.3


def test_unequal_scales_keep_the_joint_bound_when_every_change_grows_by_a_step() -> None:
    generator = np.random.default_rng(0)
    for law, norm in ((laplace(1.0, 1.0, "p").law, 1), (gaussian(1.0, 1.0, "p").law, 2)):
        scales = generator.uniform(0.01, 10, (3, 7))
        made = enlarged(Noise(law, scales, 0.7, "p"), 7, 1e-3)
        for _ in range(200):
            change = generator.standard_normal((3, 7)) * (generator.random((3, 7)) < 0.5)
            change *= (0.7 / np.maximum(np.linalg.norm(change / scales, norm, axis=1), 1e-12))[:, None]
            assert (np.linalg.norm((np.abs(change) + 1e-3) / made.scale, norm, axis=1) <= 0.7 * (1 + 1e-12)).all()
        assert (made.scale < scales * 2.1).all()


def test_the_ledger_has_the_drawn_scale_and_the_requested_price(zeros) -> None:
    curator = open_secure(zeros, 0.5, "pure")
    curator.release(Columns(4), laplace(3.0, 0.5, "proof"))
    (entry,) = curator.ledger.entries
    assert (entry.cost, entry.sound, entry.noise) == (Pure(0.5), True, "laplace")
    assert entry.scale == (pytest.approx((3 + 4 * STEP) / 0.5, rel=1e-11),) * 2
    assert entry.scale[0] > 6.0
    assert entry.proof.startswith("proof; discrete on multiples of 2^-32")
    assert curator.ledger.total.epsilon == 0.5
    with pytest.raises(Overspent):
        curator.release(Columns(4), laplace(3.0, 0.01, "proof"))


@pytest.mark.parametrize("sigma", [4.0, 16.0, 64.0])
def test_a_discrete_normal_law_is_near_the_rounded_one(sigma: float) -> None:
    """In total variation within 1 / (12 σ²), with σ in steps: what a statement in μ leaves aside."""
    k = np.arange(-int(12 * sigma), int(12 * sigma) + 1)
    discrete = np.exp(-np.square(k) / (2 * sigma**2))
    rounded = np.diff(stats.norm.cdf(np.append(k - 0.5, k[-1] + 0.5) / sigma))
    distance = np.abs(discrete / discrete.sum() - rounded).sum() / 2
    assert 0.1 / (12 * sigma**2) < distance < 1 / (12 * sigma**2)


# -- the sums --------------------------------------------------------------------------------------------------------------


class _Still:
    """A sampler that adds nothing."""

    def __call__(self, values: list[int]) -> list[int]:
        return values


@pytest.fixture
def still(monkeypatch):
    """No noise: what is left are the sums."""
    monkeypatch.setattr(secure, "measure", lambda mechanism, size, scale: _Still())


@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_the_sums_of_scaled_rows_are_exact(scaling, make, table, still, curate) -> None:
    """Rows lie on a dyadic grid, so that rounding to 2^-32 changes nothing."""
    generator = np.random.default_rng(1)
    x = np.column_stack([generator.uniform(-1, 1, (20_000, 3)), np.eye(3)[generator.integers(3, size=20_000)]])
    sample = WholeSample(scale(table(x, generator.uniform(-1, 1, 20_000), (3,)), scaling, True, "real"))
    problem = make("model", "linear").prepare(curate(sample))
    for convention in ("monomial", "matrix", "code"):
        query = problem.polynomial(convention)
        answer = open_secure(sample).release(query, laplace(1.0, 1.0, "p"))
        np.testing.assert_array_equal(answer, exact_answer(query, sample))


def test_contributions_off_the_grid_are_rounded_row_by_row(geometry, rows, still) -> None:
    """So that exchanging one row moves the rounded sum by at most a step more than the exact one, whatever the others are."""
    generator = np.random.default_rng(2)
    x = generator.uniform(-1, 1, (5_000, 3))
    query = Columns(1, 1 / 3, width=3)
    whole = open_secure(WholeSample(rows(geometry(3), x, x[:, 0]))).release(query, laplace(1.0, 0.1, "p"))[0]
    assert (np.ldexp(whole, 32) == np.rint(np.ldexp(whole, 32))).all()
    for _ in range(50):
        other = x.copy()
        index = generator.integers(len(x))
        other[index] = generator.choice([-1.0, 1.0], 3)
        moved = open_secure(WholeSample(rows(geometry(3), other, x[:, 0]))).release(query, laplace(1.0, 0.1, "p"))[0] - whole
        assert (np.abs(moved) <= np.abs(other[index] - x[index]) / 3 + STEP).all()


def test_what_does_not_fit_the_grid_is_not_released(geometry, rows) -> None:
    sample = WholeSample(rows(geometry(1), np.ones((4, 1)), np.zeros(4)))
    for query, noise in (
        (Columns(1, 1e12), laplace(1.0, 0.1, "p")),
        (Columns(1, math.nan), laplace(1.0, 0.1, "p")),
        (Columns(1, 0.5), geometric(1, 0.1, "p")),
    ):
        with pytest.raises(ValueError, match="do not fit the grid"):
            open_secure(sample).release(query, noise)
    with pytest.raises(Refused, match="too small for the grid"):
        SecureCurator(sample, Budget(1e30, 0.5)).release(Columns(1), gaussian(1.0, 1e12, "p"))


# -- what is refused -------------------------------------------------------------------------------------------------------


class Sawtooth(Laplace):
    """A law that OpenDP does not know."""

    name = "sawtooth"


REFUSED: list[tuple[str, Any]] = [
    ("cryptographic sampler", lambda c, q: c.release(q, Noise(Sawtooth(), np.ones(1), 0.1, "p"))),
    ("not noise on a sum", lambda c, q: c.ask(None)),
    ("without a proof", lambda c, q: c.unproven(q, lambda exact, generator: exact, Pure(0.1), "r")),
    ("is not private", lambda c, q: c.reveal("the fit", lambda sample: sample.moments, "r")),
    ("would leak", lambda c, q: c.leak("penalty_by_cv", "w", lambda sample: sample.moments)),
    ("would show in the time", lambda c, q: c.until(q, laplace(1.0, 0.1, "p"), lambda run, answer: True)),
    ("from a seed", lambda c, q: c.scan(q, laplace(1.0, 0.1, "p"), 10)),
    ("from a seed", lambda c, q: c.sparse(q, geometric(1, 0.1, "p"), 1, 1)),
    ("from a seed", lambda c, q: c._draws.generator(0, "q", 0)),
    ("from a seed", lambda c, q: c._draws.standard(Laplace(), "q", 0, 1)),
    ("from a seed", lambda c, q: super(SecureCurator, c).release(q, laplace(1.0, 0.1, "p"))),
]


@pytest.mark.parametrize(("words", "call"), REFUSED)
def test_what_has_no_proof_or_no_sampler_is_refused(words: str, call: Any, zeros: Any) -> None:
    with pytest.raises(Refused, match=f"Not with secure noise: .*{words}"):
        call(open_secure(zeros), Columns(1))


def test_leaking_data_earlier_answers_and_seeds_are_refused(zeros) -> None:
    with pytest.raises(Refused, match="bounds_from_data"):
        SecureCurator(zeros, Budget(), [BOUNDS_FROM_DATA])
    with pytest.raises(Refused, match="drawn from a seed before"):
        SecureCurator(zeros, Budget(), (), [LedgerEntry("q", Gdp(0.1), True, "p")])
    with pytest.raises(TypeError):
        SecureCurator(zeros, Budget(), seed=3)


def test_without_opendp_the_line_to_install_it_is_shown(zeros, monkeypatch) -> None:
    from dpbench.cells.cell import Settings

    monkeypatch.setattr(secure, "find_spec", lambda name: None)
    for asked in (lambda: SecureCurator(zeros, Budget()), lambda: Settings(noise="secure")):
        with pytest.raises(Refused, match=r"pip install 'dp-regression-bench\[secure\]'"):
            asked()


# -- mechanisms --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OneByOne(OneRunMechanism):
    """Asks twice about the whole table and once without an attribute."""

    name = "one_by_one"
    guarantee = "ε-DP"

    def fit_run(self, curator: Any, problem: Any, budget: Any) -> np.ndarray:
        noise = laplace(1.0, budget.epsilon / 2, "p")
        return np.asarray(curator.release(Columns(width=2), noise) + curator.release(Columns(width=2), noise))


def test_curators_of_one_run_and_of_fewer_columns_are_secure_and_share_the_ledger(geometry, rows, make, repeated) -> None:
    sample = repeated(rows(geometry(2), np.ones((4, 2)), np.zeros(4)), 3)
    curator = open_secure(sample, 1.0, "pure")
    fit = OneByOne().fit(curator, make("model", "linear").prepare(curator), curator.ledger.budget)
    assert len(np.unique(fit.weights)) == 6
    assert [entry.cost for entry in curator.ledger.entries] == [Pure(0.5), Pure(0.5)]
    wide = open_secure(sample, 1.0, "pure")
    narrow = wide.without(["x0"])
    assert isinstance(narrow, SecureCurator)
    narrow.release(Columns(), laplace(1.0, 1.0, "p"))
    with pytest.raises(Overspent):
        wide.release(Columns(width=2), laplace(1.0, 0.1, "p"))


@pytest.mark.parametrize("name", ["fm", "dpba"])
def test_a_mechanism_fits_the_same_way_and_never_twice_the_same(name, make, table) -> None:
    """With next to no noise its weights are the exact ones, to the rounding of the scales."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (400, 2))
    sample = WholeSample(scale(table(x, x @ [0.4, -0.2]), "box", True, "real"))
    options = {"ridge": 0.0}

    def fitted(epsilon: float) -> np.ndarray:
        curator = SecureCurator(sample, replace(Budget(epsilon), currency="pure"))
        problem = make("model", "linear").prepare(curator)
        return np.asarray(make("mechanism", name, **options).fit(curator, problem, curator.ledger.budget).weights[0])

    np.testing.assert_allclose(fitted(1e7), [0.0, 0.4, -0.2], atol=1e-3)
    assert (fitted(1.0) != fitted(1.0)).all()


# -- the grid --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 1_000, 2**24, 2**30, 2**40])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 2.0**16, 2.0**17, 2.0**40, 1e30])
def test_sums_and_tails_fit_into_64_bits_on_the_finest_such_grid(rows: int, scale: float) -> None:
    """n rows of at most 2^6 make at most 2^62 steps, a scale at most 2^48, and nothing is finer than 2^-32."""
    step = secure._Grid.for_noise(Noise(Laplace(), np.array(scale), 1.0, "p"), rows).rounding
    limits = rows * 2**6 / step <= 2**62, scale / step <= 2**48, step >= STEP
    assert all(limits)
    finer = step / 2
    assert max(rows, 2) * 2**6 / finer > 2**62 or scale / finer > 2**48 or finer < STEP


@pytest.mark.parametrize("replaced", [1, 4])
def test_every_replaced_row_may_be_rounded_by_a_step(replaced: int) -> None:
    grid = secure._Grid.for_noise(Noise(Laplace(), np.array(1.0), 1.0, "p"), 100, replaced)
    assert grid.rounding == replaced * 2.0**grid.power


@pytest.mark.parametrize(("rows", "bits", "power"), [(10, 24, -32), (10, 23.5, -33), (10, 12, -44), (2**20, 12, None)])
def test_normal_noise_has_a_scale_of_at_least_2_to_the_24_steps(rows: int, bits: float, power: int | None) -> None:
    """So its grid is finer than that of the rows where the noise is small, as long as the sums of all rows fit into 64 bits."""
    noise = Noise(gaussian(1.0, 1.0, "p").law, np.array(2.0 ** (bits - 32)), 1.0, "p")
    if power is None:
        with pytest.raises(Refused, match="too small for the grid"):
            secure._Grid.for_noise(noise, rows)
    else:
        grid = secure._Grid.for_noise(noise, rows)
        assert grid.power == power
        assert float(noise.scale.min()) / 2.0**power >= 2**24
