"""What is not a mechanism of ours is told apart by its numbers alone, and what tells nothing passes."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.accounting.costs import Gdp, Pure
from dpbench.audit.black_box import NeighbouringTables, audit_black_box
from dpbench.audit.subject import AuditSettings, ClaimedPrivacy
from dpbench.base.errors import Refused

TABLES = NeighbouringTables(np.zeros((3, 2)), np.zeros(3), np.ones(2), 1.0)


def noisy_mean(scale: float):
    """The sum of the target with Laplace noise of this scale."""

    def fits(x, y, runs, seed):
        return y.sum() + np.random.default_rng(seed).laplace(scale=scale, size=(runs, 1))

    return fits


def test_numbers_that_tell_more_than_is_claimed_are_caught_and_others_pass() -> None:
    """Laplace noise of scale 1 on a sum that moves by 1, at a false alarm of 1e-4."""
    sound = audit_black_box(noisy_mean(1.0), TABLES, ClaimedPrivacy.of([Pure(1.0)], 0.0), AuditSettings())
    assert 0.7 < sound.epsilon <= 1.0
    assert sound.violation == ""
    assert sound.confidence == pytest.approx(0.9999)
    broken = audit_black_box(noisy_mean(1.0), TABLES, ClaimedPrivacy.of([Pure(0.5)], 0.0), AuditSettings(), ("mean",))
    assert broken.violation.startswith("The weights have ε >= 0.")


def test_a_claim_in_mu_is_judged_by_mu() -> None:
    def fits(x, y, runs, seed):
        return y.sum() + np.random.default_rng(seed).normal(size=(runs, 1))

    claim = ClaimedPrivacy.of([Gdp(1.0)], 1e-6)
    bound = audit_black_box(fits, TABLES, claim, AuditSettings())
    assert bound.mu is not None
    assert 0.65 < bound.mu <= 1.0


def test_the_second_table_differs_in_its_last_row_alone_and_has_streams_of_its_own() -> None:
    seen = []

    def fits(x, y, runs, seed):
        seen.append((x, y, seed))
        return np.random.default_rng(seed).normal(size=(runs, 1))

    audit_black_box(fits, TABLES, ClaimedPrivacy(1.0, 0.0), AuditSettings(runs=200, seed=7))
    (x, _, first), (other_x, other_y, second) = seen
    np.testing.assert_array_equal(other_x[:-1], x[:-1])
    np.testing.assert_array_equal(other_x[-1], [1.0, 1.0])
    np.testing.assert_array_equal(other_y, [0.0, 0.0, 1.0])
    assert first != second
    assert (TABLES.features == 0).all()


def test_tables_that_do_not_fit_and_weights_of_another_shape_are_refused() -> None:
    with pytest.raises(Refused, match="Neighbours need features"):
        NeighbouringTables(np.zeros((3, 2)), np.zeros(4), np.zeros(2), 0.0)
    with pytest.raises(Refused, match=r"shape \(200, weights\)"):
        audit_black_box(lambda *_: np.zeros((5, 1)), TABLES, ClaimedPrivacy(1.0, 0.0), AuditSettings(runs=200))
