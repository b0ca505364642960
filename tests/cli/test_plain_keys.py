"""Keys of subcommands that compose no configuration: one value each, known names, and files that may be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.cli._plain_keys import output_path, read_keys, read_number, read_truth


def test_a_value_may_hold_an_equals_sign() -> None:
    assert read_keys("predict", ["out=a=b.csv", "interval=0.9"], ("out", "interval")) == {"out": "a=b.csv", "interval": "0.9"}


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["ot=x"], "There is no key of predict named 'ot'. Did you mean out"),
        (["out"], "must have one value. Got none"),
        (["out="], "must have one value. Got none"),
        (["out=a", "out=b"], "must have one value. Got several"),
    ],
)
def test_a_wrong_key_is_refused(texts: list[str], words: str) -> None:
    with pytest.raises(Refused, match=words):
        read_keys("predict", texts, ("out",))


def test_numbers_and_truths_are_read_or_refused() -> None:
    assert read_number("interval", "0.5", "a number") == 0.5
    assert read_truth("overwrite", "True")
    assert not read_truth("overwrite", "false")
    with pytest.raises(Refused, match=r"'interval' must be a number\. Got 'x'"):
        read_number("interval", "x", "a number")
    with pytest.raises(Refused, match=r"must be true or false\. Got 'yes'"):
        read_truth("overwrite", "yes")


def test_an_output_file_is_new_and_none_of_the_inputs(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.touch()
    assert output_path("out", str(tmp_path / "o.csv"), False, [source]) == tmp_path / "o.csv"
    assert output_path("out", str(tmp_path / "in.csv"), True, []) == source
    for text, overwrite, words in (
        (str(tmp_path), False, "is a folder"),
        (str(tmp_path / "no" / "o.csv"), False, "does not exist"),
        (str(source), True, "a file that is read"),
    ):
        with pytest.raises(Refused, match=words):
            output_path("out", text, overwrite, [source])
    with pytest.raises(Refused, match="overwrite=true replaces it"):
        output_path("out", str(source), False, [])
