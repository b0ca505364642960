"""Options take what their type says, within their limits, and refuse the rest in one sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pytest

from dpbench.base.errors import Refused
from dpbench.base.options import Limits, option, options_of
from dpbench.contracts.component import Component


@dataclass(frozen=True)
class Sample(Component):
    """A component with an option of every type."""

    kind: ClassVar[str] = "mechanism"
    name: ClassVar[str] = "sample"

    rate: float = option(0.5, low=0, high=1, open_low=True, help="a share")
    count: int = option(3, low=1)
    flag: bool = False
    word: str = "a"
    repair: Literal["trim", "floor"] = "trim"
    alpha: Literal["paper"] | float = option("paper", low=0)
    columns: tuple[str, ...] = ()
    bounds: dict[str, Any] = field(default_factory=dict)
    limit: float | None = None


@pytest.mark.parametrize(
    ("name", "given", "taken"),
    [
        ("rate", 1, 1.0),
        ("count", 1, 1),
        ("flag", True, True),
        ("word", "", ""),
        ("repair", "floor", "floor"),
        ("alpha", "paper", "paper"),
        ("alpha", 2, 2.0),
        ("columns", ["a", "b"], ("a", "b")),
        ("bounds", {"a": [0, 1]}, {"a": [0, 1]}),
        ("limit", None, None),
        ("limit", 4, 4.0),
    ],
)
def test_a_value_of_the_type_is_taken_as_the_type(name: str, given: Any, taken: Any) -> None:
    value = getattr(Sample.build({name: given}), name)
    assert value == taken
    assert type(value) is type(taken)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("rate", 0),
        ("rate", 1.0000001),
        ("rate", -0.1),
        ("rate", math.nan),
        ("rate", math.inf),
        ("rate", "0.5"),
        ("rate", True),
        ("count", 0),
        ("count", 2.0),
        ("count", False),
        ("flag", 1),
        ("flag", "true"),
        ("word", 3),
        ("repair", "bend"),
        ("alpha", "pape"),
        ("alpha", -1),
        ("alpha", math.inf),
        ("columns", "a"),
        ("columns", ["a", 1]),
        ("bounds", ["a"]),
        ("limit", "none"),
    ],
)
def test_any_other_value_is_refused_with_what_is_allowed_and_what_came(name: str, given: Any) -> None:
    with pytest.raises(Refused) as refusal:
        Sample.build({name: given})
    opt = next(opt for opt in options_of(Sample) if opt.name == name)
    assert str(refusal.value) == f"The '{name}' option of sample must be {opt.allowed}. Got {given!r} instead."


def test_the_allowed_values_are_said_in_words() -> None:
    allowed = {opt.name: opt.allowed for opt in options_of(Sample)}
    assert allowed["rate"] == "a float in the range (0, 1]"
    assert allowed["count"] == "an int in the range [1, inf)"
    assert allowed["repair"] == "one of 'trim', 'floor'"
    assert allowed["alpha"] == "one of 'paper' or a float in the range [0, inf)"
    assert allowed["limit"].endswith("or null")


def test_a_misspelt_option_is_refused_with_the_near_names() -> None:
    with pytest.raises(Refused, match=r"no option of sample named 'colums'\. Did you mean columns"):
        Sample.build({"colums": []})


def test_mutable_defaults_are_not_shared_between_components() -> None:
    @dataclass(frozen=True)
    class Holder(Component):
        """One mapping."""

        name: ClassVar[str] = "holder"
        table: dict[str, int] = option({"a": 1})

    first, second = Holder(), Holder()
    first.table["b"] = 2
    assert second.table == {"a": 1}


def test_limits_include_an_end_unless_it_is_open() -> None:
    assert Limits(0, 1).hold(0)
    assert Limits(0, 1).hold(1)
    assert not Limits(0, 1, open_low=True).hold(0)
    assert not Limits(0, 1, open_high=True).hold(1)
    assert str(Limits(0, 1, open_high=True)) == "[0, 1)"
    assert str(Limits()) == "(-inf, inf)"


def test_options_are_plain_data_in_the_order_of_the_fields() -> None:
    assert list(Sample().options()) == [opt.name for opt in options_of(Sample)]
