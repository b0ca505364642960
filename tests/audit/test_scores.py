"""Scores tell two tables apart where the numbers alone do not."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.accounting.costs import Pure
from dpbench.audit import scores as scores_module
from dpbench.audit.epsilon_lower_bound import epsilon_lower_bound
from dpbench.audit.scores import Scores, answer_scores, append_learned_rule, append_range_scores
from dpbench.audit.subject import ClaimedPrivacy
from dpbench.privacy.noise import Gaussian, Laplace, Noise


def test_a_rule_is_learned_where_no_single_number_tells() -> None:
    """Two numbers whose sum alone differs between the tables."""
    generator = np.random.default_rng(2)
    common = generator.normal(0, 50, (2, 4_000, 1))
    own = generator.standard_normal((2, 4_000, 1)) + 4 * np.arange(2)[:, None, None]
    scores, claim = Scores(np.concatenate([common, own - common], axis=2), ("a", "b")), ClaimedPrivacy(0.1, 0.0)
    assert epsilon_lower_bound(scores, claim, 0.01).epsilon < 1
    assert epsilon_lower_bound(append_learned_rule(scores), claim, 0.01).epsilon > 1


def test_the_rule_is_learned_on_the_first_half_alone() -> None:
    values = np.random.default_rng(0).normal(size=(2, 400, 2))
    changed = values.copy()
    changed[:, 200:] += 7
    rules = [append_learned_rule(Scores(numbers, ("a", "b"))).values[:, :200, -1] for numbers in (values, changed)]
    np.testing.assert_array_equal(*rules)


def test_a_rule_of_numbers_that_are_not_finite_is_finite() -> None:
    values = np.random.default_rng(0).normal(size=(2, 400, 2))
    values[:, ::3, 0], values[:, ::5, 1] = np.nan, np.inf
    learned = append_learned_rule(Scores(values, ("a", "b")))
    assert np.isfinite(learned.values).all()
    assert learned.names == ("a", "b", "learned rule")
    assert append_learned_rule(Scores(np.empty((2, 400, 0)), ())).names == ()


@pytest.mark.parametrize(("law", "power"), [(Laplace(), 1), (Gaussian(), 2)])
def test_the_likelihood_ratio_is_that_of_the_declared_law(law, power, repeats) -> None:
    """Laplace: |z| - |z - move|; normal: (z² - (z - move)²) / 2, both summed over the numbers, with z in scales."""
    exact, scale = np.array([[0.0, 0.0], [1.0, -3.0]]), np.array([2.0, 0.5])
    numbers = np.random.default_rng(0).normal(size=(2, 50, 2))
    ratio = answer_scores(repeats(numbers, exact, Noise(law, scale, 1.0, "p"))).values[..., -1]
    near, far = (np.abs((numbers - table) / scale) ** power / power for table in exact)
    np.testing.assert_allclose(ratio, (near - far).sum(axis=2), atol=1e-6)


def test_atoms_of_a_ratio_are_not_split_by_rounding(repeats) -> None:
    """Far above both exact answers the ratio of Laplace noise is one number, whatever the rounding of x - exact."""
    numbers = np.random.default_rng(0).uniform(50, 100, (2, 500, 3))
    exact = np.array([[0.1, 0.2, 0.3], [0.7, 0.6, 0.5]])
    ratio = answer_scores(repeats(numbers, exact, Noise(Laplace(), np.array([0.3]), 1.0, "p"))).values[..., -1]
    assert len(np.unique(ratio)) == 1


def test_the_numbers_that_moved_furthest_in_scales_are_scores(monkeypatch, repeats) -> None:
    monkeypatch.setattr(scores_module, "MAX_NUMBERS", 2)
    exact = np.array([[0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 9.0, 4.0]])
    noise = Noise(Laplace(), np.array([0.1, 1.0, 9.0, 1.0]), 1.0, "p")
    numbers = np.random.default_rng(0).normal(size=(2, 20, 4))
    ranges = ("excess over the range of table 0", "excess over the range of table 1")
    scores = answer_scores(repeats(numbers, exact, noise)).names
    assert (*scores[:4], scores[-1]) == ("number 0", "number 3", *ranges, "likelihood")
    assert sum(name.endswith(("noise without table 0", "noise without table 1")) for name in scores) == len(scores) - 5 == 6
    assert answer_scores(repeats(numbers, exact, noise, additive=False)).names == ("number 0", "number 3", *ranges)
    assert answer_scores(repeats(numbers, 0 * exact, noise)).names == ()


def test_noise_that_must_be_positive_definite_is_seen_in_the_least_eigenvalue(repeats) -> None:
    """I plus a positive definite matrix minus 2 I may be indefinite: only the second table explains what is below 2 I."""
    generator = np.random.default_rng(0)
    square = generator.normal(size=(2, 400, 2, 2))
    exact = np.stack([np.eye(2), 2 * np.eye(2)])
    numbers = (exact[:, None] + square @ np.swapaxes(square, 2, 3)).reshape(2, 400, 4)
    scores = answer_scores(repeats(numbers, exact.reshape(2, 4)))
    least = scores.values[..., -2:]
    assert (least[0, :, 0] >= 0).all()
    assert (least[1, :, 1] >= 0).all()
    assert 0.2 < (least[0, :, 1] < 0).mean() < 1
    assert epsilon_lower_bound(scores, ClaimedPrivacy.of([Pure(1.0)], 0.0), 0.01).epsilon > 1
    assert not any("eigenvalue" in name for name in answer_scores(repeats(numbers[:, :, :3], exact.reshape(2, 4)[:, :3])).names)


def test_what_bounded_noise_cannot_give_on_one_table_is_an_event(repeats, faults) -> None:
    """Laplace noise truncated at three scales on 40 numbers that share the change: ε = 1 is claimed, and none holds.

    A number alone moves by a fortieth of a scale. All together exceed three scales with a probability of about 2.5 %.
    """
    noise = Noise(faults.Untestable(), np.array([1.0]), 1.0, "p")
    exact = np.stack([np.zeros(40), np.tile([1 / 40, -1 / 40], 20)])
    generator = np.random.default_rng(0)
    numbers = exact[:, None] + faults.Untestable().standard(generator, 2 * 20_000 * 40).reshape(2, 20_000, 40)
    scores = answer_scores(repeats(numbers, exact, noise))
    claim = ClaimedPrivacy.of([Pure(1.0)], 0.0)
    bound = epsilon_lower_bound(scores, claim, 1e-4)
    assert bound.epsilon > 1.5
    assert bound.event.startswith("largest absolute noise without table")
    support = [number for number, name in enumerate(scores.names) if "noise without" in name or "excess" in name]
    others = [number for number in range(len(scores.names)) if number not in support]
    without = Scores(scores.values[..., others], tuple(scores.names[number] for number in others))
    assert epsilon_lower_bound(without, claim, 1e-4).epsilon < bound.epsilon - 0.25


def test_ranges_show_values_that_one_table_never_gives() -> None:
    """Of thirty bounded weights any may leave its range on the second table, each rarely."""
    generator = np.random.default_rng(0)
    values = generator.uniform(-1, 1, (2, 8_000, 30))
    values[1] *= np.where(generator.random((8_000, 30)) < 0.002, 2.0, 1.0)
    plain = Scores(values, tuple(f"w{number}" for number in range(30)))
    claim = ClaimedPrivacy(1.0, 0.0)
    bound = epsilon_lower_bound(append_range_scores(plain), claim, 1e-4)
    assert bound.event.startswith("excess over the range of table 0 >")
    assert bound.epsilon > 1 > epsilon_lower_bound(plain, claim, 1e-4).epsilon


def test_ranges_are_learned_from_other_runs_of_the_first_half() -> None:
    values = np.random.default_rng(0).normal(size=(2, 400, 2))
    changed = values.copy()
    changed[:, 200:] += 7
    scores = [append_range_scores(Scores(numbers, ("a", "b"))).values[..., -2:] for numbers in (values, changed)]
    np.testing.assert_array_equal(scores[0][:, :200], scores[1][:, :200])
    assert (scores[0][0, :200, 0] > 0).any(), "a run is not compared with itself"
    assert np.isfinite(append_range_scores(Scores(np.full((2, 8, 1), np.inf), ("a",))).values[..., 1:]).all()
    assert append_range_scores(Scores(np.empty((2, 400, 0)), ())).names == ()


def test_at_most_sixty_numbers_are_scores(repeats) -> None:
    exact = np.stack([np.zeros(70), np.arange(70.0)])
    names = answer_scores(repeats(np.zeros((2, 5, 70)), exact, Noise(Laplace(), np.array([1.0]), 70.0, "p"))).names
    assert sum(name.startswith("number ") for name in names) == 60
    assert names[0] == "number 69"


def test_the_learned_coefficients_maximise_the_likelihood_with_an_l2_penalty_of_one_half() -> None:
    """Where the gradient of log-likelihood - |w|²/2 is zero: eight Newton steps get there."""
    generator = np.random.default_rng(0)
    x, y = generator.uniform(-1, 1, (300, 4)), np.repeat([0.0, 1.0], 150)
    x[150:] += 0.5
    coefficients = scores_module._logistic_coefficients(x, y)
    gradient = x.T @ (y - 1 / (1 + np.exp(-x @ coefficients))) - coefficients
    np.testing.assert_allclose(gradient, 0, atol=1e-9)
    assert np.abs(coefficients).max() > 0.5
