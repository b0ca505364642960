"""DPBA: the published split, and the optimal one."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.scaling import scale


@pytest.fixture
def scales(make, curate, geometry, rows):
    """b_q and b_l of the noise that a fit on D numeric columns draws."""

    def noise_of(D: int, epsilon: float = 1.0, model: str = "linear", scaling: str = "box", **options):
        target = "binary" if model == "logistic" else "real"
        curator = curate(rows(geometry(D, scaling=scaling, target=target), np.zeros((3, D)), np.zeros(3)), epsilon=epsilon)
        problem = make("model", model, intercept=False).prepare(curator)
        make("mechanism", "dpba", **options).fit(curator, problem, curator.ledger.budget)
        scale = curator.tape[0].noise.scale[0]
        query = problem.polynomial().with_square()
        quadratic, linear = scale[: query.quadratic_size], scale[query.quadratic_size : query.quadratic_size + D]
        np.testing.assert_array_equal(scale, query.scales(quadratic[0], linear[0]))
        assert np.ptp(quadratic) == np.ptp(linear) == 0
        return float(quadratic[0]), float(linear[0])

    return noise_of


@pytest.fixture
def published(scales):
    """The same with the sensitivities that Fang et al. print."""
    return functools.partial(scales, sensitivity="fang")


@pytest.mark.parametrize("D", [3, 13])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_a_number_is_fang_s_share(D, epsilon, published) -> None:
    quadratic, linear = published(D, epsilon, alpha=0.3)
    assert quadratic == pytest.approx(2 * D * D / (0.3 * epsilon), rel=1e-12)
    assert linear == pytest.approx(4 * D / (0.7 * epsilon), rel=1e-12)


def test_the_published_share_starves_the_linear_coefficients(published) -> None:
    """d = 13: α = 0.99955, b_1 = 338/ε, b_2 = 114,296/ε."""
    quadratic, linear = published(13, alpha="paper")
    f1, f2 = 2 * 13**2, 4 * 13
    assert f1 / quadratic == pytest.approx(f1 * f1 / (f1 * f1 + f2), rel=1e-12)
    assert linear == pytest.approx(f1 * f1 + f2, rel=1e-6)


def test_below_equal_sensitivities_the_published_share_is_mirrored(published) -> None:
    """D = 1: f1 = 2 < f2 = 4, so the linear share is β f2 / (f2² + f1) at β = f2."""
    quadratic, linear = published(1, alpha="paper")
    assert 4 / linear == pytest.approx(16 / 18, rel=1e-12)
    assert 2 / quadratic == pytest.approx(2 / 18, rel=1e-12)


def test_beta_scales_the_published_share_and_is_refused_beyond_its_range(published) -> None:
    f1, f2 = 2 * 13**2, 4 * 13
    assert f1 / published(13, alpha="paper", beta=10.0)[0] == pytest.approx(10 * f1 / (f1 * f1 + f2), rel=1e-12)
    with pytest.raises(Refused, match=r"range \(0, 338\.154\)"):
        published(13, alpha="paper", beta=400.0)


def test_the_optimal_scales_are_the_known_ones(scales) -> None:
    """D = 13, linear, ε = 1, R = 1: about b_q = 215, b_l = 129."""
    quadratic, linear = scales(13)
    assert quadratic == pytest.approx(215, abs=1)
    assert linear == pytest.approx(129, abs=1)


@pytest.mark.parametrize("radius", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("D", [2, 13])
def test_no_other_ratio_of_the_scales_does_less_damage(D, radius, scales) -> None:
    """Against a fine grid of ratios r, with the closed form of the joint supremum (6.3 e)."""
    ratio = np.geomspace(1e-4, 1e4, 200_001)
    linear = np.where(ratio <= D, (D / np.sqrt(ratio) + np.sqrt(ratio)) ** 2, 4 * D)

    def damage(quadratic, other):
        return radius**2 * (D + 3) / 4 * quadratic**2 + D / 4 * other**2

    assert damage(*scales(D, radius=radius)) == pytest.approx(damage(ratio * linear, linear).min(), rel=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.2, "best"])
def test_a_share_outside_its_range_is_refused(alpha, make) -> None:
    with pytest.raises(Refused, match="The 'alpha' option of dpba must be"):
        make("mechanism", "dpba", alpha=alpha)


@pytest.mark.parametrize("D", [3, 12, 13])
def test_for_logistic_regression_the_blocks_are_a_quarter_of_d_squared_and_three_d(D, published) -> None:
    """And the published share flips at D = 13, where D²/4 exceeds 3D: .0270 below, .9786 above."""
    f1, f2 = D * D / 4, 3.0 * D
    quadratic, linear = published(D, 2.0, "logistic", alpha=0.3)
    assert quadratic == pytest.approx(f1 / 0.6, rel=1e-12)
    assert linear == pytest.approx(f2 / 1.4, rel=1e-12)
    alpha = f1 / published(D, model="logistic", alpha="paper")[0]
    assert alpha == pytest.approx(f1**2 / (f1**2 + f2) if f1 > f2 else f1 / (f2**2 + f1), rel=1e-12)
    assert alpha == pytest.approx({3: 0.0270, 12: 0.0270, 13: 0.9786}[D], abs=6e-5)


def test_in_the_other_branch_beta_is_mirrored(published) -> None:
    """ε₂/ε = β f2/(f2² + f1), which at β = f2 is the printed else-branch."""
    f1, f2 = 9.0, 18.0
    quadratic, linear = published(6, model="logistic", alpha="paper", beta=5.0)
    assert f2 / linear == pytest.approx(5 * f2 / (f2**2 + f1), rel=1e-12)
    assert f1 / quadratic == pytest.approx(1 - 5 * f2 / (f2**2 + f1), rel=1e-12)
    with pytest.raises(Refused, match=r"range \(0, 18\.5\)"):
        published(6, model="logistic", alpha="paper", beta=19.0)


@pytest.mark.parametrize("epsilon_1", [0.05, 0.9, 1.95])
@pytest.mark.parametrize("alpha", ["opt", "paper", 0.5])
def test_epsilon_1_overrides_the_share(epsilon_1, alpha, published) -> None:
    """Their figures 3 and 4: ε₁ of ε on the axis."""
    quadratic, linear = published(13, 2.0, alpha=alpha, epsilon_1=epsilon_1)
    assert quadratic == pytest.approx(338 / epsilon_1, rel=1e-12)
    assert linear == pytest.approx(52 / (2.0 - epsilon_1), rel=1e-12)


@pytest.mark.parametrize("epsilon_1", [2.0, 2.5])
def test_an_epsilon_1_that_leaves_nothing_is_refused(epsilon_1, scales) -> None:
    with pytest.raises(
        Refused, match=rf"The 'epsilon_1' option of dpba must be a float in the range \(0, 2\).* Got {epsilon_1:g} "
    ):
        scales(13, 2.0, epsilon_1=epsilon_1)
    with pytest.raises(Refused, match="The 'epsilon_1' option of dpba must be"):
        scales(13, 2.0, epsilon_1=0.0)


@pytest.mark.parametrize("radius", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("D", [2, 13])
def test_for_logistic_regression_the_optimal_ratio_does_the_least_damage(D, radius, scales) -> None:
    """Against a fine grid, with the logistic twin of the joint supremum; ‖w‖ is guessed at 2 R."""
    ratio = np.geomspace(1e-4, 1e4, 200_001)
    linear = np.where(ratio <= D / 2, (D / (2 * np.sqrt(ratio)) + np.sqrt(ratio)) ** 2 / 2, D)

    def damage(quadratic, other):
        return (2 * radius) ** 2 * (D + 3) / 4 * quadratic**2 + D / 4 * other**2

    assert damage(*scales(D, model="logistic", radius=radius)) == pytest.approx(damage(ratio * linear, linear).min(), rel=1e-6)


@pytest.mark.parametrize("radius", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("D", [2, 13])
def test_in_the_corner_the_norm_is_guessed_at_sqrt_d_times_the_radius(D, radius, scales) -> None:
    """A feature of at most 1/√D needs √D times the weight. Against a fine grid, with √D for D in the joint supremum."""
    ratio, s = np.geomspace(1e-4, 1e4, 200_001), np.sqrt(D)
    linear = np.where(ratio <= s, (s / np.sqrt(ratio) + np.sqrt(ratio)) ** 2, 4 * s)

    def damage(quadratic, other):
        return D * radius**2 * (D + 3) / 4 * quadratic**2 + D / 4 * other**2

    assert damage(*scales(D, scaling="corner", radius=radius)) == pytest.approx(damage(ratio * linear, linear).min(), rel=1e-6)


def test_the_damage_is_the_mean_square_of_half_the_noise_s_gradient(make, curate, geometry, rows, repeated) -> None:
    """2 (R² (D + 3)/4 b_q² + D/4 b_l²) at any w of norm R: over 20,000 runs, to 5.5 standard errors. False alarm 1e-6."""
    D, generator = 4, np.random.default_rng(0)
    sample = repeated(rows(geometry(D), np.zeros((3, D)), np.zeros(3)), 20_000)
    for radius in (0.5, 2.0):
        curator = curate(sample)
        problem = make("model", "linear", intercept=False).prepare(curator)
        make("mechanism", "dpba", alpha=0.4).fit(curator, problem, curator.ledger.budget)
        (answer,) = curator.tape
        query = problem.polynomial()
        noise = query.quadratic(answer.noisy, sample.n)
        w = generator.normal(size=(20_000, D))
        w *= radius / np.linalg.norm(w, axis=1, keepdims=True)
        half = np.einsum("rij,rj->ri", noise.matrix, w) + noise.linear / 2
        squares = np.square(half).sum(axis=1)
        b_q, b_l = answer.noise.scale[0, 0], answer.noise.scale[0, query.quadratic_size]
        expected = 2 * (radius**2 * (D + 3) / 4 * b_q**2 + D / 4 * b_l**2)
        assert abs(squares.mean() - expected) < 5.5 * squares.std() / np.sqrt(len(squares))


@pytest.mark.parametrize("model", ["linear", "ridge", "lasso", "elastic_net", "logistic"])
@pytest.mark.parametrize("options", [{"alpha": "opt"}, {"alpha": 0.4}, {"epsilon_1": 1e13}], ids=str)
def test_as_epsilon_grows_it_approaches_the_fit_without_noise(model, options, make, curate, table) -> None:
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (300, 4))
    target = "binary" if model == "logistic" else "real"
    sample = scale(table(x, np.tanh(x.sum(axis=1)), threshold=0.2), "box", True, target)
    limit = make("mechanism", "truncated" if model == "logistic" else "no_privacy")
    weights = []
    for mechanism in (limit, make("mechanism", "dpba", **options)):
        curator = curate(sample, epsilon=1e14)
        weights.append(mechanism.fit(curator, make("model", model).prepare(curator), curator.ledger.budget).weights[0])
    np.testing.assert_allclose(weights[1], weights[0], rtol=0, atol=1e-6)


def damages(D: int, radius: float, quadratic: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """W1 b_q² + W2 b_l², the damage up to its factor 2."""
    return radius**2 * (D + 3) / 4 * quadratic**2 + D / 4 * linear**2


@pytest.mark.parametrize("radius", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("D", [2, 13])
@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_no_other_share_of_two_releases_does_less_damage(model, D, radius, scales, published) -> None:
    """The cube-root rule against a fine grid of α; one joint release of the same mechanism does less damage still."""
    f1, f2, unit = (2 * D * D, 4 * D, 1) if model == "linear" else (D * D / 4, 3 * D, 2)
    share = np.linspace(1e-5, 1 - 1e-5, 200_001)
    least = damages(D, unit * radius, f1 / share, f2 / (1 - share)).min()
    quadratic, linear = published(D, model=model, radius=radius)
    assert f1 / quadratic + f2 / linear == pytest.approx(1.0, rel=1e-12)
    assert damages(D, unit * radius, quadratic, linear) == pytest.approx(least, rel=1e-6)
    assert damages(D, unit * radius, *scales(D, model=model, radius=radius)) < least


@pytest.mark.parametrize(
    "options", [{"alpha": 0.2}, {"alpha": 0.9}, {"alpha": "paper"}, {"alpha": "paper", "beta": 3.0}, {"epsilon_1": 0.3}]
)
@pytest.mark.parametrize(("model", "D"), [("linear", 1), ("linear", 13), ("logistic", 3), ("logistic", 13)])
def test_the_tight_rule_keeps_the_ratio_of_a_share_and_adds_less_noise(model, D, options, scales, published) -> None:
    """Both scales shrink by the factor by which the two printed bounds exceed the joint supremum (6.3 e)."""
    b_q, b_l = published(D, model=model, **options)
    ratio, size = b_q / b_l, D if model == "linear" else D / 2
    if model == "linear":
        supremum = (D / b_q**0.5 + b_q**0.5 / b_l) ** 2 if ratio <= size else 4 * D / b_l
    else:
        supremum = (D / (2 * b_q**0.5) + b_q**0.5 / b_l) ** 2 / 2 if ratio <= size else D / b_l
    assert supremum < 1
    assert scales(D, model=model, **options) == pytest.approx((b_q * supremum, b_l * supremum), rel=1e-12)


@pytest.mark.parametrize("sensitivity", ["paper", "code"])
def test_a_rule_that_its_paper_does_not_have_is_refused(sensitivity, make, geometry) -> None:
    mechanism = make("mechanism", "dpba", sensitivity=sensitivity)
    reason = mechanism.unsupported(make("model", "linear"), geometry(2))
    assert (
        reason
        == f"dpba does not fit linear: its sensitivity must be fang (as its paper prints it) or tight. Got {sensitivity} instead."
    )
    assert make("mechanism", "dpba", sensitivity="fang").unsupported(make("model", "linear"), geometry(2)) is None
