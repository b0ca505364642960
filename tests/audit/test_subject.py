"""What is audited, its random streams, and what it claims."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpbench.accounting.costs import Gdp, Pure, Zcdp
from dpbench.audit import subject as subject_module
from dpbench.audit.example_geometries import example_geometry
from dpbench.audit.neighbours import common_rows
from dpbench.audit.settings import AuditSettings
from dpbench.audit.subject import AuditSubject, ClaimedPrivacy, exact_cost
from dpbench.privacy.ledger import Budget


@pytest.fixture
def subject(make):
    def build(
        mechanism: str = "fm", currency: str = "pure", model: str = "linear", epsilon: float = 1.0, **options
    ) -> AuditSubject:
        component = make("model", model)
        budget = Budget(epsilon, 1e-6, currency)
        return AuditSubject(
            make("mechanism", mechanism, **options), component, budget, example_geometry(component, 2), AuditSettings()
        )

    return build


def test_a_claim_is_in_gdp_only_if_all_of_it_is() -> None:
    assert ClaimedPrivacy.of([Gdp(0.6), Gdp(0.8)], 1e-6).mu == pytest.approx(1.0)
    assert ClaimedPrivacy.of([Gdp(0.6), Pure(0.1)], 1e-6).mu is None
    assert ClaimedPrivacy.of([Pure(0.6), Pure(0.1)], 1e-6) == ClaimedPrivacy(0.7, 0.0)


def test_a_fit_claims_what_its_ledger_says(subject) -> None:
    fm = ClaimedPrivacy.of_fit(subject("fm").tape_fit())
    assert fm == ClaimedPrivacy(pytest.approx(1.0), 0.0)
    curator = subject("cdp_irls", "zcdp", variant="published", epsilon=0.5).tape_fit()
    total = curator.ledger.total
    assert total.delta > 0
    assert ClaimedPrivacy.of_fit(curator) == ClaimedPrivacy(total.epsilon, total.delta, None), "its noise has no law, and no μ"


def test_normal_noise_that_is_accounted_in_zcdp_has_an_exact_mu(subject) -> None:
    """ρ = μ²/2 for each answer, and the squares add up."""
    curator = subject("cdp_irls", "zcdp", distribution="gaussian", model="robust").tape_fit()
    claim, costs = ClaimedPrivacy.of_fit(curator), [entry.cost for entry in curator.ledger.entries]
    assert len(costs) > 1
    assert all(isinstance(cost, Zcdp) for cost in costs)
    assert claim.mu == pytest.approx(np.sqrt(2 * sum(cost.rho for cost in costs)))
    answer = curator.tape[0]
    assert exact_cost(answer) == Gdp(answer.noise.bound)
    # a call that costs more than its noise, such as one that draws until it accepts, keeps its own price
    dearer = replace(answer, call=replace(answer.call, cost=Zcdp(7.0)))
    assert exact_cost(dearer) == Zcdp(7.0)


def test_one_entry_without_an_answer_leaves_the_fit_without_a_mu(subject) -> None:
    curator = subject("cdp_irls", "zcdp", distribution="gaussian", model="robust").tape_fit()
    curator.tape.pop()
    assert ClaimedPrivacy.of_fit(curator).mu is None


def test_fits_are_the_same_in_batches_of_any_size_and_differ_between_pairs_and_streams(subject, monkeypatch) -> None:
    fm = subject()
    table = common_rows(fm.geometry, 8)
    together = fm.repeat_fits(table, 10, "a test")
    assert len(np.unique(together[:, 0])) == 10
    monkeypatch.setattr(subject_module, "BATCH_RUNS", 4)
    assert [curator.runs for curator in fm.curators(table, 10, "a test")] == [4, 4, 2]
    np.testing.assert_array_equal(fm.repeat_fits(table, 10, "a test"), together)
    others = (replace(fm, pair=1), replace(fm, settings=AuditSettings(seed=1)))
    for weights in (*(other.repeat_fits(table, 10, "a test") for other in others), fm.repeat_fits(table, 10, "another")):
        assert not np.isin(weights, together).any()


def test_a_taped_fit_has_the_rows_of_the_settings(subject) -> None:
    fm = replace(subject(), settings=AuditSettings(rows=23))
    curator = fm.tape_fit()
    assert curator.n.tolist() == [23.0]
    assert len(curator.tape) == len(curator.ledger.entries) == 1
