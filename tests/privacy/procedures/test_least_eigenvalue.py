"""The least eigenvalue: its noise has the declared scale, and replacing a row never moves it by more than the bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from dpbench.accounting.costs import Gdp
from dpbench.contracts.mechanism import Fit, Mechanism, OneRunMechanism
from dpbench.data.samples import WholeSample
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws, gaussian
from dpbench.privacy.procedures.least_eigenvalue import LeastEigenvalue
from dpbench.privacy.queries.query import Layer, MomentQuery
from dpbench.privacy.replay import Violation

MU = 0.5


@dataclass(frozen=True, eq=False)
class UpperTriangle(MomentQuery):
    """X'X of the features, above and on the diagonal."""

    features: int
    name: ClassVar[str] = "X'X"

    @property
    def layers(self) -> tuple[Layer, ...]:
        j, k = np.triu_indices(self.features)
        return (Layer(1 + j, 1 + k, np.ones(len(j))),)


@dataclass(frozen=True)
class Ridge(Mechanism):
    """Publish nothing but the least eigenvalue, as the first weight; ``bound`` is its sensitivity."""

    name: ClassVar[str] = "eigenvalue_test"
    currency: ClassVar[Any] = "gdp"
    bound: float = 1.0

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = UpperTriangle(curator.geometry.features)
        least = curator.ask(LeastEigenvalue(query, gaussian(self.bound, budget.epsilon, "the largest squared norm of a row")))
        return Fit.good(np.repeat(least, curator.geometry.dimension, axis=1))


def ball_rows(geometry: Any, rows: Any, last: list[float]) -> Any:
    """Five rows along the first axis and one more."""
    x = np.zeros((6, 3))
    x[:5, 0], x[5] = 1.0, last
    return rows(geometry(3, scaling="ball"), x, np.zeros(6))


def test_the_answer_is_the_least_eigenvalue_plus_noise(geometry, rows) -> None:
    table = ball_rows(geometry, rows, [0.0, 0.6, 0.8])
    runs = 4_000
    curator = Curator(WholeSample(*[table] * runs), Draws(0, "t", [(run, 0) for run in range(runs)]), Budget(3.0, 1e-6))
    answers = curator.ask(LeastEigenvalue(UpperTriangle(3), gaussian(1.0, MU, "proof")))[:, 0]
    noise = answers - np.linalg.eigvalsh(table.x.T @ table.x)[0]
    # 5 standard errors of a mean and of a standard deviation
    assert abs(noise.mean()) < 5 * (1 / MU) / np.sqrt(runs)
    assert abs(noise.std() * MU - 1) < 5 / np.sqrt(2 * runs)
    assert [entry.cost for entry in curator.ledger.entries] == [Gdp(MU)]


def test_a_bound_is_attained_and_a_smaller_one_is_caught(geometry, rows, replayed) -> None:
    """Without the only row on an axis X'X becomes singular: a change of 1 where rows have norm 1."""
    first, second = ball_rows(geometry, rows, [0.0, 1.0, 0.0]), ball_rows(geometry, rows, [0.0, 0.0, 1.0])
    one, other, replay = replayed(Ridge(), first, second)
    assert replay.ratios == [pytest.approx(1.0, rel=1e-12)]
    np.testing.assert_array_equal(one.weights, other.weights)
    with pytest.raises(Violation, match="moved by 2 times its declared"):
        replayed(Ridge(bound=0.5), first, second)


def test_the_move_of_the_eigenvalue_never_exceeds_what_is_checked() -> None:
    generator = np.random.default_rng(0)
    procedure = LeastEigenvalue(UpperTriangle(3), gaussian(1.0, MU, "proof"))
    j, k = np.triu_indices(3)
    common = generator.normal(size=(200, 4, 3))
    one, other = (generator.normal(size=(200, 1, 3)) for _ in range(2))
    grams = [np.swapaxes(x, 1, 2) @ x for x in (np.concatenate([common, row], axis=1) for row in (one, other))]
    moved = np.abs(np.diff([np.linalg.eigvalsh(gram)[:, 0] for gram in grams], axis=0)[0])
    assert (moved <= procedure.moved(*(gram[:, j, k] for gram in grams), run=0) * (1 + 1e-12)).all()


def test_only_triangles_and_one_scale_are_accepted() -> None:
    class Two(UpperTriangle):
        size = 2  # type: ignore[assignment]

    with pytest.raises(ValueError, match="An upper triangle has 1, 3, 6"):
        LeastEigenvalue(Two(3), gaussian(1.0, MU, "proof"))


@dataclass(frozen=True)
class OneRunRidge(OneRunMechanism):
    """The same for one run at a time."""

    name: ClassVar[str] = "one_run_eigenvalue_test"
    currency: ClassVar[Any] = "gdp"

    def fit_run(self, curator: Any, problem: Any, budget: Any) -> np.ndarray:
        query = UpperTriangle(curator.geometry.features)
        (least,) = curator.ask(LeastEigenvalue(query, gaussian(1.0, budget.epsilon, "the largest squared norm of a row")))
        return np.full(curator.geometry.dimension, least)


@pytest.mark.parametrize("mechanism", [Ridge(), OneRunRidge()], ids=lambda mechanism: mechanism.name)
@pytest.mark.slow
def test_an_audit_passes_the_bound_and_finds_a_smaller_one(mechanism, make) -> None:
    from dpbench.audit.procedure import audit
    from dpbench.audit.subject import AuditSettings, AuditSubject, example_geometry

    model = make("model", "linear", intercept=False)
    for level in ("replay", "component"):
        settings = AuditSettings(level=level, runs=400)
        result = audit(AuditSubject(mechanism, model, Budget(MU, 1e-6, "gdp"), example_geometry(model, 2, 3, "ball"), settings))
        assert result.violations == ()
    assert result.replays.ratio == pytest.approx(1.0, rel=1e-9)
    faulty = AuditSubject(Ridge(0.9), model, Budget(MU, 1e-6, "gdp"), example_geometry(model, 2, 3, "ball"), AuditSettings())
    assert "times its declared" in audit(faulty).violations[0]
