"""The exponential mechanism: the law of the choice, its price, and the range of the scores' changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

from dpbench.accounting.costs import Pure, Zcdp
from dpbench.contracts.mechanism import Fit, Mechanism
from dpbench.data.samples import WholeSample
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.privacy.procedures.selection import Selection
from dpbench.privacy.queries.query import Layer, MomentQuery
from dpbench.privacy.replay import Violation


@dataclass(frozen=True, eq=False)
class Correlations(MomentQuery):
    """±X'y: the candidates are a column and its sign."""

    features: int
    name: ClassVar[str] = "±X'y"

    @property
    def layers(self) -> tuple[Layer, ...]:
        column = 1 + np.arange(self.features)
        target = np.full(self.features, self.features + 1)
        ones = np.ones(self.features)
        return Layer(column, target, ones), Layer(column, target, -ones, self.features)


@dataclass(frozen=True)
class Choose(Mechanism):
    """The weight of the column that is chosen is 1. ``bound``: what a row is said to change, at most 2 in either direction."""

    name: ClassVar[str] = "selection_test"
    bound: float = 4.0

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        features = curator.geometry.features
        scale = self.bound / budget.epsilon
        chosen = curator.ask(Selection(Correlations(features), scale, budget.epsilon, "|x y| is at most 1"))[:, 0].astype(int)
        weights = np.zeros((curator.runs, curator.geometry.dimension))
        weights[np.arange(curator.runs), chosen % features] = np.where(chosen < features, 1.0, -1.0)
        return Fit.good(weights)


def test_candidates_are_chosen_with_exponential_probabilities(geometry, rows) -> None:
    table = rows(geometry(2), [[1.0, 0.5], [0.5, -1.0], [1.0, 0.0]], [1.0, 0.5, 0.5])
    scores = np.concatenate([table.x.T @ table.y, -(table.x.T @ table.y)])
    runs, scale = 8_000, 1.7
    curator = Curator(WholeSample(*[table] * runs), Draws(0, "t", [(run, 0) for run in range(runs)]), Budget(9.0, 1e-6, "pure"))
    chosen = curator.ask(Selection(Correlations(2), scale, 1.0, "proof"))[:, 0].astype(int)
    expected = np.exp(scores / scale) / np.exp(scores / scale).sum()
    assert stats.chisquare(np.bincount(chosen, minlength=4), runs * expected).pvalue > 1e-6
    assert curator.ledger.entries[0].cost == Pure(1.0)


def test_a_bounded_range_has_its_own_price() -> None:
    assert Selection(Correlations(2), 1.0, 2.0, "proof", "zcdp").cost == Zcdp(0.5)


def test_no_choice_is_likelier_by_more_than_its_price() -> None:
    """On random scores, the log-ratio of each choice's probability moves by at most what is checked, and has no larger range."""
    generator = np.random.default_rng(1)
    one = generator.normal(size=(500, 6))
    other = one + generator.uniform(-1, 1, size=one.shape)
    log_ratio = np.log(_softmax(one)) - np.log(_softmax(other))
    moved = Selection(Correlations(3), 1.0, 1.0, "proof").moved(one, other)
    assert (np.abs(log_ratio).max(axis=1) <= moved * (1 + 1e-12)).all()
    np.testing.assert_allclose(np.ptp(log_ratio, axis=1), moved, rtol=1e-12)


def _softmax(scores: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))


def test_a_bound_is_attained_and_a_smaller_one_is_caught(geometry, rows, replayed) -> None:
    g = geometry(2)
    first, second = rows(g, [[0, 0], [1, 1]], [0, 1]), rows(g, [[0, 0], [1, 1]], [0, -1])
    one, other, replay = replayed(Choose(), first, second)
    assert replay.ratios == [pytest.approx(1.0, rel=1e-12)]
    np.testing.assert_array_equal(one.weights, other.weights)
    with pytest.raises(Violation, match="moved by 2 times its declared"):
        replayed(Choose(bound=2.0), first, second)


def test_what_makes_no_selection_is_refused() -> None:
    with pytest.raises(ValueError, match="must be finite and positive"):
        Selection(Correlations(2), 0.0, 1.0, "proof")
    with pytest.raises(ValueError, match="must say why its bound holds"):
        Selection(Correlations(2), 1.0, 1.0, " ")


@pytest.mark.slow
def test_an_audit_passes_the_bound_and_finds_a_smaller_one(make) -> None:
    from dpbench.audit.procedure import audit
    from dpbench.audit.subject import AuditSettings, AuditSubject, example_geometry

    model = make("model", "linear", intercept=False)
    for bound, passes in ((4.0, True), (3.5, False)):
        subject = AuditSubject(Choose(bound), model, Budget(1.0, 1e-6, "pure"), example_geometry(model, 2, 3), AuditSettings())
        assert audit(subject).passed == passes
    settings = AuditSettings(level="component", runs=400)
    assert audit(AuditSubject(Choose(), model, Budget(1.0, 1e-6, "pure"), example_geometry(model, 2), settings)).passed
