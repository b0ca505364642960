"""What the pages for authors show besides their plugins works too: tests, a paper's files, metadata, imports.

The plugins and their commands run in test_docs.py.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

import dpbench
import dpbench.noise
import dpbench.procedures
import dpbench.queries
import dpbench.testing
from dpbench.__main__ import main
from dpbench.contracts.hooks import OFFERS
from dpbench.registry.lookup import registry
from dpbench.scaffold.new_plugin import NewPlugin
from dpbench.sweeps.hydra.config_groups import register

ROOT = Path(__file__).parents[2]
AUTHORS = ROOT / "docs" / "authors"
BLOCK = re.compile(
    r"^(?P<marker><!-- test: .+ -->\n)?(?P<indent> *)```(?P<language>\w+)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL
)
PUBLIC = {"dpbench", "dpbench.noise", "dpbench.procedures", "dpbench.queries", "dpbench.testing"}
MODULES = {module.name for module in iter_modules(dpbench.__path__)}
MODULE = re.compile(r"\bdpbench(?:\.[a-z_]\w*)+")


ANNOUNCED = """
from pathlib import Path

from dpbench import Paper, hookimpl


@hookimpl
def dpbench_papers():
    return [Paper("my_paper", "Mine 2020", Path({folder!r}))]
"""


def linked(page: Path) -> set[Path]:
    """The pages of docs/ that a page links to."""
    paths = {(page.parent / path).resolve() for path in re.findall(r"\]\(([^)#]+\.md)", page.read_text(encoding="utf-8"))}
    return {path for path in paths if path.is_relative_to(ROOT / "docs") and "results" not in path.parts}


PAGES = sorted({*AUTHORS.glob("*.md")} | {path for page in AUTHORS.glob("*.md") for path in linked(page)})
"""What an author reads: the pages for authors, and those that they link to."""


def blocks(name: str) -> dict[str, str]:
    """The blocks of a page that test_docs.py does not run: by their language, and a number where it has several."""
    found: dict[str, str] = {}
    for block in BLOCK.finditer(page_text(name)):
        if not block["marker"]:
            number = sum(key.startswith(block["language"]) for key in found)
            found[f"{block['language']}{number or ''}"] = textwrap.dedent(block["text"])
    return found


def page_text(name: str) -> str:
    return (AUTHORS / name).read_text(encoding="utf-8")


def test_no_block_is_left_out() -> None:
    """A block without a marker is one of those that are tested below."""
    tested = {"README.md": ["python"], "paper.md": ["text", "yaml", "yaml1"], "publishing.md": ["toml"]}
    assert {page.name: list(blocks(page.name)) for page in AUTHORS.glob("*.md") if blocks(page.name)} == tested


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_for_authors_names_a_module_that_may_move(page: Path) -> None:
    paths = {path for path in MODULE.findall(page.read_text(encoding="utf-8")) if path.split(".")[1] in MODULES}
    names = {path: path.rpartition(".") for path in paths - PUBLIC}
    moving = [path for path, (module, _, name) in names.items() if module not in PUBLIC or not hasattr(sys.modules[module], name)]
    assert moving == []


@pytest.mark.long
def test_the_test_of_the_overview_runs_a_case_for_each_check(tmp_path: Path) -> None:
    (shrunk,) = re.findall(r"^<!-- test: my_folder/shrunk.py -->\n```python\n(.*?)^```$", page_text("mechanism.md"), re.M | re.S)
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "__init__.py").touch()
    (tmp_path / "my_package" / "shrunk.py").write_text(shrunk, encoding="utf-8")
    (tmp_path / "test_shrunk.py").write_text(blocks("README.md")["python"], encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    assert re.search(r"1[0-9] passed, \d skipped, 1 xfailed", result.stdout)


def test_the_commands_of_the_overview_write_a_plugin_of_each_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"`python -m dpbench (new [^`]+)`", page_text("README.md"))
    assert [command.split()[1] for command in commands] == list(OFFERS)
    for command in commands:
        assert main(command.split()) == 0
        assert "Written: " in capsys.readouterr().out


@pytest.mark.usefixtures("alone")
def test_the_paper_of_the_page_is_what_new_writes_and_can_be_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = NewPlugin("paper", "my_paper").write_distribution(tmp_path)
    tree = [line.split()[0] for line in blocks("paper.md")["text"].splitlines()]
    assert tree[0] == f"{folder.name}/"
    package = folder / tree[2]
    assert [path for path in tree[3:] if not (package / path).is_file()] == []
    (package / "presets" / "fig1.yaml").write_text(blocks("paper.md")["yaml"], encoding="utf-8")
    (package / "claims.yaml").write_text(blocks("paper.md")["yaml1"], encoding="utf-8")
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "announced.py").write_text(ANNOUNCED.format(folder=str(package)), encoding="utf-8")
    for command in ("check my_paper", "plan -m experiment=my_paper/fig1"):
        registry.cache_clear()
        register.cache_clear()
        code = main(["--plugins-dir", str(tmp_path / "plugins"), *command.split()])
        printed = capsys.readouterr()
        assert code == 0, printed.out + printed.err


def test_the_metadata_of_the_page_is_what_new_writes() -> None:
    shown = tomllib.loads(blocks("publishing.md")["toml"])
    written = tomllib.loads(NewPlugin("mechanism", "shrunk").files["pyproject.toml"])
    assert shown["project"].pop("dependencies")[0] in written["project"]["dependencies"][0]
    assert contained(shown, written) == []


def contained(shown: dict[str, Any], written: dict[str, Any]) -> list[str]:
    """The keys whose values differ from those that were written."""
    differing = [key for key, value in shown.items() if not isinstance(value, dict) and written.get(key) != value]
    tables = [(key, value) for key, value in shown.items() if isinstance(value, dict)]
    return differing + [f"{key}.{name}" for key, value in tables for name in contained(value, written.get(key, {}))]


def test_the_table_of_imports_names_what_is_there() -> None:
    rows = re.findall(r"^\| (`.+) \| `(dpbench[\w.]*)` \|$", page_text("README.md"), re.MULTILINE)
    assert {module for _, module in rows} == PUBLIC
    missing = [
        f"{module}.{name}"
        for names, module in rows
        for name in re.findall(r"`(\w+)`", names)
        if not hasattr(sys.modules[module], name)
    ]
    assert missing == []
