"""One word has one meaning: the glossary is used, class names are unique, and words that STYLE avoids do not occur."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "glossary.md"
WORDS = re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", GLOSSARY.read_text(encoding="utf-8"), flags=re.MULTILINE)
DEFINED = [word for word in WORDS if word not in ("word", "---")]
AVOIDED = (
    *(
        "whoever",
        "parted by",
        "it is told",
        "but for",
        "when nothing is said",
        "nobody's",
        "all the same",
        "at hand",
        "so many",
        "beside",
    ),
)


def sources() -> dict[Path, str]:
    """The code and the pages, as text."""
    paths = [path for room in ("dpbench", "plugins", "conf", "docs") for path in (ROOT / room).rglob("*")]
    texts = (".py", ".md", ".yaml", ".j2")
    return {path: path.read_text(encoding="utf-8") for path in (*paths, ROOT / "README.md") if path.suffix in texts}


@pytest.fixture(scope="module")
def everything() -> str:
    return " ".join(" ".join(text for path, text in sources().items() if path != GLOSSARY).split()).lower()


@pytest.mark.parametrize("word", DEFINED)
def test_a_defined_word_is_used(word: str, everything: str) -> None:
    assert re.search(rf"\b{word.lower().replace(' ', '[ _]?')}", everything)


def test_a_word_is_defined_once_and_few_words_are() -> None:
    assert len(DEFINED) == len(set(DEFINED))
    assert 35 <= len(DEFINED) <= 50


def test_two_classes_never_share_a_name() -> None:
    places = defaultdict(list)
    for room in ("dpbench", "plugins"):
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("words", AVOIDED)
def test_an_avoided_turn_of_phrase_does_not_occur(words: str) -> None:
    turn = re.compile(rf"\b{words}\b".replace(" ", r"\s+"), re.IGNORECASE)
    places = [
        f"{path.relative_to(ROOT)}:{text[: match.start()].count(chr(10)) + 1}"
        for path, text in sources().items()
        for match in turn.finditer(text)
    ]
    assert places == []
