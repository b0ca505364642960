"""Error curves fall, end where privacy costs nothing, and hold for any n and ε of the same strength."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dpbench.accounting.conversion import gdp_of_epsilon
from dpbench.base.errors import Refused
from dpbench.cells.budgets import made_up
from dpbench.choosing import error_curves
from dpbench.choosing.error_curves import CANDIDATES, STRENGTHS, Candidate, Simulation, candidates
from dpbench.choosing.public_facts import PublicFacts
from dpbench.contracts.mechanism import fit_closed
from dpbench.data.samples import WholeSample
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget
from dpbench.privacy.secure_noise import NoSecureNoise, SecureCurator

from .conftest import COLUMNS, public_facts


def test_curves_fall_to_the_non_private_fit(simulation: Simulation) -> None:
    for candidate in candidates(["ssp"]):
        curves = simulation.curves(candidate, 1e-6, lambda *_: False)
        assert curves is not None
        assert curves.share_lost.shape == (len(STRENGTHS), len(simulation.tables))
        assert (np.diff(np.median(curves.share_lost, axis=1)) < 0).all()
        assert (curves.share_lost[-1] < 0.01).all()


def test_a_curve_ends_where_it_has_told_enough(simulation: Simulation) -> None:
    (gaussian, _) = candidates(["ssp"])
    curves = simulation.curves(gaussian, 1e-6, lambda strength, *_: strength > 500)
    assert curves is not None
    assert len(curves.share_lost) == 5


@pytest.mark.parametrize("candidate", candidates(), ids=lambda candidate: candidate.name)
def test_what_may_be_chosen_can_be_released(candidate: Candidate, facts: PublicFacts, classes: PublicFacts) -> None:
    """It asks for no answer that secure noise does not have; what does is shown, and not chosen."""
    pytest.importorskip("opendp")
    facts = classes if candidate.mechanism.unsupported(facts.model, facts.geometry) else facts
    budget = Budget(0.5, currency=candidate.mechanism.counted())
    curator = SecureCurator(WholeSample(made_up(facts.geometry, 100)), budget)
    with nullcontext() if candidate.released else pytest.raises(NoSecureNoise):
        fit_closed(candidate.mechanism, facts.model.prepare(closed(curator)), curator, budget)
        assert curator.ledger.sound


@pytest.mark.slow
def test_twice_the_rows_at_half_the_strength_of_a_row_lose_as_much(facts: PublicFacts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Medians of tables with other rows: they differ by chance, and not by the factor of two or more of another law."""
    (candidate, _) = candidates(["ssp"])
    medians = []
    for rows in (1_500, 6_000):
        monkeypatch.setattr(error_curves, "ROWS", rows)
        curves = Simulation(facts).curves(candidate, 1e-6, lambda strength, *_: strength > 5_000)
        assert curves is not None
        medians.append(np.median(curves.share_lost, axis=1))
    np.testing.assert_allclose(medians[0], medians[1], rtol=0.4)


def test_every_candidate_is_proven_and_fits_classes_or_a_linear_model(simulation: Simulation, classes: PublicFacts) -> None:
    for_classes = Simulation(classes)
    for candidate in candidates():
        made = [each.curves(candidate, 1e-6, lambda *_: True) for each in (simulation, for_classes)]  # an unproven one raises
        assert made[1] is not None
        assert (made[0] is None) == (candidate.name == "dp_newton")
    assert len(candidates()) == len(CANDIDATES)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_a_simulated_table_has_the_strength_and_about_the_proportion_of_a_larger_one(strength: float) -> None:
    (gaussian, pure) = candidates(["ssp"])
    epsilon, delta = gaussian.simulated(float(strength), 1e-6)
    mu = strength / error_curves.ROWS
    assert gdp_of_epsilon(epsilon, delta) == pytest.approx(mu, rel=1e-6)
    if mu < 4:
        assert epsilon / mu == pytest.approx(1 / gdp_of_epsilon(1, 1e-6))
    assert pure.simulated(float(strength), 1e-6) == (mu, 1e-6)


def test_models_whose_fits_are_programs_of_their_own_are_refused() -> None:
    with pytest.raises(Refused, match="model=ridge"):
        Simulation(public_facts(COLUMNS, model="lasso"))


def test_unknown_mechanisms_are_refused() -> None:
    with pytest.raises(Refused, match="one of best, ssp"):
        candidates(["nothing"])
