"""Zipped keys vary together, and conditions leave combinations out."""

from __future__ import annotations

from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.experiments.combinations import Combinations

VALUES = {"mechanism": ["fm", "dpba"], "epsilon": [0.1, 1.0], "seed": [0, 1]}


def rows(rules: Combinations, values: Any = VALUES) -> list[tuple[Any, ...]]:
    return [tuple(combination.values()) for combination in rules.combine(values) if not rules.met(combination)]


def test_without_rules_every_combination_is_there_the_last_key_fastest() -> None:
    assert len(rows(Combinations())) == 8
    assert rows(Combinations())[:3] == [("fm", 0.1, 0), ("fm", 0.1, 1), ("fm", 1.0, 0)]


@pytest.mark.parametrize("written", [("epsilon", "seed"), (["epsilon", "seed"],), ([["epsilon", "seed"]],)])
def test_zipped_keys_take_their_values_together(written: Any) -> None:
    assert rows(Combinations.parse(written, ())) == [("fm", 0.1, 0), ("fm", 1.0, 1), ("dpba", 0.1, 0), ("dpba", 1.0, 1)]


def test_several_groups_are_multiplied_with_each_other() -> None:
    values = {**VALUES, "model": ["linear", "ridge"]}
    found = rows(Combinations.parse((["mechanism", "model"], ["seed", "epsilon"]), ()), values)
    assert found == [
        *(("fm", 0.1, 0, "linear"), ("fm", 1.0, 1, "linear")),
        *(("dpba", 0.1, 0, "ridge"), ("dpba", 1.0, 1, "ridge")),
    ]


def test_zipped_keys_with_different_numbers_of_values_are_refused_with_both() -> None:
    rules = Combinations.parse(("epsilon", "seed"), ())
    with pytest.raises(Refused, match=r"same number of values. Got 3 of epsilon and 2 of seed\.$"):
        list(rules.combine({"epsilon": [1, 2, 3], "seed": [0, 1]}))


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ({"mechanism": "fm"}, 4),
        ({"mechanism": "fm", "epsilon": 0.1}, 6),
        ({"mechanism": ["fm", "dpba"], "epsilon": 0.1, "seed": 1}, 6),
        ({"epsilon": ">= 0.5"}, 4),
        ({"epsilon": "1"}, 4),
        ({"mechanism": "fm", "other": 1}, 8),
    ],
)
def test_a_combination_that_meets_every_part_of_a_condition_is_left_out(condition: dict[str, Any], left: int) -> None:
    assert len(rows(Combinations.parse((), (condition,)))) == left


def test_one_of_several_conditions_is_enough() -> None:
    rules = Combinations.parse((), ([{"mechanism": "fm", "seed": 0}, {"mechanism": "dpba", "seed": 1}],))
    assert {(name, seed) for name, _, seed in rows(rules)} == {("fm", 1), ("dpba", 0)}
    assert rules.met({"mechanism": "dpba", "seed": 1}) == [1]


def test_a_value_that_is_a_list_or_null_can_be_named() -> None:
    values = {"dataset.attributes": [["a", "b"], ["a"], None], "seed": [0]}
    assert rows(Combinations.parse((), ({"dataset.attributes": ["a", "b"]},)), values) == [(["a"], 0), (None, 0)]
    assert rows(Combinations.parse((), ({"dataset.attributes": None},)), values) == [(["a", "b"], 0), (["a"], 0)]


@pytest.mark.parametrize(
    ("zipped", "skipped", "words"),
    [
        (("epsilon",), (), "at least two keys"),
        ((1, 2), (), "at least two keys"),
        ((["epsilon", "seed"], "mechanism"), (), "at least two keys"),
        (("epsilon", "epsilon"), (), "each key once. Got 'epsilon' 2 times"),
        ((["epsilon", "seed"], ["seed", "mechanism"]), (), "each key once. Got 'seed' 2 times"),
        ((), ("fm",), "the values of a combination"),
        ((), ({},), "the values of a combination"),
    ],
)
def test_what_is_no_rule_is_refused(zipped: Any, skipped: Any, words: str) -> None:
    with pytest.raises(Refused, match=words):
        Combinations.parse(zipped, skipped)


@pytest.mark.parametrize("nothing", [(), (None,), ([],)])
def test_null_and_an_empty_list_are_no_rule(nothing: Any) -> None:
    assert Combinations.parse(nothing, nothing) == Combinations()


def test_a_key_or_a_value_that_the_request_does_not_have_is_refused_with_near_names() -> None:
    with pytest.raises(Refused, match=r"'zip' names 'sed', which has no values in this sweep\. Did you mean seed"):
        Combinations.parse(("epsilon", "sed"), ()).check(VALUES)
    with pytest.raises(Refused, match="'skip' names 'model', which has no values"):
        Combinations.parse((), ({"model": "ridge"},)).check(VALUES)
    with pytest.raises(Refused, match=r"'skip' names mechanism=dbpa, which is no value of this sweep\. Did you mean dpba"):
        Combinations.parse((), ({"mechanism": ["fm", "dbpa"]},)).check(VALUES)
    with pytest.raises(Refused, match="'skip' names epsilon=>= x, which is no value"):
        Combinations.parse((), ({"epsilon": ">= x"},)).check(VALUES)
    Combinations.parse((), ({"mechanism": ["fm", "dpba"], "epsilon": "< 0.5"},)).check(VALUES)


def test_a_preset_s_rules_lose_the_keys_that_a_request_takes_away() -> None:
    rules = Combinations.parse((["epsilon", "seed", "mechanism"],), ({"mechanism": "fm", "model": "ridge"}, {"seed": 0}))
    within = rules.within({"epsilon": [1], "seed": [0]})
    assert within == Combinations((("epsilon", "seed"),), ({"seed": 0},))
    assert rules.within({"epsilon": [1]}) == Combinations()
