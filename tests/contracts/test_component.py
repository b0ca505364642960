"""A component is its name, the first line of its docstring, and options that are checked when it is made."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass
from typing import ClassVar

import pytest

from dpbench.base.errors import Refused
from dpbench.base.options import option
from dpbench.contracts.component import Component


@dataclass(frozen=True)
class Shrunk(Component):
    """Shrinks the weights.

    At length.
    """

    kind: ClassVar[str] = "mechanism"
    name: ClassVar[str] = "shrunk"

    factor: float = option(0.5, low=0, high=1)
    columns: tuple[str, ...] = ()


def test_the_summary_is_the_first_line_of_the_docstring() -> None:
    assert Shrunk.summary() == "Shrinks the weights."


def test_options_are_plain_data_with_defaults_included() -> None:
    assert Shrunk.build({"columns": ["a"]}).options() == {"factor": 0.5, "columns": ("a",)}


def test_wrong_and_unknown_options_are_refused_however_the_component_is_made() -> None:
    with pytest.raises(Refused, match=r"The 'factor' option of shrunk must be a float in the range \[0, 1\]\. Got 2 instead\."):
        Shrunk(factor=2)
    with pytest.raises(Refused, match=r"no option of shrunk named 'factr'\. Did you mean factor"):
        Shrunk.build({"factr": 1})


def test_a_component_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Shrunk().factor = 0.1
