"""DPBA: the published split, and the optimal one."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.errors import Refused


@pytest.fixture
def scales(make, curate, geometry, rows):  # type: ignore[no-untyped-def]
    """b_q and b_l of the noise that a fit on D numeric columns draws."""

    def found(D: int, epsilon: float = 1.0, **options):  # type: ignore[no-untyped-def]
        curator = curate(rows(geometry(D), np.zeros((3, D)), np.zeros(3)), epsilon=epsilon)
        problem = make("model", "linear", intercept=False).prepare(curator)
        make("mechanism", "dpba", **options).fit(curator, problem, curator.ledger.budget)
        scale = curator.tape[0].noise.scale[0]
        quadratic, linear = scale[: problem.polynomial().quadratic_size], scale[problem.polynomial().quadratic_size :]
        assert len(linear) == D
        assert np.ptp(quadratic) == np.ptp(linear) == 0
        return float(quadratic[0]), float(linear[0])

    return found


@pytest.mark.parametrize("D", [3, 13])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_a_number_is_fang_s_share(D, epsilon, scales) -> None:  # type: ignore[no-untyped-def]
    quadratic, linear = scales(D, epsilon, alpha=0.3)
    assert quadratic == pytest.approx(2 * D * D / (0.3 * epsilon), rel=1e-12)
    assert linear == pytest.approx(4 * D / (0.7 * epsilon), rel=1e-12)


def test_the_published_share_starves_the_linear_coefficients(scales) -> None:  # type: ignore[no-untyped-def]
    """d = 13: α = 0.99955, b_1 = 338/ε, b_2 = 114,296/ε."""
    quadratic, linear = scales(13, alpha="paper")
    f1, f2 = 2 * 13**2, 4 * 13
    assert f1 / quadratic == pytest.approx(f1 * f1 / (f1 * f1 + f2), rel=1e-12)
    assert linear == pytest.approx(f1 * f1 + f2, rel=1e-6)


def test_below_equal_sensitivities_the_published_share_is_mirrored(scales) -> None:  # type: ignore[no-untyped-def]
    """D = 1: f1 = 2 < f2 = 4, so the linear share is β f2 / (f2² + f1) at β = f2."""
    quadratic, linear = scales(1, alpha="paper")
    assert 4 / linear == pytest.approx(16 / 18, rel=1e-12)
    assert 2 / quadratic == pytest.approx(2 / 18, rel=1e-12)


def test_beta_scales_the_published_share_and_is_refused_beyond_its_range(scales) -> None:  # type: ignore[no-untyped-def]
    f1, f2 = 2 * 13**2, 4 * 13
    assert f1 / scales(13, alpha="paper", beta=10.0)[0] == pytest.approx(10 * f1 / (f1 * f1 + f2), rel=1e-12)
    with pytest.raises(Refused, match=r"range \(0, 338\.154\)"):
        scales(13, alpha="paper", beta=400.0)


def test_the_optimal_scales_are_the_known_ones(scales) -> None:  # type: ignore[no-untyped-def]
    """D = 13, linear, ε = 1, R = 1: about b_q = 215, b_l = 129."""
    quadratic, linear = scales(13)
    assert quadratic == pytest.approx(215, abs=1)
    assert linear == pytest.approx(129, abs=1)


@pytest.mark.parametrize("radius", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("D", [2, 13])
def test_no_other_ratio_of_the_scales_does_less_damage(D, radius, scales) -> None:  # type: ignore[no-untyped-def]
    """Against a fine grid of ratios r, with the closed form of the joint supremum (6.3 e)."""
    ratio = np.geomspace(1e-4, 1e4, 200_001)
    linear = np.where(ratio <= D, (D / np.sqrt(ratio) + np.sqrt(ratio)) ** 2, 4 * D)

    def damage(quadratic, other):  # type: ignore[no-untyped-def]
        return radius**2 * (D + 3) / 4 * quadratic**2 + D / 4 * other**2

    assert damage(*scales(D, radius=radius)) == pytest.approx(damage(ratio * linear, linear).min(), rel=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.2, "best"])
def test_a_share_outside_its_range_is_refused(alpha, make) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Refused, match="The 'alpha' option of dpba must be"):
        make("mechanism", "dpba", alpha=alpha)
