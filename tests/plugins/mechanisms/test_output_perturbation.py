"""Output perturbation: what it costs, and what it becomes without noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbench.accounting.conversion import epsilon_of_gdp
from dpbench.accounting.costs import Gdp, Pure
from dpbench.audit.subject import example_geometry
from dpbench.contracts.mechanism import fit_closed
from dpbench.data.samples import WholeSample


@pytest.fixture
def sample(rows):
    """Two runs of other rows, of a different number."""

    def drawn(model, scaling="box"):
        g = example_geometry(model, 2, 3, scaling)
        generator = np.random.default_rng(0)
        tables = []
        for n in (300, 290):
            x = generator.uniform(-1, 1, (n, 5)) * g.constant
            x[:, 2:] = (generator.integers(0, 3, n)[:, None] == np.arange(3)) * g.constant
            y = x[:, 0] / 2 - x[:, 1] / 3 + generator.normal(0, 0.2, n)
            tables.append(rows(g, x, np.clip(y, -1, 1) if model.target == "real" else y > 0.1))
        return WholeSample(*tables)

    return drawn


@pytest.mark.parametrize("variant", ["gaussian", "pure"])
@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_the_ledger_spends_the_budget(variant, scaling, make, curate, sample) -> None:
    model, mechanism = make("model", "logistic"), make("mechanism", "output_perturbation", variant=variant)
    curator = curate(sample(model, scaling), epsilon=0.7, currency=mechanism.counted())
    fit_closed(mechanism, model.prepare(curator), curator, curator.ledger.budget)
    (entry,) = curator.ledger.entries
    if variant == "pure":
        assert entry.cost == Pure(0.7)
    else:
        assert isinstance(entry.cost, Gdp)
        assert epsilon_of_gdp(entry.cost.mu, 1e-6) == pytest.approx(0.7, rel=1e-9)


@pytest.mark.parametrize("name", ["linear", "ridge", "logistic"])
@pytest.mark.parametrize("variant", ["gaussian", "pure"])
def test_without_noise_it_is_the_exact_fit(name, variant, make, curate, sample) -> None:
    """At a huge ε the ridge and the noise are small. One level of the group is redundant, so predictions are compared."""
    ridge = 1.0 if variant == "pure" else 0.1
    model, mechanism = make("model", name), make("mechanism", "output_perturbation", variant=variant, clip=50.0, ridge=ridge)
    tables = sample(model)
    curator = curate(tables, epsilon=1e13, currency=mechanism.counted())
    problem = model.prepare(curator)
    weights = fit_closed(mechanism, problem, curator, curator.ledger.budget).weights
    for run, exact in enumerate(problem.exact(tables).weights):
        rows = tables.rows(run)
        np.testing.assert_allclose(rows.x @ weights[run], rows.x @ exact, atol=0.05)


def test_a_row_of_the_box_counts_with_its_norm(make, curate, geometry, rows) -> None:
    """Rows of the box are (norm) times those of the ball. So the weights of the ball are as much larger, with the same noise."""
    model, mechanism = make("model", "linear"), make("mechanism", "output_perturbation")
    x, y = np.random.default_rng(0).uniform(-1, 1, (2, 50, 2))
    weights = []
    for scaling, constant in (("box", 1.0), ("ball", 3**-0.5)):
        table = rows(geometry(2, intercept=True, scaling=scaling, constant=constant), x * constant, y[:, 0])
        curator = curate(table, currency="approx")
        weights.append(fit_closed(mechanism, model.prepare(curator), curator, curator.ledger.budget).weights)
    np.testing.assert_allclose(weights[1], weights[0] * math.sqrt(3), rtol=1e-6)


def test_the_ridge_of_a_run_follows_from_its_own_rows(make, curate, sample) -> None:
    """So that a run has the same weights alone and among others."""
    model, mechanism = make("model", "logistic"), make("mechanism", "output_perturbation")
    curator = curate(sample(model), currency="approx")
    fit_closed(mechanism, model.prepare(curator), curator, curator.ledger.budget)
    alpha = curator.tape[0].noise.alpha
    assert 1 < alpha[0] / alpha[1] < math.sqrt(300 / 290)
