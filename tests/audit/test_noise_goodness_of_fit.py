"""Noise that is the declared one passes as often as stated, and other noise fails. The seeds are fixed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from dpbench.accounting.costs import Gdp, Pure
from dpbench.audit.noise_goodness_of_fit import check_answer_noise, check_noise
from dpbench.privacy.noise import Gaussian, Geometric, KNorm, Laplace, Noise

LAWS = [Laplace(), Gaussian(), Geometric()]
REPETITIONS = 400
MAX_ALARMS = 13
"""P[Binomial(400, 0.01) > 13] = 6e-5."""


def unit_noise(law) -> Noise:
    return Noise(law, np.array([1.0]), 1.0, "exact")


def test_tests_of_noise_keep_their_false_alarms() -> None:
    """400 times 200 draws of three coefficients, at 1 %: at most 13 alarms."""
    alarms = 0
    for seed in range(REPETITIONS):
        generator = np.random.default_rng(seed)
        law = (Laplace(), Gaussian(), Geometric())[seed % 3]
        noise = Noise(law, np.array([0.5, 2.0, 3.0]), 1.0, "exact")
        draws = law.shape(law.standard(generator, 600).reshape(200, 3), noise.scale)
        alarms += bool(check_noise(noise, draws, 0.01, generator).violation)
    assert alarms <= MAX_ALARMS


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_every_law_fits_itself_and_no_other_scale(law) -> None:
    """20,000 draws at three scales, false alarm 1e-6; at 6 % more or less it is caught."""
    generator = np.random.default_rng(3)
    noise = Noise(law, np.array([0.7, 2.0, 30.0]), 1.3, "exact")
    standard = law.standard(generator, 60_000).reshape(-1, 3)
    assert not check_noise(noise, law.shape(standard, noise.scale), 1e-6, generator).violation
    for factor in (0.94, 1.06):
        assert check_noise(noise, law.shape(standard, factor * noise.scale), 1e-6, generator).violation


def test_k_norm_noise_fits_itself_and_neither_another_scale_nor_independent_draws() -> None:
    """20,000 joint draws, false alarm 1e-6. A single scale that is 15 % off is caught, and so are unrelated numbers."""
    generator, law = np.random.default_rng(3), KNorm()
    noise = Noise(law, np.array([0.7, 2.0, 30.0]), 1.3, "exact")
    standard = np.stack([law.standard(generator, 3) for _ in range(20_000)])
    assert not check_noise(noise, law.shape(standard, noise.scale), 1e-6, generator).violation
    for factor in (0.94, 1.06, np.array([1.0, 1.15, 1.0])):
        assert check_noise(noise, law.shape(standard, factor * noise.scale), 1e-6, generator).violation
    shuffled = np.column_stack([generator.permutation(column) for column in standard.T])
    assert check_noise(noise, law.shape(shuffled, noise.scale), 1e-6, generator).violation


def test_numbers_without_noise_and_numbers_off_the_integers_are_caught() -> None:
    generator = np.random.default_rng(4)
    draws = generator.laplace(size=(500, 4))
    draws[:, 2] = 0.0
    assert check_noise(unit_noise(Laplace()), draws, 1e-6, generator).violation
    whole = Noise(Geometric(), np.array([2.0]), 1.0, "exact")
    test = check_noise(whole, generator.laplace(size=(500, 1)), 1e-6, generator)
    assert test.test == "the values that the law can take"
    assert "is not the geometric noise declared: the values that the law can take, p = 0." in test.violation


def two_shared_columns(generator) -> np.ndarray:
    draws = generator.normal(size=(2_000, 20))
    draws[:, 19] = 0.3 * draws[:, 3] + np.sqrt(1 - 0.09) * draws[:, 19]
    return draws


def one_wrong_column(generator) -> np.ndarray:
    draws = generator.normal(size=(2_000, 20))
    draws[:, 7] *= 1.3
    return draws


def weakly_shared_draws(generator) -> np.ndarray:
    return np.sqrt(0.98) * generator.normal(size=(1_000, 50)) + np.sqrt(0.02) * generator.normal(size=(1_000, 1))


@pytest.mark.parametrize(
    ("draw", "test"),
    [
        (two_shared_columns, "a correlation"),
        (one_wrong_column, "a coefficient"),
        (weakly_shared_draws, "a run's sum"),
        (lambda generator: 1.05 * generator.normal(size=(2_000, 20)), "all draws together"),
    ],
)
def test_each_test_sees_what_the_other_three_cannot(draw, test) -> None:
    """At a false alarm of 1e-6, each fault is caught, and the test that it is made for gives the smallest p-value."""
    generator = np.random.default_rng(5)
    outcome = check_noise(unit_noise(Gaussian()), draw(generator), 1e-6, generator)
    assert outcome.test == test
    assert outcome.violation


def test_the_smallest_p_value_is_multiplied_by_the_number_of_tests() -> None:
    """A column of one coefficient has one test, and two coefficients have four."""
    draws = np.random.default_rng(6).laplace(size=(300, 1)) + 0.06
    (alone, shared) = (check_noise(unit_noise(Laplace()), draws[:, [0] * size], 1.0, np.random.default_rng(0)) for size in (1, 2))
    assert alone.p_value == pytest.approx(stats.kstest(draws[:, 0], "laplace").pvalue, rel=1e-9, abs=0)
    assert shared.test == "a correlation"
    independent = np.random.default_rng(6).laplace(size=(300, 2)) + 0.2
    outcome = check_noise(unit_noise(Laplace()), independent, 1.0, np.random.default_rng(0))
    assert outcome.test == "all draws together"
    assert outcome.p_value == pytest.approx(4 * stats.kstest(independent.ravel(), "laplace").pvalue, rel=1e-6, abs=0)


@pytest.mark.parametrize("factor", [0.5, 0.99])
def test_a_price_below_the_law_s_is_caught_even_if_the_draws_are_right(factor, faults) -> None:
    class Mispriced(faults.PluginLaplace):
        def cost(self, bound: float):
            return super().cost(factor * bound)

    generator = np.random.default_rng(7)
    outcome = check_noise(unit_noise(Mispriced()), generator.laplace(size=(500, 2)), 1e-6, generator)
    assert outcome.test == "the price that the law states"
    assert outcome.violation


def test_a_law_in_the_wrong_norm_is_caught(faults) -> None:
    class InL2(faults.PluginLaplace):
        norm = "L2"

    generator = np.random.default_rng(8)
    assert check_noise(unit_noise(InL2()), generator.laplace(size=(500, 2)), 1e-6, generator).violation


def test_a_p_value_is_a_violation_strictly_below_the_false_alarm() -> None:
    generator = np.random.default_rng(9)
    draws = generator.laplace(size=(300, 1))
    p_value = check_noise(unit_noise(Laplace()), draws, 0.5, generator).p_value
    assert 0.01 < p_value < 1
    assert not check_noise(unit_noise(Laplace()), draws, p_value, generator).violation
    assert check_noise(unit_noise(Laplace()), draws, np.nextafter(p_value, 1), generator).violation


def test_a_law_of_a_plugin_is_tested_against_the_distribution_function_that_it_brings(faults) -> None:
    """The Laplace law under another name passes, at two scales; a subclass is not taken for the law that it extends."""
    generator = np.random.default_rng(12)
    noise = Noise(faults.PluginLaplace(), np.array([0.7, 30.0]), 1.3, "exact")
    draws = generator.laplace(size=(5_000, 2)) * noise.scale
    assert check_noise(noise, draws, 1e-6, generator).p_value > 0.01
    assert check_noise(noise, 1.06 * draws, 1e-6, generator).test == "all draws together"
    with pytest.raises(ValueError, match="Narrow must have a name of its own"):
        unit_noise(type("Narrow", (Laplace,), {})())


def test_draws_outside_the_support_of_a_plugin_s_law_are_caught(faults) -> None:
    class Shy(faults.HonestlyTruncated):
        name = "shy"
        cost = staticmethod(lambda bound: Pure(100.0))

    generator = np.random.default_rng(13)
    draws = Shy().standard(generator, 2_000)[:, None]
    assert not check_noise(unit_noise(Shy()), draws, 1e-6, generator).violation
    draws[7] = 3.01
    assert check_noise(unit_noise(Shy()), draws, 1e-6, generator).test == "the values that the law can take"


@pytest.mark.parametrize("scale", [0.3, 7.0])
def test_the_price_of_a_plugin_s_law_is_computed_from_its_distribution_function(scale, faults) -> None:
    """Truncated at three scales no finite ε holds, normal noise has no pure ε below its far tail, and μ is exact."""

    class Normal(Gaussian):
        name = "plugin_normal"
        cdf = staticmethod(lambda x, scale: special.ndtr(x / scale))

    class Pretender(Normal):
        name = "pretender"
        cost = staticmethod(Pure)

    class Cheaper(Normal):
        name = "cheaper"
        cost = staticmethod(lambda bound: Gdp(0.99 * bound))

    def priced(law, size: int = 1) -> bool:
        noise = Noise(law, np.array([scale]), 1.0, "p")
        draws = law.shape(law.standard(np.random.default_rng(1), 400 * size).reshape(400, size), noise.scale)
        return "price" not in check_noise(noise, draws, 1e-9, np.random.default_rng(0)).test

    for size in (1, 40):
        assert priced(faults.PluginLaplace(), size)
        assert priced(Normal(), size)
        for law in (faults.HonestlyTruncated(), faults.Cheap(), Cheaper()):
            assert not priced(law, size)
    assert not priced(Pretender())


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.3])
def test_a_discrete_law_pays_for_moves_by_whole_numbers(epsilon, faults) -> None:
    """Half a step would tell any two shifted discrete laws apart; no answer in whole numbers moves by it."""

    class Cheaper(faults.PluginGeometric):
        cost = staticmethod(lambda bound: Pure(0.99 * bound))

    draws = Geometric().standard(np.random.default_rng(1), 4_000)
    for sensitivity in (1, 5):
        for size in (1, 4, 40):
            for law, passes in ((faults.PluginGeometric(), True), (Cheaper(), False)):
                noise = Noise(law, np.array([sensitivity / epsilon]), epsilon, "counts")
                outcome = check_noise(noise, law.shape(draws.reshape(-1, size), noise.scale), 1e-9, np.random.default_rng(0))
                assert ("price" not in outcome.test) == passes


def test_a_law_without_a_distribution_function_is_left_out(repeats, faults) -> None:
    noise = unit_noise(faults.Untestable())
    assert not noise.ledger_entry("sum").sound
    assert "brings no distribution function" in noise.ledger_entry("sum").proof
    assert unit_noise(faults.PluginLaplace()).ledger_entry("sum").sound
    assert check_answer_noise(repeats(np.zeros((2, 3, 1)), np.zeros((2, 1)), noise), 0.01, 0) == []


def test_noise_is_what_is_left_of_the_answers_on_both_tables(repeats) -> None:
    """A second table whose numbers are not noise on its own exact answer fails; where answers are selected, the law is tested."""
    noise = unit_noise(Laplace())
    exact = np.array([[0.0, 5.0], [3.0, 5.0]])
    numbers = exact[:, None] + np.random.default_rng(10).laplace(size=(2, 2_000, 2))
    (test,) = check_answer_noise(repeats(numbers, exact, noise), 1e-6, 0)
    assert (test.violation, test.draws) == ("", 8_000)
    (test,) = check_answer_noise(repeats(numbers, exact[[0, 0]], noise), 1e-6, 0)
    assert test.violation
    (test,) = check_answer_noise(repeats(numbers, exact[[0, 0]], noise, additive=False), 1e-6, 0)
    assert (test.violation, test.draws) == ("", 2_000)


def test_columns_and_pairs_of_columns_are_counted_in_the_p_value() -> None:
    """Bonferroni within a test: by the number of coefficients, and by the number of pairs of them, two-sided."""
    generator = np.random.default_rng(11)
    shifted = generator.normal(size=(400, 5))
    shifted[:, 2] += 0.3
    outcome = check_noise(unit_noise(Gaussian()), shifted, 1e-6, generator)
    assert outcome.test == "a coefficient"
    assert outcome.p_value == pytest.approx(4 * 5 * stats.kstest(shifted[:, 2], "norm").pvalue, rel=1e-6, abs=0)
    shared = generator.normal(size=(400, 3))
    shared[:, 2] = -0.5 * shared[:, 0] + np.sqrt(0.75) * shared[:, 2]
    outcome = check_noise(unit_noise(Gaussian()), shared, 1e-6, generator)
    assert outcome.test == "a correlation"
    assert outcome.p_value == pytest.approx(4 * 3 * stats.pearsonr(shared[:, 0], shared[:, 2]).pvalue, rel=1e-6, abs=0)
