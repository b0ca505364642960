"""A choice among candidates costs what was asked for, whatever their number, and leaves each the most that is proven."""

from __future__ import annotations

import math

import pytest

from dpbench.accounting.composition import compose
from dpbench.accounting.conversion import gdp_of_epsilon
from dpbench.accounting.costs import Approx, Cost, Gdp, Pure, Zcdp
from dpbench.accounting.selection_plan import SelectionPlan, each_once, plans, random_stopping
from dpbench.accounting.selection_price import LOGARITHMIC, Guarantee, candidate_budget, private_selection

MEAN = 21.5
CANDIDATES = [[True], [True] * 2, [True] * 7, [False], [False] * 5, [True, False], [True, False, False, True]]


def spent(plan: SelectionPlan, pure: bool) -> list[Cost]:
    """What the answers of a candidate, pure or not, cost if it spends its share to the full."""
    share = next(share for share in plan.shares if (share.fit.delta == 0) == pure)
    if not share.fit.delta:
        return [Pure(share.fit.epsilon), Pure(share.score)]
    return [Gdp(gdp_of_epsilon(share.fit.epsilon, share.fit.delta)), Pure(share.score)]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("pure", CANDIDATES)
def test_the_total_is_what_was_asked_for_and_the_shares_keep_within_it(pure: list[bool], epsilon: float) -> None:
    for plan in plans(epsilon, 1e-6, pure, MEAN):
        assert plan.guarantee.epsilon == pytest.approx(epsilon, rel=1e-9)
        assert plan.guarantee.delta == (0.0 if all(pure) else 1e-6)
        assert plan.adds_up(MEAN)
        for is_pure in pure:
            assert plan.covers(spent(plan, is_pure))
            assert not plan.covers([*spent(plan, is_pure), Pure(epsilon / 10)])
            assert not plan.covers([Zcdp(10.0)])


@pytest.mark.parametrize("pure", CANDIDATES)
def test_candidates_that_each_cost_more_do_not_add_up(pure: list[bool]) -> None:
    for plan in plans(1.0, 1e-6, pure, MEAN):
        fields = vars(plan.candidate)
        for name in fields:
            dearer = type(plan.candidate)(**{**fields, name: fields[name] * 1.01})
            assert not SelectionPlan(plan.way, plan.total, plan.delta, dearer, plan.shares).adds_up(MEAN)


def test_two_pure_candidates_are_tried_once_and_three_at_random() -> None:
    """Composition leaves each ε / k, random stopping ε / 2."""
    ways = {k: plans(1.0, 1e-6, [True] * k, MEAN)[0].way for k in (1, 2, 3, 9)}
    assert ways == {1: "each once", 2: "each once", 3: "random stopping", 9: "random stopping"}


def test_normal_candidates_are_tried_once_up_to_five() -> None:
    """Composition leaves each μ / √k."""
    ways = [plans(1.0, 1e-6, [False] * k, MEAN)[0].way for k in range(1, 9)]
    assert ways == ["each once"] * 5 + ["random stopping"] * 3


def test_each_candidate_once_spends_all_of_mu() -> None:
    plan = each_once(1.0, 1e-6, [False] * 3)
    assert plan is not None
    assert compose(spent(plan, False) * 3, 1e-6).epsilon == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("total", [Guarantee(1.0, 0.0), Guarantee(0.3, 1e-6), Guarantee(5.0, 1e-9)])
def test_a_candidate_of_random_stopping_has_the_budget_whose_choice_costs_the_total(total: Guarantee) -> None:
    candidate = candidate_budget(total, MEAN)
    assert candidate is not None
    price = private_selection([candidate] * 4, LOGARITHMIC, MEAN)
    assert (price.epsilon, price.delta) == (pytest.approx(total.epsilon), pytest.approx(total.delta))


def test_an_epsilon_that_leaves_no_delta_has_no_random_stopping() -> None:
    assert random_stopping(600.0, 1e-6, [False] * 3, MEAN) is None
    assert random_stopping(800.0, 1e-6, [False] * 3, MEAN) is None
    pure = random_stopping(600.0, 1e-6, [True] * 3, MEAN)
    assert pure is not None
    assert pure.candidate == Pure(300.0)


def test_a_mean_of_more_draws_leaves_less_delta_and_the_same_epsilon() -> None:
    few, many = (random_stopping(1.0, 1e-6, [False], mean) for mean in (2.0, 200.0))
    assert few is not None
    assert many is not None
    assert isinstance(few.candidate, Approx)
    assert isinstance(many.candidate, Approx)
    assert few.candidate.epsilon == many.candidate.epsilon == 0.5
    assert math.isclose(few.candidate.delta, 100 * many.candidate.delta)
