"""The site has all pages, its links are checked, and the links of its sources work on a code host, too."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from urllib.parse import urlsplit

import pytest

import dpbench

ROOT = Path(__file__).parents[2]
SCRIPT = run_path(str(ROOT / "scripts" / "site.py"), run_name="site_script")
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
LISTED = re.compile(r"^- \[[^]]+\]\(([^)]+)\)", re.MULTILINE)
START = ROOT / "docs" / "index.md"
PAGES = sorted(
    [path for pattern in ("*.md", "docs/**/*.md", "plugins/**/README.md", "examples/*/README.md") for path in ROOT.glob(pattern)],
)
Problems = Callable[..., list[str]]


@pytest.fixture
def problems(tmp_path: Path) -> Problems:
    """Return the problems of a site with these pages."""

    def found(**pages: str) -> list[str]:
        for name, text in pages.items():
            (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
        return list(SCRIPT["Site"](tmp_path).problems())

    return found


def test_a_site_whose_links_all_work_has_no_problems(problems: Problems) -> None:
    first = '<h1 id="top">1</h1><a href="second.html#end">2</a><a href="#top">1</a><a href="https://example.org">elsewhere</a>'
    assert problems(first=first, second='<p id="end">2</p><img src="data:image/png;base64,AA"><a href="first.html">1</a>') == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<a href="gone.html">', "gone.html leads to no file"),
        ('<img src="gone.png">', "gone.png leads to no file"),
        ('<a href="#gone">', "#gone leads to no anchor"),
        ('<a href="other.html#gone">', "other.html#gone leads to no anchor"),
        ('<script src="https://example.org/x.js"></script>', "<script> loads https://example.org/x.js from another server"),
        ('<link href="//example.org/font.css">', "<link> loads //example.org/font.css from another server"),
    ],
)
def test_what_does_not_work_is_named_with_its_page(problems: Problems, text: str, problem: str) -> None:
    assert problems(page=text, other="") == [f"page.html: {problem}"]


def test_a_folder_that_is_no_site_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    assert SCRIPT["main"](["--out", str(tmp_path)]) == 2
    assert "is no site: it is not replaced" in capsys.readouterr().err
    assert (tmp_path / "precious.txt").read_text() == "mine"


def test_every_page_is_in_the_lists_of_the_start_page() -> None:
    """They are the navigation. What belongs to one plugin's data only is read where it lies."""
    listed = {(START.parent / path).resolve() for path in LISTED.findall(START.read_text(encoding="utf-8"))}
    pages = {path for path in PAGES if "lin2026" not in path.parts}
    assert sorted(str(path.relative_to(ROOT)) for path in pages - listed - {START}) == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_lead_to_files_of_the_checkout(path: Path) -> None:
    links = [urlsplit(link) for link in LINK.findall(CODE.sub("", path.read_text(encoding="utf-8")))]
    relative = [link.path for link in links if not link.scheme and link.path]
    assert [link for link in relative if not (path.parent / link).exists()] == []


def test_the_reference_has_every_public_name() -> None:
    text = (ROOT / "docs" / "site" / "api.rst").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\.\. (?:autofunction|autoclass|data):: dpbench\.(\w+)$", text, re.MULTILINE))
    assert set(dpbench.__all__) - {"__version__"} == documented


@pytest.mark.parametrize("name", ["queries", "noise", "procedures", "testing"])
def test_the_reference_has_the_whole_of_every_public_module(name: str) -> None:
    text = (ROOT / "docs" / "site" / "api.rst").read_text(encoding="utf-8")
    assert f".. automodule:: dpbench.{name}\n   :members:\n   :imported-members:\n" in text


def test_every_class_of_the_reference_shows_its_members() -> None:
    text = (ROOT / "docs" / "site" / "api.rst").read_text(encoding="utf-8")
    assert re.findall(r"^\.\. autoclass:: dpbench\.(\w+)\n(?!   :members:)", text, re.MULTILINE) == ["Refused"]


@pytest.mark.parametrize("module", ["dpbench", "dpbench.queries", "dpbench.noise", "dpbench.procedures", "dpbench.testing"])
def test_every_public_method_says_what_it_does(module: str) -> None:
    """What a class only implements is documented by the class that declares it."""
    public = importlib.import_module(module)
    classes = [value for name in public.__all__ if inspect.isclass(value := getattr(public, name))]
    assert classes
    assert [cls.__name__ for cls in classes if not inspect.getdoc(cls)] == []
    assert [f"{cls.__name__}.{name}" for cls in classes for name in undocumented(cls)] == []


def undocumented(cls: type) -> list[str]:
    """The methods and properties that a class declares without a docstring."""
    declared = {name for base in cls.__mro__[1:] for name in (*vars(base), *vars(base).get("__annotations__", {}))}
    functions = [name for name, value in vars(cls).items() if callable(value) or isinstance(value, property)]
    own = [name for name in functions if not name.startswith("_") and name not in declared]
    return [name for name in own if not inspect.getdoc(getattr(cls, name))]
