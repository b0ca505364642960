"""Matched budgets: every sound mechanism is accounted as what was asked, whatever its paper counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import dpbench
from dpbench.cells.budgets import budget_of, made_up
from dpbench.cells.cell import Settings
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism
from dpbench.data.scaling import Rows
from dpbench.privacy.noise import gaussian, laplace

DELTA = 1e-5
PUBLISHED = {"mechanism": "cdp_irls", "mechanism.variant": "published"}


@dataclass(frozen=True)
class Spender(Mechanism):
    """Spends its budget in one currency and counts it in another."""

    name: ClassVar[str] = "spender"
    guarantee: ClassVar[str] = "any"
    how: str = "normal"
    counts: str = "zcdp"

    def counted(self) -> Any:
        return self.counts

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = problem.polynomial()
        share = budget.epsilon / 4
        if self.how == "pure":
            for _ in range(4):
                curator.release(query, laplace(1.0, min(share, np.sqrt(share)), "p"))
        elif self.how == "half":
            curator.release(query, gaussian(1.0, share, "p"))
        else:
            curator.release(query, gaussian(1.0, np.sqrt(2 * share), "p"))
        return Fit.good(np.zeros((curator.runs, curator.geometry.dimension)))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize(("how", "counts"), [("normal", "zcdp"), ("half", "gdp"), ("half", "zcdp"), ("pure", "zcdp")])
def test_what_is_handed_comes_to_what_was_asked(
    how: str, counts: str, epsilon: float, make: Any, geometry: Any, curate: Any
) -> None:
    g = geometry(3, (3,), intercept=True)
    settings = Settings(epsilon=epsilon, delta=DELTA, budget="matched")
    mechanism, model = Spender(how, counts), make("model", "linear")
    budget = budget_of(settings, mechanism, model, g, 60)
    curator = curate(made_up(g, 60), budget.epsilon, delta=DELTA, currency=counts)
    mechanism.fit(curator, model.prepare(curator), budget)
    assert curator.ledger.total.epsilon == pytest.approx(epsilon, rel=1e-9)
    claimed = budget_of(Settings(epsilon=epsilon, delta=DELTA), mechanism, model, g, 60)
    assert claimed.epsilon == epsilon
    assert how == "pure" or budget.epsilon != epsilon


@pytest.mark.parametrize("name", ["fm", "dpba"])
def test_for_pure_mechanisms_matched_is_claimed(name: str, make: Any, geometry: Any) -> None:
    asked = Settings(epsilon=0.7, delta=DELTA, budget="matched")
    assert budget_of(asked, make("mechanism", name), make("model", "linear"), geometry(2), 30).epsilon == 0.7


def test_made_up_rows_of_the_corner_lie_in_it(geometry: Any) -> None:
    x = made_up(geometry(4, scaling="corner"), 500).x
    assert x.min() >= 0
    assert 0.45 < x.max() <= 0.5


@pytest.mark.parametrize("scaling", ["box", "ball"])
@pytest.mark.parametrize("target", ["real", "binary"])
def test_made_up_rows_lie_in_their_geometry(scaling: Any, target: Any, geometry: Any) -> None:
    constant = 1 / np.sqrt(6) if scaling == "ball" else 1.0
    g = geometry(3, (2, 4), intercept=True, scaling=scaling, target=target, constant=constant)
    rows: Rows = made_up(g, 500)
    assert rows.n == 500
    assert np.abs(rows.z).max() <= 1
    if scaling == "ball":
        assert np.linalg.norm(rows.x, axis=1).max() <= 1 + 1e-12
    for members in g.groups:
        assert (np.count_nonzero(rows.z[:, 1 + np.array(members)], axis=1) == 1).all()
    assert set(np.unique(rows.y)) <= ({0.0, 1.0} if target == "binary" else set(rows.y))
    np.testing.assert_array_equal(rows.z, made_up(g, 500).z)


def test_a_sweep_records_what_was_handed_and_what_it_came_to(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The accounted ε is the requested one, and not another by the rounding of a calibration."""
    options = {"dataset.n": 200, "dataset.d": 2, "splits.repeats": 1, "splits.folds": 2, "delta": DELTA}
    names = ["fm", "dpba", "cdp_irls", "no_privacy"]
    frame = dpbench.sweep(options, record=False, mechanism=names, epsilon=[0.3, 1.0], budget="matched", dataset="gaussian").full
    frame = frame[frame["state"] == "run"]
    assert len(frame) == 7
    private = frame[frame["mechanism"] != "no_privacy"]
    assert frame[frame["mechanism"] == "no_privacy"][["epsilon", "delta", "privacy/epsilon_budget"]].isna().all(axis=None)
    assert (private["privacy/epsilon_accounted"] == private["epsilon"]).all()
    irls = private["mechanism"] == "cdp_irls"
    assert (private[irls]["privacy/epsilon_budget"] < 0.5 * private[irls]["epsilon"]).all(), "ρ, not ε, is what it was handed"
    assert (private[~irls]["privacy/epsilon_budget"] == private[~irls]["epsilon"]).all()


@pytest.mark.parametrize(
    ("options", "leaks", "guarantee"),
    [
        ({"mechanism": "fm", "dataset.bounds": "data"}, "bounds_from_data", "leaks"),
        (PUBLISHED, "unproven_noise", "unproven"),
        ({**PUBLISHED, "dataset.bounds": "data"}, "bounds_from_data,unproven_noise", "unproven"),
        ({"mechanism": "fm"}, "", "claimed"),
    ],
)
def test_what_leaks_is_named_in_the_record_with_its_reason(options: dict[str, Any], leaks: str, guarantee: str) -> None:
    some = {"dataset": "gaussian", "dataset.n": 200, "dataset.d": 2, "splits.repeats": 1, "splits.folds": 2, "epsilon": 0.8}
    (row,) = dpbench.sweep({**some, **options}, record=False).full.to_dict("records")
    assert row["state"] == "run", row["reason"]
    assert row["dpbench.leaks"] == leaks
    assert [part.partition(":")[0] for part in row.get("dpbench.leaks_why", "").split("; ")] == leaks.split(",")
    assert row["dpbench.guarantee"] == guarantee
    assert row["dpbench.noise"] == "simulation"


def test_matching_on_the_largest_tables_counts_all_rows_and_makes_few(make: Any, geometry: Any, monkeypatch: Any) -> None:
    """A billion made-up rows would not fit into memory, and the cost may depend on their number alone."""
    monkeypatch.setattr("dpbench.cells.budgets.MAX_MADE_UP_ROWS", 100)
    settings = Settings(epsilon=1.0, delta=DELTA, budget="matched")
    shape = geometry(3)
    seen = []

    class Watcher(Spender):
        def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
            seen.append(int(curator.n[0]))
            return super().fit(curator, problem, budget)

    matched = budget_of(settings, Watcher(), make("model", "linear"), shape, 10**9)
    assert set(seen) == {10**9}
    assert matched == budget_of(settings, Spender(), make("model", "linear"), shape, 50)
