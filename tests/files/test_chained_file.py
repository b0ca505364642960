"""A file that is only appended to: whatever is changed in it breaks the chain."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.files.chained_file import BrokenChain, ChainedFile


@pytest.fixture
def file(tmp_path: Path) -> ChainedFile:
    """Return a file of five records."""
    chained = ChainedFile(tmp_path / "folder" / "book.jsonl")
    for number in range(5):
        chained.append(lambda records, number=number: {"number": number, "before": len(records)})  # type: ignore[misc]
    return chained


def test_records_are_read_in_their_order(file: ChainedFile) -> None:
    assert [(record["number"], record["before"]) for record in file.read()] == [(number, number) for number in range(5)]
    assert ChainedFile(file.path.with_name("none")).read() == []
    assert file.path.stat().st_mode & 0o077 == 0, "only its owner can read it"


@pytest.mark.parametrize("line", range(5))
@pytest.mark.parametrize("change", ["edit", "remove", "repeat", "swap"])
def test_a_change_is_found_wherever_it_is(file: ChainedFile, line: int, change: str) -> None:
    lines = file.path.read_text().splitlines(keepends=True)
    if change == "edit":
        lines[line] = lines[line].replace('"number": ', '"number": 1')
    elif change == "remove":
        del lines[line]
    elif change == "repeat":
        lines.insert(line, lines[line])
    else:
        lines[line], lines[line - 1] = lines[line - 1], lines[line]
    file.path.write_text("".join(lines))
    if change == "remove" and line == 4:
        assert len(file.read()) == 4, "a missing end is the one thing that no chain shows"
        return
    with pytest.raises(BrokenChain, match="chain of hashes is broken"):
        file.read()
    with pytest.raises(BrokenChain):
        file.append(lambda _: {})


def test_a_line_that_a_crash_cut_off_was_never_appended(file: ChainedFile) -> None:
    whole = file.path.read_bytes()
    file.path.write_bytes(whole + b'{"number": 5, "be')
    assert len(file.read()) == 5
    file.append(lambda records: {"number": len(records)})
    assert [record["number"] for record in file.read()] == list(range(6))


def test_a_refused_record_changes_nothing(file: ChainedFile) -> None:
    def refuse(_: object) -> dict:
        raise Refused("No.")

    before = file.path.read_bytes()
    with pytest.raises(Refused, match="No"):
        file.append(refuse)
    assert file.path.read_bytes() == before
