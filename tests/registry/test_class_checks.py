"""A class that does not keep its contract is explained in one sentence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpbench.registry.discovery import Registration


@pytest.mark.parametrize(
    ("wrong", "right", "reason"),
    [
        ("@dataclass(frozen=True)\n", "", "The class Some must be decorated with @dataclass(frozen=True)."),
        ("'''Something.'''", "pass", "The class Some must have a docstring"),
        ("'some'", "'Some'", "The name of Some must be small letters, digits and _, a letter first. Got 'Some' instead."),
        (
            "name = 'some'",
            "name = 'some'\n    api_version = 2",
            "The class Some was written for version 2 of dpbench's",
        ),
        ("name = 'some'", "name = 'some'\n    api_version = '1'", "The api_version of Some must be a whole number from 1 on."),
        ("'some'", "'2nd'", "The name of Some must be"),
        ("'some'", "None", "The name of Some must be"),
        ("name = 'some'", "name: str = 'some'", "The name of Some must be written without a type"),
        ("'some'", "'some'\n    shrink: float", "The option 'shrink' of Some must have a default."),
        (
            "name = 'some'",
            "name = 'some'\n    shrink: flaot = 1",
            "The types of the options of Some must be names that its module",
        ),
        (
            "name = 'some'",
            "name = 'some'\n    shrink: complex = 1j",
            "The type of the option 'shrink' of Some must be float, int",
        ),
        (
            "name = 'some'",
            "name = 'some'\n    shrink: list[int] = ()",
            "The type of the option 'shrink' of Some must be float, int",
        ),
        (
            "name = 'some'",
            "name = 'some'\n    pair: tuple[int, int] = (1, 2)",
            "The type of the option 'pair' of Some must be float",
        ),
        (
            "name = 'some'",
            "name = 'some'\n    shrink: float = option(2, high=1)",
            "The 'shrink' option of Some, by default, must be",
        ),
        ("'some'", "'some'\n    shrink: int = 0.5", "The 'shrink' option of Some, by default, must be an int"),
        ("'some'", "'some'\n    guarantee = 3", "The guarantee of Some must be a text of at most 60 characters. Got 3 instead."),
        (
            "'some'",
            "'some'\n    published_sensitivity = 'loose'",
            "The published_sensitivity of Some must be one of paper, fang, code, tight. Got 'loose' instead.",
        ),
        (
            "'some'",
            "'some'\n    published_sensitivity = 'paper'",
            "The class Some has a published_sensitivity, so it must have an option 'sensitivity'.",
        ),
    ],
)
def test_a_class_that_keeps_no_contract_is_explained(
    install: Callable[..., None],
    wrong: str,
    right: str,
    reason: str,
    entry: Callable[[str], Registration],
    spoilt: Callable[[str, str], str],
) -> None:
    install("careless", draft=spoilt(wrong, right))
    one = entry("careless")
    assert (one.kind, one.health, one.offer) == ("mechanism", "broken", None)
    assert one.reason.startswith(reason), one.reason


@pytest.mark.parametrize("bases", ["Component", "Component, ABC"])
def test_methods_left_abstract_are_named(
    install: Callable[..., None], bases: str, entry: Callable[[str], Registration], spoilt: Callable[[str, str], str]
) -> None:
    source = spoilt("name = 'some'\n", "name = 'some'\n\n    @abstractmethod\n    def fit(self): ...\n")
    source = source.replace("(Component)", f"({bases})").replace(
        "import dataclass", "import dataclass\nfrom abc import ABC, abstractmethod"
    )
    install("lazy", draft=source)
    assert entry("lazy").reason == "The class Some must define fit."
