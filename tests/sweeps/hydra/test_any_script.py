"""Names in any script, with blanks and quotes, come back from the command line as they were typed."""

from __future__ import annotations

from typing import Any

import pytest

from dpbench.sweeps.hydra.any_script import decode, encode
from dpbench.sweeps.hydra.overrides import parse
from dpbench.sweeps.override_text import override_text

NAMES = ["Größe", "年齢 (y)", "it's", 'say "x"', "a: b", "x\\", "<5 & >2", "€#%;~", "first name", "{a}", "ключ, другой"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{Größe:[0,1]}", {"Größe": [0, 1]}),
        ("{'first name':[0,1], \"it's\": {levels:[ä,'ö ü']}}", {"first name": [0, 1], "it's": {"levels": ["ä", "ö ü"]}}),
        ("{first name:[0,1]}", {"first name": [0, 1]}),
        ("[Größe,年齢]", ["Größe", "年齢"]),
        ("Größe", "Größe"),
        ("Lohn & Gehalt", "Lohn & Gehalt"),
        ("'a,b'", "a,b"),
        ("it's", "it's"),
    ],
)
def test_a_value_is_read_as_it_is_typed(text: str, value: Any) -> None:
    (axis,) = parse([f"dataset.bounds={text}"])
    assert axis.values == (value,)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_from_python_can_be_a_key_a_value_and_part_of_a_list(name: str) -> None:
    for value in ({name: [0, 1]}, name, (name, "b")):
        (axis,) = parse([f"dataset.bounds={override_text(value)}"])
        assert axis.values == (list(value) if isinstance(value, tuple) else value,)


def test_what_the_grammar_can_read_stays_as_it_is() -> None:
    plain = "{a:[0,1],b:{levels:[x,'ö \\' y']}}"
    assert encode(plain) == plain
    assert decode(encode("ö")) == "ö"
    assert encode("ö").isascii()
