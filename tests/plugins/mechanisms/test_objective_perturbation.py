"""Objective perturbation: what it costs, what it becomes without noise, and which models it serves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpbench.accounting.costs import Approx, Pure
from dpbench.audit.subject import example_geometry
from dpbench.contracts.mechanism import fit_closed
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows

VARIANTS = ("tight", "pure", "kst", "cms")
MODELS = ("linear", "ridge", "logistic", "robust")


@pytest.fixture
def sample(make, rows):
    """A sample of a few hundred rows that no line fits exactly, in two runs, for a model and a scaling."""

    def drawn(model: Any, scaling: str = "box", levels: int = 3) -> WholeSample:
        g = example_geometry(model, 2, levels, scaling)  # type: ignore[arg-type]
        generator = np.random.default_rng(0)
        tables = []
        for n in (300, 301):
            x = generator.uniform(-1, 1, (n, g.features))
            if levels:
                x[:, 2:] = generator.integers(0, levels, n)[:, None] == np.arange(levels)
            y = np.clip(x[:, 0] / 2 - x[:, 1] / 3 + generator.normal(0, 0.2, n), -1, 1)
            tables.append(rows(g, x * (g.constant if scaling == "ball" else 1.0), y if model.target == "real" else y > 0.3))
        return WholeSample(*tables)

    return drawn


def fitted(
    make: Any, curate: Any, sample: Any, model: Any, epsilon: float = 1.0, name: str = "objective_perturbation", **options: Any
):
    """The weights, and the curator."""
    mechanism = make("mechanism", name, **options)
    curator = curate(sample, epsilon=epsilon, currency=mechanism.counted())
    fit = fit_closed(mechanism, model.prepare(curator), curator, curator.ledger.budget)
    assert (fit.status == "ok").all()
    return fit.weights, curator


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_without_noise_it_is_the_fit_of_the_bounded_loss(name, variant, make, curate, sample) -> None:
    """At a huge ε the ridge and the noise vanish. For logistic regression and squared loss that is the exact fit."""
    model = make("model", name)
    tables = sample(model, levels=0)
    weights, curator = fitted(make, curate, tables, model, 1e12, variant=variant, clip=50.0)
    problem = model.prepare(curator)
    if name != "robust":
        np.testing.assert_allclose(weights, problem.exact(tables).weights, atol=1e-5)
    else:
        for run in range(2):
            rows: Rows = tables.rows(run)
            assert np.linalg.norm(problem.gradient(rows.x, rows.y, weights[run]) @ rows.x) < 1e-4


@pytest.mark.parametrize("scaling", ["box", "ball"])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 12.0])
def test_the_ledger_spends_the_budget(scaling, epsilon, make, curate, sample) -> None:
    model = make("model", "logistic")
    for variant, cost in (("tight", Approx(epsilon, 1e-6)), ("pure", Pure(epsilon)), ("cms", Pure(0.75 * epsilon))):
        _, curator = fitted(make, curate, sample(model, scaling), model, epsilon, variant=variant)
        (entry,) = curator.ledger.entries
        assert entry.sound
        assert vars(entry.cost) == pytest.approx(vars(cost), rel=1e-9)
    _, curator = fitted(make, curate, sample(model, scaling), model, epsilon, variant="kst")
    assert 0.3 * epsilon < curator.ledger.total.epsilon < epsilon
    assert curator.ledger.total.delta == 1e-6


def test_a_row_of_the_box_counts_with_its_norm(make, curate, sample) -> None:
    """Rows of the box are (norm) times those of the ball. So the weights of the ball are as much larger, with the same noise."""
    model = make("model", "logistic")
    box, _ = fitted(make, curate, sample(model, "box", 0), model)
    ball, _ = fitted(make, curate, sample(model, "ball", 0), model)
    np.testing.assert_allclose(ball, box * math.sqrt(3), rtol=1e-6)


def test_the_penalty_of_ridge_is_added_without_its_intercept(make, curate, sample) -> None:
    """A large penalty leaves the intercept alone, up to the ridge of the rule."""
    model = make("model", "ridge", penalty=1e4)
    weights, _ = fitted(make, curate, sample(model), model, 1e12, clip=50.0)
    assert np.abs(weights[:, 1:]).max() < 1e-4
    assert np.abs(weights[:, 0]).min() > 1e-3


@pytest.mark.parametrize("name", ["lasso", "elastic_net"])
@pytest.mark.parametrize("mechanism", ["objective_perturbation", "output_perturbation"])
def test_penalties_that_are_not_quadratic_are_pruned(name, mechanism, make) -> None:
    model = make("model", name)
    reason = make("mechanism", mechanism).unsupported(model, example_geometry(model, 2))
    assert reason == f"{mechanism} does not fit {name}: the model provides no smoothness."


def test_larger_residuals_have_no_more_influence_than_the_clip(make, curate, geometry, rows) -> None:
    """At the other end of the target's range, an outlier moves a clipped fit by a tenth of what it moves least squares."""
    model = make("model", "linear", intercept=False)
    y = np.zeros(200)
    moved = []
    for clip in (0.1, 50.0):
        fits = []
        for outlier in (0.0, 1.0):
            y[0] = outlier
            fits.append(fitted(make, curate, rows(geometry(1), np.ones((200, 1)), y), model, 1e12, clip=clip)[0][0, 0])
        moved.append(fits[1] - fits[0])
    assert moved[0] == pytest.approx(0.1 / 199, rel=1e-4)
    assert moved[1] == pytest.approx(1 / 200, rel=1e-4)


def test_the_tight_variant_has_less_noise_than_the_published_one(make, curate, sample) -> None:
    """The standard deviation at (1, 1e-6): more than a third less for the same budget."""
    model = make("model", "logistic")
    scales = {}
    for variant in ("tight", "kst"):
        _, curator = fitted(make, curate, sample(model), model, variant=variant)
        scales[variant] = curator.tape[0].noise.scale
    assert scales["tight"] < 0.6 * scales["kst"]


@pytest.mark.parametrize("which", ["rare", "counts"])
def test_more_budget_is_never_worse(which, assert_more_budget_is_never_worse) -> None:
    """Ten runs of a fixed seed at four ε; the medians have standard errors below 0.05 where ε >= 1."""
    assert_more_budget_is_never_worse("objective_perturbation", which)
