"""Cells are compared only with those of the same rule for sensitivities and the same currency."""

from __future__ import annotations

import pytest
from cell_factory import make_cell
from report_helpers import errors_cell

from dpbench.records.cell_record import CellRecord
from dpbench.report.statistics.comparable import comparable, currency_text, groups, rule_of, rule_text


def ruled(name: str, rule: str = "", delta: float = 0.0) -> CellRecord:
    return make_cell(name, tags={"dpbench.sensitivity": rule}, metrics={"privacy/delta": delta})


def names(cells: list[CellRecord]) -> list[list[str]]:
    return [[cell.params["mechanism"] for cell in group] for group in comparable(cells)]


def test_cells_of_different_rules_are_apart_and_the_tight_ones_come_first() -> None:
    assert names([ruled("a", "paper"), ruled("b", "tight"), ruled("c", "paper"), ruled("d", "code")]) == [
        ["b"],
        ["d"],
        ["a", "c"],
    ]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (["paper", "tight"], [["m1", "any"], ["m0"]]),
        (["paper"], [["m0", "any"]]),
        (["paper", "code"], [["any"], ["m1"], ["m0"]]),
        ([], [["any"]]),
    ],
    ids=["joins the tight ones", "joins the only others", "has no side to take", "is alone"],
)
def test_a_cell_whose_bound_is_the_same_under_every_rule_fits(rules: list[str], expected: list[list[str]]) -> None:
    assert names([*(ruled(f"m{index}", rule) for index, rule in enumerate(rules)), ruled("any")]) == expected


def test_epsilon_alone_is_not_compared_with_epsilon_at_a_delta() -> None:
    assert names([ruled("a", delta=1e-6), ruled("b"), ruled("c", delta=1e-6)]) == [["b"], ["a", "c"]]


def test_the_order_within_a_group_is_kept() -> None:
    assert names([ruled("c"), ruled("a", "tight"), ruled("b")]) == [["c", "a", "b"]]


def test_rules_and_currencies_have_words() -> None:
    group = [ruled("any"), ruled("a", "tight")]
    assert rule_text(rule_of(group)) == "the smallest proven sensitivity (tight)"
    assert rule_text("paper") == "the sensitivity of the rule 'paper'"
    assert "every rule" in rule_text(rule_of([ruled("any")]))
    assert currency_text(group) == "a guarantee by ε alone (δ = 0)"
    assert currency_text([ruled("a", delta=1e-6)]) == "a guarantee by ε with a δ (δ = 1e-06)"


def test_groups_keep_problems_and_epsilons_apart() -> None:
    rows = [errors_cell("a", [1.0], dataset=name, epsilon=size) for name in ("wine", "adult") for size in (0.1, 0.8)]
    rows += [errors_cell("b", [1.0]), errors_cell("c", [1.0], private=False)]
    rows += [
        errors_cell("d", [1.0], tags={"dpbench.sensitivity": "paper"}),
        errors_cell("e", [1.0], tags={"dpbench.sensitivity": "tight"}),
    ]
    assert sorted(len(group) for group in groups(rows)) == [1, 1, 1, 1, 3]
