"""Several rows per person: every built-in mechanism keeps its bounds when all rows of one person change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpbench.audit.replay_level import audit_replays, replay
from dpbench.audit.subject import AuditSettings, AuditSubject, example_geometry
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism
from dpbench.data.geometry import Geometry
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Laplace, Noise
from dpbench.privacy.queries.polynomial import Polynomial
from dpbench.privacy.queries.query import contributions
from dpbench.registry.lookup import registry

ROWS_EACH = 3
MECHANISMS: dict[str, tuple[str, dict[str, Any]]] = {
    "fm": ("linear", {}),
    "fm knorm": ("linear", {"noise": "knorm"}),
    "fm matrix": ("linear", {"convention": "matrix"}),
    "fm code": ("logistic", {"convention": "code", "sensitivity": "code"}),
    "fm paper": ("linear", {"sensitivity": "paper"}),
    "fm until bounded": ("linear", {"until_bounded": True}),
    "dpba": ("linear", {}),
    "dpba fang": ("logistic", {"sensitivity": "fang"}),
    "dpc": ("linear", {}),
    "dpc logistic": ("logistic", {"convention": "matrix"}),
    "privr": ("linear", {}),
    "privr threshold": ("logistic", {"rule": "threshold"}),
    "cdp_irls": ("linear", {}),
    "cdp_irls robust": ("robust", {"iterations": 2}),
    "cdp_irls laplace": ("robust", {"iterations": 2, "distribution": "laplace"}),
    "ssp": ("linear", {}),
    "adassp": ("linear", {}),
    "ssp laplace": ("logistic", {"noise": "laplace"}),
    "best": ("linear", {}),
    "boosted_adassp": ("linear", {"rounds": 2}),
    "best logistic": ("logistic", {}),
    "dp_gd": ("linear", {"steps": 2}),
    "dp_gd logistic": ("logistic", {"steps": 2}),
    "binagg": ("linear", {}),
    "dp_newton": ("logistic", {"steps": 2}),
    "frank_wolfe": ("linear", {"steps": 2}),
    "dpme": ("linear", {"cells": 100}),
    "fp": ("linear", {"bins": 3, "size": 20}),
    "drop_sensitive": ("linear", {"base": "fm"}),
}
OTHER_SHAPES = ("ball", "one column", "corner")
SHAPES = {"box": (2, 2, "box"), "ball": (2, 2, "ball"), "one column": (1, 0, "box"), "corner": (2, 0, "corner")}


def of_persons(geometry: Geometry, each: int = ROWS_EACH) -> Geometry:
    return replace(geometry, rows_per_person=each)


def subject(mechanism: Mechanism, model: Any, shape: str, each: int = ROWS_EACH) -> AuditSubject:
    geometry = of_persons(example_geometry(model, *SHAPES[shape]), each)
    epsilon = 2000.0 if mechanism.name == "best" else 1.0  # with less, 12 rows are too few for steps of its own
    budget = Budget(epsilon, 1e-6, mechanism.counted())
    return AuditSubject(mechanism, model, budget, geometry, AuditSettings("replay", rows=12))


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        *((name, "one column" if "until" in name else "box") for name in MECHANISMS),
        *product(("fm", "dpba fang", "privr", "cdp_irls robust", "ssp"), OTHER_SHAPES),
        *((name, "one column") for name in ("best", "best logistic")),
    ],
)
def test_no_change_of_a_person_moves_an_answer_by_more_than_its_bound(name, shape, make) -> None:
    """Tables with 0, 1 and other numbers of rows in common, and with fewer rows on one side. The worst pair comes near."""
    model_name, options = MECHANISMS[name]
    model = make("model", model_name, intercept=SHAPES[shape][2] != "corner")
    tried = subject(make("mechanism", name.split()[0], **options), model, shape)
    if tried.mechanism.unsupported(model, tried.geometry):
        pytest.skip("the mechanism does not fit this geometry")
    curator = tried.tape_fit()
    if name.startswith("best"):
        assert "whitened_gradient" in [answer.query for answer in curator.tape or []]
    replays, _ = audit_replays(tried, curator.tape or [])
    assert replays.violation == ""
    published = "sensitivity" in options or name.startswith(("dpc", "drop"))  # these bounds are larger than the supremum
    assert replays.ratio > (0.05 if published else 0.4)
    per_row = replace(tried, geometry=replace(tried.geometry, rows_per_person=None)).tape_fit()
    assert curator.ledger.total == per_row.ledger.total  # the same ε, which is a person's: the noise is what grows


@dataclass(frozen=True)
class BoundOfOneRow(Mechanism):
    """The functional mechanism with the bound of one row, whatever the geometry says: a fault."""

    name = "one_row"
    handles_persons = True

    def fit(self, curator, problem, budget) -> Fit:
        objective = problem.polynomial()
        bound = objective.l1_bound("tight") / objective.geometry.replaced_rows
        answer = curator.release(objective, Noise(Laplace(), np.array([bound / budget.epsilon]), budget.epsilon, "wrong"))
        return Fit.good(problem.minimise(problem.regularised(objective.quadratic(answer, problem.n)).floored(1.0)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("each", [1, 2, 5])
def test_a_bound_that_is_taken_for_one_row_is_refuted(shape, each, make) -> None:
    model = make("model", "linear", intercept=SHAPES[shape][2] != "corner")
    tried = subject(BoundOfOneRow(), model, shape, each)
    replays, _ = audit_replays(tried, tried.tape_fit().tape or [])
    assert (replays.violation != "") == (each > 1)


@pytest.mark.parametrize("common", [0, 1, ROWS_EACH])
def test_rows_that_stay_the_same_move_nothing(common, make) -> None:
    """A person's rows are k copies of a worst row: with j of them in common the answer moves by (k - j)/k of its bound."""
    model = make("model", "linear")
    tried = subject(make("mechanism", "fm"), model, "one column")
    worst, other = np.array([[1.0, 1.0, 1.0]]), np.array([[1.0, 0.0, -1.0]])
    others = np.repeat([[1.0, 0.5, 0.5]], 4, axis=0)
    first = np.concatenate([others, np.repeat(worst, ROWS_EACH, axis=0)])
    second = np.concatenate([first[: 4 + common], np.repeat(other, ROWS_EACH - common, axis=0)])
    tables = (WholeSample(Rows(z, tried.geometry, persons=3)) for z in (first, second))
    _, ratios = replay(tried, *tables)
    assert ratios == [pytest.approx((ROWS_EACH - common) / ROWS_EACH, abs=1e-12)]


@pytest.mark.parametrize(("loss", "target"), [("linear", "real"), ("logistic", "binary")])
@pytest.mark.parametrize("shape", [(1, ()), (3, ()), (2, (3,)), (0, (2, 3))])
@pytest.mark.parametrize("scaling", ["box", "ball"])
@pytest.mark.parametrize("convention", ["monomial", "matrix", "code"])
def test_the_bound_of_a_person_is_that_of_all_its_rows_replaced_or_missing(
    loss, target, shape, scaling, convention, geometry, adversary
) -> None:
    """It is k times one row's, at most what one more numeric column costs, and no row comes or goes at a higher price."""
    numeric, groups = shape
    constant = (numeric + len(groups) + 1) ** -0.5 if scaling == "ball" else 1.0
    rows = geometry(numeric, groups, intercept=True, scaling=scaling, target=target, constant=constant)
    query = Polynomial(adversary.losses[loss], of_persons(rows), convention)
    one = query.l1_bound("tight") / ROWS_EACH
    assert one >= Polynomial(adversary.losses[loss], rows, convention).l1_bound("tight") * (1 - 1e-12)
    assert query.l1_bound("paper") == ROWS_EACH * Polynomial(adversary.losses[loss], rows, convention).l1_bound("paper")
    assert query.rescaled_bound(np.ones(query.geometry.dimension)) == pytest.approx(query.l1_bound("tight"), rel=1e-9)
    lone = adversary.neighbours(query.geometry, np.random.default_rng(0)).rows(2_000)
    worst = float(np.abs(contributions(query, lone, 0)).sum(axis=1).max())
    assert 0.3 * one < worst <= one * (1 + 1e-12)


def test_the_count_of_rows_is_private_where_persons_have_several(geometry, adversary) -> None:
    rows = geometry(2, intercept=True)
    public, private = (Polynomial(adversary.losses["linear"], each) for each in (rows, of_persons(rows)))
    assert private.size == public.size + 1
    answer = np.arange(private.size, dtype=float)[None]
    assert private.quadratic(answer, np.array([1e6])).matrix.max() < 1e3  # n fills no coefficient


def test_every_mechanism_that_claims_privacy_for_persons_is_tried_here() -> None:
    """A mechanism that declares nothing is pruned; one that declares persons is added to the list above."""
    handling = {name for name in registry().names("mechanism") if registry().get("mechanism", name).handles_persons}
    assert handling - {name.split()[0] for name in MECHANISMS} == {"no_privacy", "truncated"}


def test_a_mechanism_that_does_not_declare_persons_is_pruned(make) -> None:
    class Silent(BoundOfOneRow):
        handles_persons = False

    model = make("model", "linear")
    reason = Silent().unsupported(model, of_persons(example_geometry(model, 2)))
    assert reason is not None
    assert "proven for neighbours that differ in one row" in reason
    published = make("mechanism", "cdp_irls", variant="published")
    assert published.unsupported(model, of_persons(example_geometry(model, 2))) == reason.replace("one_row", "cdp_irls")
