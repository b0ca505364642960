"""Noise whose scales differ from coefficient to coefficient: what dpc and privr release moves by no more than they pay for."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from dpbench.data.scaling import Rows
from dpbench.privacy.queries.polynomial import Polynomial

CONVENTIONS = ["monomial", "matrix", "code"]
TARGETS = {"linear": "real", "logistic": "binary"}
MODELS = {"linear": "linear", "logistic": "logistic"}
SHAPES = {"1 column": (1, ()), "5 columns": (5, ()), "one group": (0, (3,)), "mixed": (3, (2, 3))}
SCALINGS = [("box", False), ("box", True), ("ball", False), ("ball", True), ("corner", False)]
EPSILON = 0.7


def constant_of(numeric: int, groups: Any, scaling: str, intercept: bool) -> float:
    return 1.0 if scaling == "box" else float((numeric + len(groups) + intercept) ** -0.5)


@pytest.fixture
def polynomial(geometry, adversary):
    def built(numeric: int, groups: Any = (), loss: str = "linear", convention: Any = "monomial", **more: Any) -> Polynomial:
        return Polynomial(adversary.losses[loss], geometry(numeric, groups, target=TARGETS[loss], **more), convention)

    return built


@pytest.mark.parametrize("loss", TARGETS)
@pytest.mark.parametrize(("scaling", "intercept"), SCALINGS)
def test_columns_multiplied_by_one_have_the_tight_bound(loss, scaling, intercept, polynomial) -> None:
    for (numeric, groups), convention in product(SHAPES.values(), CONVENTIONS):
        if groups and scaling == "corner":
            continue
        constant = constant_of(numeric, groups, scaling, intercept)
        query = polynomial(numeric, groups, loss, convention, intercept=intercept, scaling=scaling, constant=constant)
        ones = np.ones((2, query.geometry.dimension))
        assert (query.rescaled_bound(ones) == query.l1_bound("tight")).all()


@pytest.mark.parametrize("intercept", [False, True])
def test_rescaled_columns_in_the_box_have_the_closed_form_and_meet_it(intercept, polynomial, adversary) -> None:
    """(Q + 1)² and (Q + 2)²/8 with Q = Σ q_j, where no column outweighs the others; the search knows no formula."""
    generator = np.random.default_rng(0)
    for m, loss, convention in product((3, 5, 13), TARGETS, ("monomial", "code")):
        query = polynomial(m, loss=loss, convention=convention, intercept=intercept)
        q = generator.uniform(0.5, 1.5, query.geometry.dimension)
        total = q.sum()
        bound = float(query.rescaled_bound(q))
        assert bound == pytest.approx({"linear": (total + 1) ** 2, "logistic": (total + 2) ** 2 / 8}[loss], rel=1e-12)
        assert adversary.along(query, 1 / query.products(q)) == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize("loss", TARGETS)
def test_brute_force_over_a_grid_reaches_the_bound_of_rescaled_columns(loss, polynomial, adversary) -> None:
    """Every pair of rows of two columns on a grid, an intercept that outweighs them or not: at most the bound, and near it."""
    grid = np.linspace(-1, 1, 21)
    values = np.array(list(product(grid, grid)))
    low = -1.0 if loss == "linear" else 0.0
    for q0 in (0.3, 1.0, 9.0):
        query = polynomial(2, loss=loss, intercept=True)
        q = np.array([q0, 0.6, 1.3])
        first, second = np.array(list(combinations_with_replacement(range(len(values)), 2))).T
        most = 0.0
        for y, other in ((1.0, low), (1.0, 1.0), (low, low)):
            a = Rows(np.column_stack([np.ones(len(first)), values[first], np.full(len(first), y)]), query.geometry)
            b = Rows(np.column_stack([np.ones(len(first)), values[second], np.full(len(first), other)]), query.geometry)
            most = max(most, float(adversary.moved(query, a, b, 1 / query.products(q)).max()))
        assert 0.99 * query.rescaled_bound(q) < most <= query.rescaled_bound(q) * (1 + 1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("loss", TARGETS)
@pytest.mark.parametrize(("scaling", "intercept"), SCALINGS)
def test_no_neighbours_move_rescaled_coefficients_by_more_than_their_bound(
    shape, loss, scaling, intercept, polynomial, adversary
) -> None:
    """10,000 adversarial pairs, every convention, factors from a fiftieth to fifty."""
    numeric, groups = SHAPES[shape]
    if scaling == "corner":
        numeric, groups = numeric + len(groups), ()
    constant = constant_of(numeric, groups, scaling, intercept)
    generator = np.random.default_rng(1)
    for convention in CONVENTIONS:
        query = polynomial(numeric, groups, loss, convention, scaling=scaling, intercept=intercept, constant=constant)
        first, second = adversary.hostile(query)
        for spread in (0.3, 1.0, 4.0):
            q = np.exp(generator.uniform(-spread, spread, query.geometry.dimension))
            worst = adversary.moved(query, first, second, 1 / query.products(q)).max()
            assert worst <= query.rescaled_bound(q) * (1 + 1e-12)


def asked(model: str, mechanism: Any, sample: Any, make: Any, curate: Any) -> tuple[Any, Any]:
    curator = curate(sample, epsilon=EPSILON)
    problem = make("model", model, intercept=curator.geometry.intercept).prepare(curator)
    mechanism.fit(curator, problem, curator.ledger.budget)
    return curator, problem


@pytest.mark.parametrize("shape", ["1 column", "5 columns", "mixed"])
@pytest.mark.parametrize("loss", TARGETS)
@pytest.mark.parametrize(("scaling", "intercept"), SCALINGS)
def test_no_neighbours_move_what_dpc_and_privr_release_by_more_than_they_pay_for(
    shape, loss, scaling, intercept, make, curate, geometry, adversary
) -> None:
    numeric, groups = SHAPES[shape]
    if scaling == "corner":
        numeric, groups = numeric + sum(groups), ()
    g = geometry(numeric, groups, intercept, scaling, TARGETS[loss], constant_of(numeric, groups, scaling, intercept))
    some = adversary.neighbours(g, np.random.default_rng(3)).rows(50)
    chosen: list[tuple[str, dict[str, Any]]] = [("privr", {"rule": rule}) for rule in ("proportional", "threshold")]
    named = [("x0",), tuple(g.columns[-3:])]
    chosen += [("dpc", {"sensitive": g.columns, "gamma": 0.2, "sensitivity": "tight"})]
    chosen += [
        ("dpc", {"sensitive": names, "gamma": gamma, "convention": convention, "sensitivity": sensitivity, "beta_rule": rule})
        for names, gamma, (convention, sensitivity), rule in product(
            named, (0.001,), product(CONVENTIONS, ["paper", "fang", "code", "tight"]), ("share", "paper")
        )
    ]
    hostile = {c: adversary.hostile(Polynomial(adversary.losses[loss], g, c)) for c in CONVENTIONS}
    for name, options in chosen:
        curator, problem = asked(MODELS[loss], make("mechanism", name, **options), some, make, curate)
        convention = options.get("convention", "monomial")
        for answer in curator.tape:
            if answer.query == "relevance":
                continue
            query = adversary.released(problem, answer, convention)
            worst = adversary.moved(query, *hostile[convention], answer.noise.scale).max()
            assert worst <= answer.noise.bound * (1 + 1e-12), f"{name} {options}: {worst / answer.noise.bound}"
        assert sum(answer.noise.bound for answer in curator.tape) == pytest.approx(EPSILON, rel=1e-12)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("D", [4, 13])
def test_one_pair_spends_all_of_dpc_s_budget_with_the_tight_bound(D, k, make, curate, geometry, rows, adversary) -> None:
    """x = (1, …, 1), y = 1 against 1/(D - k) in the ordinary columns, 0 in the sensitive ones, y' = -1: whatever γ."""
    g = geometry(D)
    other = np.r_[np.zeros(k), np.full(D - k, 1 / (D - k))]
    for gamma in (0.001, 0.1, 1.0):
        dpc = make("mechanism", "dpc", sensitive=g.columns[:k], gamma=gamma, sensitivity="tight")
        curator, problem = asked("linear", dpc, rows(g, np.zeros((3, D)), np.zeros(3)), make, curate)
        (answer,) = curator.tape
        query = adversary.released(problem, answer)
        moved = adversary.moved(query, rows(g, np.ones(D), 1), rows(g, other, -1), answer.noise.scale)
        assert moved[0] == pytest.approx(EPSILON, rel=1e-12)


@pytest.mark.parametrize("scaling", ["box", "ball", "corner"])
@pytest.mark.parametrize("loss", TARGETS)
def test_every_answer_of_dpc_privr_and_what_is_left_is_replayed_at_adversarial_neighbours(
    scaling, loss, make, geometry, adversary, replayed
) -> None:
    """The same calls with the same noise, exact answers within the bound, and the same weights."""
    g = geometry(5, scaling="corner", target=TARGETS[loss])
    if scaling != "corner":
        g = geometry(3, (2,), True, scaling, TARGETS[loss], 1.0 if scaling == "box" else 5**-0.5)
    start = adversary.neighbours(g, np.random.default_rng(0)).rows(30)
    first, second = adversary.hostile(Polynomial(adversary.losses[loss], g))
    worst = np.argsort(adversary.moved(Polynomial(adversary.losses[loss], g), first, second))[-3:]
    chosen = [("dpc", {"sensitive": names, "sensitivity": s}) for names in (("x1",), ("x3", "x4")) for s in ("paper", "tight")]
    chosen += [("dpc", {"sensitive": ("x2",), "repair": "floor"}), ("privr", {}), ("privr", {"rule": "threshold"})]
    chosen += [("drop_sensitive", {"sensitive": ("x3", "x4"), "base": base}) for base in ("fm", "dpba", "privr")]
    for at, (name, options) in product(worst, chosen):
        tables = [Rows(np.vstack([start.z[:-1], row[at]]), g) for row in (first.z, second.z)]
        before, after, replay = replayed(make("mechanism", name, **options), *tables, MODELS[loss], EPSILON)
        assert len(replay.ratios) == len(replay.tape) > 0
        assert max(replay.ratios) <= 1 + 1e-12
        np.testing.assert_array_equal(before.weights, after.weights)
