"""Whatever a name contains, a terminal of any width and any encoding shows all of it and obeys none of it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence

import pytest
from rich.table import Table

from dpbench.base.terminal import console, fits, print_grid, say, say_prose, shown

ESCAPES = "\x1b[31mred\x1b[0m\x07\x9b5m\u202eback\r"
SPELLED = r"\u001b[31mred\u001b[0m\u0007\u009b5m\u202eback\u000d"


class Terminal(io.TextIOWrapper):
    """A terminal in memory, of an encoding."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding, errors="strict", newline="")

    def isatty(self) -> bool:
        return True

    @property
    def text(self) -> str:
        self.flush()
        raw = self.buffer.raw if isinstance(self.buffer, io.BufferedWriter) else self.buffer
        assert isinstance(raw, io.BytesIO)
        return re.sub(r"\x1b\[[0-9;]*m", "", raw.getvalue().decode(self.encoding))


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")


def table(header: Sequence[str], *rows: Sequence[str], title: str = "") -> Table:
    made = Table(title=title or None, pad_edge=False)
    for name in header:
        made.add_column(name, no_wrap=True)
    for row in rows:
        made.add_row(*row)
    return made


def test_control_characters_are_spelled_and_lines_stay() -> None:
    assert shown(ESCAPES) == SPELLED
    assert shown("a\tb\nε") == "a\tb\nε"


def test_a_spelled_control_character_is_what_json_reads() -> None:
    assert json.loads(shown(json.dumps({"name": "\x9b5m"}, ensure_ascii=False))) == {"name": "\x9b5m"}


@pytest.mark.parametrize(("encoding", "text"), [("utf-8", "ε ≤ é"), ("cp1252", "eps <= é"), ("ascii", "eps <= ?")])
def test_letters_that_the_terminal_lacks_are_replaced(encoding: str, text: str) -> None:
    assert shown("ε ≤ é", encoding) == text


def test_what_is_said_has_no_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    say(ESCAPES)
    say(ESCAPES, error=True)
    assert capsys.readouterr() == (f"{SPELLED}\n", f"{SPELLED}\n")


def test_a_table_shows_brackets_colons_and_escapes_as_text() -> None:
    out = io.StringIO()
    print_grid(console(out), table(["[bold]name"], [f"[red]{ESCAPES}:smile:"]))
    assert "[bold]name" in out.getvalue()
    assert f"[red]{SPELLED}:smile:" in out.getvalue()


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "ascii"])
@pytest.mark.usefixtures("narrow")
def test_a_table_lines_up_in_every_encoding(encoding: str) -> None:
    out = Terminal(encoding)
    print_grid(console(out), table(["ε", "x"], ["ε-DP", "1"], ["none", "2"]))
    lines = out.text.splitlines()
    assert len(set(map(len, lines))) == 1, lines
    assert ("eps-DP" in out.text) == (encoding != "utf-8")


@pytest.mark.usefixtures("narrow")
def test_what_is_the_same_in_every_row_is_said_once_where_the_table_is_too_wide() -> None:
    out = Terminal()
    wide = table(["name", "constant", "x"], ["a", "c" * 40, "123456.789"], ["b", "c" * 40, "0.00012345"], title="Title")
    assert not fits(console(out), wide)
    print_grid(console(out), wide)
    assert out.text.count("c" * 40) == 1
    assert "Title" in out.text
    assert "│a    │ 123456.789│" in out.text


@pytest.mark.parametrize("columns", ["60", "30"])
def test_a_row_that_is_too_wide_becomes_a_paragraph_that_cuts_nothing(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    out = Terminal()
    names = [f"column{index}" for index in range(12)]
    rows = [[f"name{row}", *(f"{row}.{index}2345" for index in range(1, 12))] for row in range(3)]
    print_grid(console(out), table(names, *rows))
    assert "…" not in out.text
    assert max(map(len, out.text.splitlines())) <= int(columns)
    paragraphs = re.split(r"^(?=name)", out.text, flags=re.MULTILINE)[1:]
    for paragraph, row in zip(paragraphs, rows, strict=True):
        pairs = [f"{name}: {cell}" for name, cell in zip(names[1:], row[1:], strict=True)]
        assert re.split(r"; |\n  ", paragraph.strip())[1:] == pairs


@pytest.mark.usefixtures("narrow")
def test_prose_is_wrapped_between_words_and_its_table_stays() -> None:
    out = Terminal()
    made = table(["name"], ["a"])
    made.add_column("says")
    made.columns[1]._cells.append("some words that do not fit one line of a narrow terminal at all")
    print_grid(console(out), made)
    assert "│name" in out.text or "┃name" in out.text
    assert all(
        word in out.text.split()
        for word in ["some", "words", "that", "do", "not", "fit", "one", "line", "of", "a", "narrow", "terminal"]
    )


def test_a_pipe_gets_one_line_for_each_row() -> None:
    out = io.StringIO()
    print_grid(console(out), table(["a", "b"], ["x" * 100, "y" * 100]))
    assert f"{'x' * 100} │ {'y' * 100}" in out.getvalue()


def test_prose_breaks_between_words_on_a_terminal_and_nowhere_else(narrow: None, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "ok      versions: " + "made-by-somebody else " * 8
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    say_prose(text.strip(), indent=8)
    first, *others = terminal.text.splitlines()
    assert max(map(len, [first, *others])) <= 60
    assert all(line.startswith(" " * 8) for line in others)
    assert " ".join(terminal.text.split()) == " ".join(text.split())
    file = io.StringIO()
    monkeypatch.setattr("sys.stdout", file)
    say_prose(text.strip(), indent=8)
    assert file.getvalue() == text.strip() + "\n"


def test_paragraphs_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    say_prose("One sentence of more than forty characters.\n\nAnother one.")
    assert terminal.text == "One sentence of more than forty\ncharacters.\n\nAnother one.\n"


@pytest.mark.parametrize("width", range(58, 90))
def test_a_table_that_fits_is_whole_whatever_its_columns_leave_over(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rich alone narrows the widest columns evenly, and cuts off the last ones when numbers then need their width again."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    made = Table(pad_edge=False)
    for name in ("mechanism", "mean rank", "first of all", "second of all", "close to the best", "verdict"):
        made.add_column(name, justify="left" if name in ("mechanism", "verdict") else "right")
    made.add_row("objective_perturbation (variant=tight)", "4.88", "1,234,567", "7,654,321", "94 %", "sound, pure ε")
    made.add_row("best", "2.22", "1,234,568", "7,654,322", "95 %", "sound")
    terminal = Terminal()
    out = console(terminal)
    print_grid(out, made)
    assert max(map(len, terminal.text.splitlines())) <= width
    assert {"1,234,567", "7,654,321", "(variant=tight)", "sound,", "94"} <= set(re.split(r"[\s│;]+", terminal.text))
