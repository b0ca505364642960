"""The dialect of a file is guessed from its rows, where the user did not say it."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from dpbench.files.dialect_guess import guess_dialect
from dpbench.files.dialects import Dialect


@pytest.mark.parametrize(
    ("content", "dialect"),
    [
        (b"a,b\n1,2\n", Dialect()),
        (b"\xef\xbb\xbfa;b\n1;2\n", Dialect(";")),
        (b'a;b\n"x,y,z";"u,v,w"\n', Dialect(";")),
        (b"a|b,c|d\n1|2,3|4\n", Dialect("|")),
        ("Größe\tb\n1\t2\n".encode("latin-1"), Dialect("\t", "latin-1")),
        ("a,b\n“x”,2\n".encode("cp1252"), Dialect(encoding="cp1252")),
        ("a,b\n1,2\n".encode("utf-16"), Dialect(encoding="utf-16")),
        (b"1,x\n2,y\n", Dialect(header=False)),
        (b'"1.200,5";x\n"3";y\n', Dialect(";", header=False)),
        (b"a,b\n1,2\n3\n", Dialect()),
        (b"", Dialect()),
    ],
)
def test_a_dialect_is_guessed(content: bytes, dialect: Dialect, tmp_path: Path) -> None:
    for name, stored in (("t.csv", content), ("t.csv.gz", gzip.compress(content))):
        (tmp_path / name).write_bytes(stored)
        assert guess_dialect(str(tmp_path / name), {}) == dialect


def test_what_the_user_says_is_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("1;ö\n".encode("latin-1"))
    settings: dict[str, Any] = {"delimiter": "|", "encoding": "cp1252", "header": True, "nulls": ("?",)}
    assert guess_dialect(str(tmp_path / "t.csv"), settings) == Dialect.of(settings)


def test_a_character_far_down_decides_the_encoding(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"1,2\n" * 600_000 + "1,ö\n".encode("latin-1"))
    assert guess_dialect(str(tmp_path / "t.csv"), {}).encoding == "latin-1"
