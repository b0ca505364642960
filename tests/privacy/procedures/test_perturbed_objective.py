"""Objective perturbation: the exact law of the minimiser keeps the price, and the replay finds bounds that do not hold."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit

from dpbench.accounting.conversion import delta_of_gdp, gdp_of_epsilon
from dpbench.accounting.costs import Approx, Pure
from dpbench.base.errors import Refused
from dpbench.contracts.mechanism import Fit, Mechanism
from dpbench.data.samples import WholeSample
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.privacy.procedures.perturbed_objective import PerturbedObjective
from dpbench.privacy.procedures.row_loss import RowLoss
from dpbench.privacy.replay import Violation

DELTA = 1e-3
NO_PENALTY = np.zeros((1, 1))


class Huber:
    """Huber's loss with a parabola at residuals below ``width``: its slope is 1, its curvature 1 / width."""

    def __init__(self, width: float = 1.0) -> None:
        self.width = width

    def gradient(self, x: Any, y: Any, weights: Any) -> Any:
        return np.clip((x @ weights - y) / self.width, -1, 1)

    def curvature(self, x: Any, y: Any, weights: Any) -> Any:
        return (np.abs(x @ weights - y) < self.width) / self.width


class LogLoss:
    """log(1 + e^t) - y t."""

    def gradient(self, x: Any, y: Any, weights: Any) -> Any:
        return expit(x @ weights) - y

    def curvature(self, x: Any, y: Any, weights: Any) -> Any:
        return expit(x @ weights) * expit(-x @ weights)


def log_density(procedure: PerturbedObjective, x: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the logarithm of the exact density of the minimiser on a table of one column."""
    loss = procedure.loss
    at = w[:, None] * x
    slopes, curvatures = (
        np.column_stack([part(at[:, [row]], np.full(len(w), y[row])) for row in range(len(x))])
        for part in (loss.slopes, loss.curvatures)
    )
    b = -(slopes @ x + procedure.alpha * w)
    law = stats.norm if procedure.law == "gaussian" else stats.laplace
    return np.asarray(law.logpdf(b, scale=procedure.scale) + np.log(curvatures @ x**2 + procedure.alpha))


def exact_delta(procedure: PerturbedObjective, one: Any, other: Any, epsilon: float) -> float:
    """Return δ(ε) of a table to its neighbour, by quadrature over 25 scales of the noise."""
    reach = (25 * procedure.scale + 3) / procedure.alpha
    w = np.unique(np.concatenate([np.linspace(-reach, reach, 20_001), np.linspace(-3, 3, 12_001)]))
    log_p, log_q = (log_density(procedure, np.array(x), np.array(y), w) for x, y in (one, other))
    assert integrate.trapezoid(np.exp(log_p), w) == pytest.approx(1, rel=2e-3)
    if procedure.law == "gamma":  # no density may exceed the other by more
        return float((log_p - log_q).max() > epsilon * (1 + 1e-9))
    return float(integrate.trapezoid(np.maximum(np.exp(log_p) - np.exp(epsilon + log_q), 0), w))


LOGISTIC_PAIRS = [
    (([1.0], [1.0]), ([-1.0], [1.0])),
    (([1.0], [0.0]), ([1.0], [1.0])),
    (([1.0], [1.0]), ([0.0], [0.0])),
    (([1.0, 1.0, 1.0], [1.0, 0.0, 1.0]), ([1.0, 1.0, -1.0], [1.0, 0.0, 1.0])),
]
HUBER_PAIRS = [
    (([1.0], [1.0]), ([1.0], [-1.0])),
    (([1.0], [1.0]), ([0.0], [1.0])),
    (([1.0, -1.0], [1.0, 1.0]), ([1.0, 0.5], [1.0, -1.0])),
    (([1.0, -1.0], [0.0, 0.0]), ([1.0, 1.0], [1.0, 0.0])),
]


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("law", ["gamma", "gaussian"])
def test_the_exact_law_on_one_column_keeps_the_price(law, epsilon) -> None:
    """Over pairs, both directions and two ridges. A price that is 30 % smaller would not hold on all of them."""
    delta = DELTA if law == "gaussian" else 0.0
    smaller = []
    for loss, pairs in ((LogLoss(), LOGISTIC_PAIRS), (Huber(), HUBER_PAIRS), (Huber(0.1), HUBER_PAIRS)):
        bounds = RowLoss(loss, 1.0, 0.25 if isinstance(loss, LogLoss) else 1 / loss.width, 1.0)
        for alpha in (bounds.stiffness / math.expm1(share * epsilon) for share in (0.1, 0.6)):
            procedure = at_price(bounds, alpha, law, epsilon, delta)
            for one, other in (*pairs, *(pair[::-1] for pair in pairs)):
                assert exact_delta(procedure, one, other, epsilon) <= delta * (1 + 1e-3)
                smaller.append(exact_delta(procedure, one, other, 0.7 * epsilon))
    assert max(smaller) > delta * (1 + 1e-3)


def at_price(loss: RowLoss, alpha: float, law: Any, epsilon: float, delta: float) -> PerturbedObjective:
    """Return the procedure with the least noise that costs ε."""
    left = epsilon - math.log1p(loss.stiffness / alpha)
    left = left if law == "gamma" else gdp_of_epsilon(left, delta / 2)
    procedure = PerturbedObjective(loss, alpha, law, loss.reach / left, NO_PENALTY, delta)
    assert procedure.cost.epsilon == pytest.approx(epsilon, rel=1e-9)  # type: ignore[attr-defined]
    return procedure


def test_a_hessian_bound_with_the_norm_instead_of_its_square_would_not_hold() -> None:
    """As in diffprivlib: at R = 30 the exact loss is above the ε that log(1 + cR/α) gives, and below ours."""
    loss = RowLoss(LogLoss(), 1.0, 0.25, 30.0)
    alpha = 0.25 / math.expm1(0.25)
    procedure = PerturbedObjective(loss, alpha, "gamma", loss.reach / 0.5, NO_PENALTY)
    w = np.linspace(-0.5, 0.5, 20_001)
    log_p, log_q = (log_density(procedure, np.array([x]), np.ones(1), w) for x in (30.0, 0.0))
    assert (log_p - log_q).max() <= procedure.cost.epsilon  # type: ignore[attr-defined]
    halved = procedure.loss.reach / procedure.scale + math.log1p(0.25 * 30 / alpha)
    assert (log_p - log_q).max() > halved


def test_the_profile_is_convex_in_the_squared_shift_where_the_proof_says() -> None:
    """So that two orthogonal diagonals of a rhombus cost no more than one of the whole length."""
    for mu in (0.1, 0.5, 1.0, 3.0):
        epsilon = mu * math.sqrt(1 + mu**2 / 4)
        shares = np.linspace(0.01, 0.99, 25)
        split = [delta_of_gdp(mu * math.sqrt(s), epsilon) + delta_of_gdp(mu * math.sqrt(1 - s), epsilon) for s in shares]
        assert max(split) <= delta_of_gdp(mu, epsilon)


def test_noise_that_is_too_small_for_the_proof_is_refused() -> None:
    with pytest.raises(Refused, match="set a smaller delta"):
        PerturbedObjective(RowLoss(Huber(), 1.0, 1.0, 1.0), 1.0, "gaussian", 2.0, NO_PENALTY, 0.5)


@pytest.mark.parametrize("law", ["gamma", "gaussian"])
def test_released_weights_give_back_noise_of_the_declared_law(law, geometry, rows) -> None:
    generator = np.random.default_rng(0)
    g = geometry(3, target="binary")
    table = rows(g, generator.uniform(-1, 1, (30, 3)), generator.integers(0, 2, 30))
    loss = RowLoss(LogLoss(), 1.0, 0.25, math.sqrt(3))
    procedure = PerturbedObjective(loss, 2.0, law, 1.7, np.array([[0.0, 3.0, 0.5]]), 1e-6 if law == "gaussian" else 0.0)
    runs = 4_000
    curator = Curator(WholeSample(*[table] * runs), Draws(0, "t", [(run, 0) for run in range(runs)]), Budget(99.0, 1e-6))
    w = curator.ask(procedure)
    slopes = loss.slopes(table.x @ w.T, table.y)
    b = -(slopes.T @ table.x + (2.0 + procedure.penalty) * w)
    length, direction = np.linalg.norm(b, axis=1), b / np.linalg.norm(b, axis=1, keepdims=True)
    law_of_length = stats.gamma(3, scale=1.7) if law == "gamma" else stats.chi(3, scale=1.7)
    assert stats.kstest(length, law_of_length.cdf).pvalue > 1e-6
    for coordinate in direction.T:  # uniform on the sphere in three dimensions
        assert stats.kstest(coordinate, stats.uniform(-1, 2).cdf).pvalue > 1e-6


@dataclass(frozen=True)
class Perturb(Mechanism):
    """Objective perturbation of a model's own loss, with bounds that may be wrong."""

    name: ClassVar[str] = "perturbation_test"
    curvature: float = 0.25
    norm: float = 1.0
    law: Any = "gamma"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        norm = self.norm * math.sqrt(curator.geometry.squared_norm)
        loss = RowLoss(problem, 1.0, self.curvature, norm)
        side = curator.geometry.dimension
        delta = 0.0 if self.law == "gamma" else 1e-6
        alpha = loss.stiffness / math.expm1(min(budget.epsilon / 2, 20))
        procedure = at_price(loss, alpha, self.law, budget.epsilon, delta)
        return Fit.good(curator.ask(replace(procedure, penalty=np.zeros((1, side)))))

    def counted(self) -> Any:
        return "pure" if self.law == "gamma" else "approx"


@pytest.fixture
def audited(make):
    """The audit's outcome for a mechanism on logistic regression, with two columns and a group."""
    from dpbench.audit.procedure import audit
    from dpbench.audit.subject import AuditSettings, AuditSubject, example_geometry

    def run(mechanism: Any, level: Any = "replay") -> Any:
        model = make("model", "logistic")
        settings = AuditSettings(level=level, runs=300)
        budget = Budget(1.0, 1e-6, mechanism.counted())
        return audit(AuditSubject(mechanism, model, budget, example_geometry(model, 2, 3), settings))

    return run


@pytest.mark.parametrize("law", ["gamma", "gaussian"])
@pytest.mark.slow
def test_an_audit_passes_bounds_that_hold(law, audited) -> None:
    result = audited(Perturb(law=law), "component" if law == "gamma" else "replay")
    assert result.violations == ()
    assert result.replays.ratio > 0.8


@pytest.mark.parametrize("fault", [{"curvature": 0.125}, {"norm": 2**-0.5}])
@pytest.mark.parametrize("law", ["gamma", "gaussian"])
def test_an_audit_finds_bounds_that_are_too_small(law, fault, audited) -> None:
    result = audited(Perturb(law=law, **fault))
    assert "times its declared bounds on the gradient, the curvature and a row's norm" in result.violations[0]


def test_a_replay_finds_a_determinant_that_is_priced_by_the_norm(monkeypatch, audited) -> None:
    monkeypatch.setattr(RowLoss, "stiffness", property(lambda loss: loss.curvature * loss.norm))
    assert "times its declared bounds" in audited(Perturb()).violations[0]


def test_a_replay_finds_a_gradient_that_is_priced_for_a_row_more_instead_of_another_one(monkeypatch, audited) -> None:
    monkeypatch.setattr(RowLoss, "reach", property(lambda loss: loss.slope * loss.norm))
    assert "times its declared bounds" in audited(Perturb()).violations[0]


def test_every_coefficient_needs_a_ridge() -> None:
    """A penalty cannot take back the ridge of an intercept, and no ridge means no strong convexity."""
    procedure = PerturbedObjective(RowLoss(Huber(), 1.0, 1.0, 1.0), 1.0, "gamma", 1.0, np.zeros((1, 2)))
    with pytest.raises(ValueError, match="at least 0"):
        replace(procedure, penalty=np.array([[-1.0, 0.0]]))
    with pytest.raises(ValueError, match="finite and positive"):
        replace(procedure, alpha=0.0)


def test_prices_are_those_of_the_formulas() -> None:
    loss = RowLoss(LogLoss(), 1.0, 0.25, 3.0)
    assert PerturbedObjective(loss, 2.0, "gamma", 4.0, NO_PENALTY).cost == Pure(1.5 + math.log(1 + 2.25 / 2))
    cost = PerturbedObjective(loss, 2.0, "gaussian", 12.0, NO_PENALTY, 1e-6).cost
    assert isinstance(cost, Approx)
    assert 2 * delta_of_gdp(0.5, cost.epsilon - math.log(1 + 2.25 / 2)) == pytest.approx(1e-6, rel=1e-9)


def test_a_neighbour_with_the_same_answer_is_replayed(replayed, geometry, rows) -> None:
    g = geometry(2, target="binary")
    first, second = rows(g, [[0, 0], [1, 1]], [0, 1]), rows(g, [[0, 0], [-1, -1]], [0, 1])
    one, other, replay = replayed(Perturb(), first, second, model="logistic")
    np.testing.assert_array_equal(one.weights, other.weights)
    assert 0 < replay.ratios[0] <= 1
    with pytest.raises(Violation):
        replayed(Perturb(norm=0.1), first, second, model="logistic")
