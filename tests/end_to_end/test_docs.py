"""What the documentation tells people to write and to type works, as it stands there.

On most pages this is what is behind `<!-- test: … -->`. In docs/data.md it is every command.
"""

from __future__ import annotations

import re
import runpy
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
import yaml
from pyarrow import parquet

from dpbench.__main__ import main
from dpbench.files.bounds_file import parse_bounds
from dpbench.registry.lookup import registry
from dpbench.sweeps.hydra.config_groups import register

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^<!-- test: (?P<what>[^\n]+?) -->\n```\w*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
GUIDE = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
PAGES = sorted(path for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")] if "<!-- test: command" in path.read_text())
COMMAND = re.compile(r"^(?P<line>(?:[A-Z_]+=\S+ )*python -m dpbench.*)$|`(?P<quoted>python -m dpbench[^`]*)`", re.MULTILINE)
INSTALLATION = re.compile(r"pip install (?:-e )?'(?:\.|dp-regression-bench)\[(\w+)\]'")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
Say = Callable[[str], tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _elsewhere(alone: None) -> None:
    """Nothing from outside, and nothing for the tests that follow."""


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    """Type a line that begins with `python -m dpbench`, or sets variables for it: the exit code, and what was printed."""

    def typed(line: str) -> tuple[int, str, str]:
        words = shlex.split(line, comments=True)
        while re.match(r"[A-Z_]+=", words[0]):
            monkeypatch.setenv(*words.pop(0).split("=", 1))
        assert words[:3] == ["python", "-m", "dpbench"], line
        registry.cache_clear()
        register.cache_clear()
        capsys.readouterr()
        code = main(words[3:])
        return (code, *capsys.readouterr())

    return typed


def test_the_tour_is_among_the_pages() -> None:
    names = {page.name for page in PAGES}
    own = {"attack.md", "dataset.md", "inference.md", "metric.md", "model.md"}
    assert names == own | {"experiments.md", "mechanism.md"}, "a page that is new here needs nothing but its name"
    texts = [GUIDE, *(page.read_text(encoding="utf-8") for page in PAGES)]
    assert all(len(BLOCK.findall(text)) == text.count("<!-- test:") for text in texts)


def sections_of_the_guide() -> dict[str, str]:
    """The parts of docs/data.md that have commands, by their headings."""
    headings = re.split(r"^#{1,3} (.+)$", GUIDE, flags=re.MULTILINE)
    return {heading: text for heading, text in zip(headings[1::2], headings[2::2], strict=True) if "python -m dpbench" in text}


def commands_of(section: str) -> list[str]:
    """The commands of a section in their order: lines of their own, and those within a sentence."""
    return [command["line"] or command["quoted"] for command in COMMAND.finditer(section)]


def test_the_guide_has_no_command_that_is_not_run() -> None:
    assert sum(len(commands_of(section)) for section in sections_of_the_guide().values()) == GUIDE.count("python -m") > 10
    lines = "".join(re.findall(r"^```sh\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)).splitlines()
    assert [line for line in lines if not COMMAND.fullmatch(line) and not INSTALLATION.fullmatch(line)] == []


def test_every_installation_of_the_guide_names_an_extra() -> None:
    assert len(INSTALLATION.findall(GUIDE)) == GUIDE.count("pip install") > 0
    assert set(INSTALLATION.findall(GUIDE)) <= set(EXTRAS)


def test_every_declaration_of_a_column_in_the_guide_is_accepted() -> None:
    """Those within sentences, and those in the examples that no command reads."""
    texts = re.findall(r"`(\w+: \{[^`]*\})`|^  (\w+: \{.*)$", GUIDE, re.MULTILINE)
    declared = [yaml.safe_load(quoted or line) for quoted, line in texts]
    assert {"hired", "job", "income", "wage", "rent", "INCTOT"} <= {name for column in declared for name in column}
    for column in declared:
        parse_bounds(column, "docs/data.md")


@pytest.fixture
def files_of_the_guide(tmp_path: Path, extracts: Any, cps: Any) -> None:
    """The files that docs/data.md speaks of: those that it shows, a table of few rows, and two extracts."""
    for block in BLOCK.finditer(GUIDE):
        (tmp_path / block["what"]).write_text(block["text"], encoding="utf-8")
    people = [f"{20 + row * 7 % 50},{900 + row * 37 % 3000}\n" for row in range(60)]
    (tmp_path / "people.csv").write_text("age,wage\n" + "".join(people))
    age = np.arange(100_000) % 50
    large = pyarrow.table({"age": 20 + age, "wage": 900 + 30 * age + np.arange(100_000) * 7 % 1_000})
    parquet.write_table(large, tmp_path / "large.parquet")
    extracts.write(extracts.rows(60), "usa")
    cps.write(cps.rows(60), "cps_00001")


@pytest.fixture
def downloads(service: Any, bureau: Any) -> None:
    """Servers on this machine in the place of those that the guide downloads from. The key is the one that it prints."""
    service.key = "..."
    bureau.repeat_persons(40)


def fill_in_the_draft(section: str, draft: Path) -> None:
    """Write the bounds that a section shows into a draft, and leave the other open columns out."""
    (line,) = re.findall(r"^  INCTOT: .*$", section, re.MULTILINE)
    text = re.sub(r"^  INCTOT: .*$", line, draft.read_text(encoding="utf-8"), flags=re.MULTILINE)
    draft.write_text(re.sub(r"\{low: , high: [^}]*\}", "ignore", text), encoding="utf-8")


@pytest.mark.parametrize("heading", sections_of_the_guide())
@pytest.mark.usefixtures("files_of_the_guide", "downloads")
def test_every_command_about_data_runs_as_it_is_printed(heading: str, say: Say, tmp_path: Path) -> None:
    section = sections_of_the_guide()[heading]
    for installation in filter(None, map(INSTALLATION.fullmatch, section.splitlines())):
        extra = installation[1]
        for requirement in EXTRAS[extra]:
            pytest.importorskip(re.match(r"\w+", requirement)[0], reason=f"the extra `{extra}` is not installed")
    for line in commands_of(section):
        code, out, err = say(line)
        if "are open: fill in low and high" in err:
            fill_in_the_draft(section, tmp_path / "cps.yaml")
            code, out, err = say(line)
        assert code == 0, out + err
        assert "FAILED" not in out
        assert "PRUNED" not in out


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_says_works_in_its_order(page: Path, say: Say, tmp_path: Path) -> None:
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["what"] != "command":
            (tmp_path / block["what"]).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block["what"]).write_text(block["text"], encoding="utf-8")
            continue
        for line in block["text"].splitlines():
            code, out, err = say(line)
            assert code == 0, out + err
            assert "FAILED" not in out
            assert "PRUNED" not in out


def test_the_mechanism_of_the_tour_is_listed_and_swept_beside_the_others(say: Say, tmp_path: Path) -> None:
    page = ROOT / "docs" / "authors" / "mechanism.md"
    found = [(block["what"], block["text"]) for block in BLOCK.finditer(page.read_text(encoding="utf-8"))]
    first_command, blocks = next(text for what, text in found if what == "command"), dict(found)
    (tmp_path / "my_folder").mkdir()
    for name in ("my_folder/shrunk.py", "my_folder/careful.py", "my_folder/two_moments.py"):
        (tmp_path / name).write_text(blocks[name], encoding="utf-8")
    code, out, err = say("python -m dpbench --plugins-dir my_folder plugins")
    assert code == 0, err
    assert re.search(r"shrunk +ε-DP +ok +not yet +Run the functional mechanism", out)
    code, out, err = say("python -m dpbench --plugins-dir my_folder check shrunk")
    assert code == 0, out + err
    assert "expected failure  limit" in out
    for name in ("careful", "two_moments"):
        code, out, err = say(f"python -m dpbench --plugins-dir my_folder check {name}")
        assert code == 0, out + err
    code, out, err = say(first_command.replace("my_folder", "my_folder plan", 1))
    assert code == 0, err
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in out.splitlines() if line.startswith("│")]
    assert [row[:2] for row in rows] == [["run", "shrunk"], ["run", "fm"]]


def test_the_python_page_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of its blocks, in one program."""
    pytest.importorskip("sklearn")
    pytest.importorskip("opendp")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == page.count("```python") > 3
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks), encoding="utf-8")
    runpy.run_path(str(program))


@pytest.mark.parametrize("kind", ["mechanism", "model", "dataset"])
def test_the_readme_names_every_component_that_ships(kind: str) -> None:
    """And docs/data.md has a row for every dataset."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("## What there is")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", readme))
    shipped = {
        entry.name for entry in registry().entries if entry.kind == kind and entry.plugin.distribution == "dp-regression-bench"
    }
    assert shipped - named == set()
    rows = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "data.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert kind != "dataset" or rows == shipped


def readmes_runs() -> list[str]:
    """The lines of the README that run something: not those of subcommands."""
    lines = [line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if "python -m dpbench" in line]
    commands = [line[line.index("python -m dpbench") :] for line in lines if line.startswith(("python", "pip"))]
    commands += re.findall(r"`(python -m dpbench [^`]+)`", "\n".join(lines))
    return [line for line in commands if re.match(r"python -m dpbench (-m|\w+=)", line)]


def test_every_run_of_the_readme_can_be_planned(say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names and values that are not known any more would be refused; nothing is run. The table of one's own is this one."""
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{20 + row % 40},{row % 7}" for row in range(100))
    Path("people.csv").write_text(f"age,score\n{rows}\n")
    Path("people.yaml").write_text("target: score\ncolumns:\n  age: [0, 100]\n  score: [0, 10]\n")
    runs = readmes_runs()
    assert len(runs) >= 3
    for line in runs:
        code, out, err = say(line.replace("dpbench ", "dpbench plan ", 1))
        assert code == 0, f"{line}: {err}"
        assert ", 0 pruned" in out or "experiment=" in line, "a paper's grid holds pairs that make no sense"


def test_the_readme_shows_the_table_that_its_first_command_prints() -> None:
    """Shape and title only: the last digits belong to a machine."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = text.partition("```text\n")[2].partition("```")[0]
    assert block.startswith("linear on census, SYNTHETIC data: median rmse over the runs (50 x 5-fold)\n")
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in block.splitlines() if line.startswith("│")]
    assert [row[:3] for row in rows] == [
        [mark, epsilon, "practically the same: dpba and fm"] for mark, epsilon in (("", "0.1"), (">", "0.8"), ("", "3.2"))
    ]
