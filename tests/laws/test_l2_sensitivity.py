"""Weighted moments move by no more than their bounds, and by exactly as much at the attaining pairs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from dpbench.data.scaling import Rows
from dpbench.privacy.ledger import Budget
from dpbench.privacy.queries.query import contributions
from dpbench.privacy.queries.weighted_moments import WeightedMoments
from dpbench.privacy.replay import ReplayCurator

KAPPA = 5.0
SHAPES = {"1 column": (1, ()), "2 columns": (2, ()), "5 columns": (5, ()), "groups": (0, (2, 3)), "mixed": (3, (3, 2))}


def weighted(geometry: Any, weights: np.ndarray | float) -> WeightedMoments:
    """Rows that weigh what they are told to."""
    state = np.zeros((1, geometry.dimension))
    return WeightedMoments(geometry, lambda residuals: weights * np.ones(len(residuals)), state, KAPPA)


def moves(geometry: Any, first: Rows, second: Rows, s: Any, t: Any) -> tuple[np.ndarray, np.ndarray]:
    """‖change‖₁ of the released numbers, and (‖change of B‖_F² + ‖change of A‖²)^½ from whole matrices, pair by pair."""
    query = weighted(geometry, s)
    change = contributions(query, first, 0) - contributions(weighted(geometry, t), second, 0)
    x, y = np.sqrt(s)[:, None] * first.x, np.sqrt(s) * first.y
    v, w = np.sqrt(t)[:, None] * second.x, np.sqrt(t) * second.y
    B = x[:, :, None] * x[:, None] - v[:, :, None] * v[:, None]
    A = x * y[:, None] - v * w[:, None]
    euclidean = np.sqrt(np.square(B).sum(axis=(1, 2)) + np.square(A).sum(axis=1))
    shaped = np.sqrt(np.square(change / query.spread(1.0)).sum(axis=1))
    np.testing.assert_allclose(shaped, euclidean, rtol=1e-12, atol=1e-12)
    return np.abs(change).sum(axis=1), euclidean


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scaling", ["box", "ball"])
@pytest.mark.parametrize("intercept", [False, True])
def test_no_neighbours_of_any_weights_move_more_than_the_bounds(shape, scaling, intercept, geometry, adversary) -> None:
    """20,000 random pairs, then the worst of them nudged 60 times, rows and weights, once for each norm."""
    numeric, groups = SHAPES[shape]
    parts = numeric + len(groups) + intercept
    g = geometry(numeric, groups, intercept, scaling, constant=1.0 if scaling == "box" else parts**-0.5)
    rng = np.random.default_rng(0)
    near = adversary.neighbours(g, rng)
    query = weighted(g, KAPPA)
    for norm, bound in enumerate((query.l1_bound, query.l2_bound)):
        first, second = near.rows(20_000), near.rows(20_000)
        s, t = KAPPA * np.minimum(1, rng.uniform(0, 2, (2, 20_000)))
        worst = moves(g, first, second, s, t)[norm]
        assert worst.max() <= bound * (1 + 1e-12)
        kept = np.argsort(worst)[-200:]
        first, second, s, t, best = first.take(kept), second.take(kept), s[kept], t[kept], worst[kept]
        for _ in range(60):
            a, b = near.nudged(first), near.nudged(second)
            u, v = np.clip(np.stack([s, t]) + rng.normal(0, 0.1 * KAPPA, (2, 200)), 0, KAPPA)
            now = moves(g, a, b, u, v)[norm]
            better = now > best
            first = Rows(np.where(better[:, None], a.z, first.z), g)
            second = Rows(np.where(better[:, None], b.z, second.z), g)
            s, t, best = np.where(better, u, s), np.where(better, v, t), np.maximum(best, now)
        assert best.max() <= bound * (1 + 1e-12)
        assert best.max() >= (0.9 if scaling == "box" else 0.55) * bound, "the search found nothing to worry about"


@pytest.mark.parametrize("D", [1, 2, 3, 4, 5, 13])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_box_s_l2_bound_is_met(D, intercept, geometry, rows) -> None:
    """(1, …, 1), y = 1 against half the signs turned, y = -1: κ√(2M(M + 1)), M = columns and intercept."""
    g = geometry(D, intercept=intercept)
    M = D + intercept
    same = (M + 1) // 2 - intercept
    other = np.r_[np.ones(same), -np.ones(D - same)]
    full = np.full(1, KAPPA)
    euclidean = moves(g, rows(g, np.ones(D), 1), rows(g, other, -1), full, full)[1]
    assert euclidean[0] == pytest.approx(KAPPA * np.sqrt(2 * M * (M + 1)), rel=1e-12)
    assert weighted(g, KAPPA).l2_bound == pytest.approx(euclidean[0], rel=1e-12)


@pytest.mark.parametrize(("numeric", "groups"), [(0, (2, 2)), (2, (3,)), (3, (2, 3)), (1, (2, 2, 2))])
def test_one_hot_groups_count_once_each(numeric, groups, geometry, rows) -> None:
    """Every level changed, half of the numeric signs turned: met with groups for columns."""
    g = geometry(numeric, groups)
    one, two = [np.concatenate([np.eye(size)[level] for size in groups]) for level in (0, 1)]
    signs = np.r_[np.ones((numeric + 1) // 2), -np.ones(numeric // 2)]
    first, second = rows(g, np.r_[np.ones(numeric), one], 1), rows(g, np.r_[signs, two], -1)
    full, M = np.full(1, KAPPA), numeric + len(groups)
    assert moves(g, first, second, full, full)[1][0] == pytest.approx(KAPPA * np.sqrt(2 * M * (M + 1)), rel=1e-12)
    assert weighted(g, KAPPA).l2_bound == pytest.approx(KAPPA * np.sqrt(2 * M * (M + 1)), rel=1e-12)


def test_a_grid_of_every_row_agrees_with_the_box_s_l2_bound(geometry) -> None:
    """All pairs of rows of {-1, -½, 0, ½, 1}³ and both signs of y."""
    g = geometry(3)
    grid = np.array(list(product([-1, -0.5, 0, 0.5, 1], repeat=3)))
    i, j = np.divmod(np.arange(len(grid) ** 2), len(grid))
    full = np.full(len(i), KAPPA)
    worst = 0.0
    for y in (-1.0, 1.0):
        first, second = (
            Rows(np.column_stack([full / KAPPA, grid[at], full / KAPPA * target]), g) for at, target in ((i, 1.0), (j, y))
        )
        worst = max(worst, moves(g, first, second, full, full)[1].max())
    assert worst == pytest.approx(KAPPA * np.sqrt(24), rel=1e-12)


@pytest.mark.parametrize("D", [2, 3, 10])
def test_the_ball_s_l2_bound_is_met(D, geometry, rows) -> None:
    """Unit rows at 60 degrees, y and -y: κ√4.5."""
    g = geometry(D, scaling="ball")
    first, second = np.eye(D)[0], 0.5 * np.eye(D)[0] + np.sqrt(0.75) * np.eye(D)[1]
    full = np.full(1, KAPPA)
    euclidean = moves(g, rows(g, first, 1), rows(g, second, -1), full, full)[1]
    assert weighted(g, KAPPA).l2_bound == pytest.approx(euclidean[0], rel=1e-12)
    assert euclidean[0] == pytest.approx(KAPPA * np.sqrt(4.5), rel=1e-12)


@pytest.mark.parametrize("D", [1, 2, 5, 13])
def test_the_box_s_l1_bound_is_met(D, geometry, rows) -> None:
    """x' = 1/(D + 1) everywhere: κ((D² + 3D)/2 + D/(2(D + 1)))."""
    g = geometry(D)
    full = np.full(1, KAPPA)
    absolute = moves(g, rows(g, np.ones(D), 1), rows(g, np.full(D, 1 / (D + 1)), -1), full, full)[0]
    assert absolute[0] == pytest.approx(KAPPA * ((D * D + 3 * D) / 2 + D / (2 * (D + 1))), rel=1e-12)
    assert weighted(g, KAPPA).l1_bound == pytest.approx(absolute[0], rel=1e-12)


@pytest.fixture
def replayed(make, curate, replay_of):
    """cdp_irls on a table, then on its neighbours with the first answers: the fits and the replays."""

    def both(tables: list[Rows], model: str, weights: Any = None, **options: Any) -> tuple[list[np.ndarray], list[ReplayCurator]]:
        mechanism = make("mechanism", "cdp_irls", **options)
        budget = Budget(1.3, 1e-6, mechanism.counted())

        def fit(curator: Any) -> np.ndarray:
            problem = make("model", model, intercept=tables[0].geometry.intercept).prepare(curator)
            if weights is not None:
                problem.irls_weights = weights
            return np.asarray(mechanism.fit(curator, problem, budget).weights)

        curator = curate(tables[0], budget.epsilon, currency=budget.currency)
        fits, replays = [fit(curator)], []
        for neighbour in tables[1:]:
            replays.append(replay_of(curator, neighbour))
            fits.append(fit(replays[-1]))
            replays[-1].finish()
        return fits, replays

    return both


@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
@pytest.mark.parametrize("variant", ["sound", "published"])
@pytest.mark.parametrize("scaling", ["box", "ball"])
@pytest.mark.parametrize("model", ["robust", "linear"])
def test_no_neighbours_move_a_release_by_more_than_it_pays_for(
    distribution, variant, scaling, model, geometry, adversary, replayed
) -> None:
    """The same calls in the same order, every ratio at most 1. Of the published variant that is its release of A."""
    g = geometry(3, (2,), True, scaling, constant=1.0 if scaling == "box" else 5**-0.5)
    near = adversary.neighbours(g, np.random.default_rng(0))
    start, tables = near.rows(30), []
    for row in (start.z[-1], *near.rows(20).z):
        tables.append(Rows(np.vstack([start.z[:-1], row]), g))
    steps = 1 if variant == "published" else 5
    fits, replays = replayed(tables, model, variant=variant, distribution=distribution, iterations=steps)
    for weights, replay in zip(fits[1:], replays, strict=True):
        assert len(replay.ratios) == (1 if model == "linear" else steps)
        assert max(replay.ratios) <= 1 + 1e-12
        if variant == "sound":
            np.testing.assert_array_equal(weights, fits[0])
    assert max(max(replay.ratios) for replay in replays) > 0.1, "the neighbours were no threat"


@pytest.mark.parametrize("D", [2, 5])
def test_at_the_attaining_pair_every_step_spends_its_whole_share(D, geometry, rows, replayed) -> None:
    """Rows that all weigh κ: equality in every step, for either noise."""
    g = geometry(D)
    turned = np.r_[np.ones((D + 1) // 2), -np.ones(D // 2)]
    for distribution, other in (("gaussian", turned), ("laplace", np.full(D, 1 / (D + 1)))):
        tables = [rows(g, np.vstack([np.zeros((2, D)), x]), [0.5, 0, y]) for x, y in ((np.ones(D), 1), (other, -1))]
        _, (replay,) = replayed(
            tables, "robust", lambda residuals, kappa: np.full(len(residuals), kappa), distribution=distribution
        )
        assert replay.ratios == [pytest.approx(1.0, rel=1e-12)] * 5
