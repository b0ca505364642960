"""What the documentation tells people to write and to type works, as it stands there: what is behind `<!-- test: … -->`."""

from __future__ import annotations

import re
import runpy
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from dpbench.__main__ import main
from dpbench.privacy.queries.query import RowQuery
from dpbench.registry.lookup import registry
from dpbench.sweeps.hydra.config_groups import register

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^<!-- test: (?P<what>[^\n]+?) -->\n```\w*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = sorted(path for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")] if "<!-- test:" in path.read_text())
Say = Callable[[str], tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _elsewhere(alone: None) -> None:
    """Nothing from outside, and nothing for the tests that follow."""


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Type a line that begins with `python -m dpbench`: the exit code, and what was printed."""

    def typed(line: str) -> tuple[int, str, str]:
        words = shlex.split(line, comments=True)
        assert words[:3] == ["python", "-m", "dpbench"], line
        registry.cache_clear()
        register.cache_clear()
        capsys.readouterr()
        code = main(words[3:])
        return (code, *capsys.readouterr())

    return typed


def test_the_tour_is_among_the_pages() -> None:
    names = [page.name for page in PAGES]
    assert names == ["data.md", "experiments.md", "writing_a_plugin.md"], "a page that is new here needs nothing but its name"
    assert all(len(BLOCK.findall(page.read_text())) == page.read_text().count("<!-- test:") for page in PAGES)


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
    page = ROOT / "docs" / "writing_a_plugin.md"
    blocks = {block["what"]: block["text"] for block in BLOCK.finditer(page.read_text(encoding="utf-8"))}
    (tmp_path / "my_folder").mkdir()
    for name in ("my_folder/shrunk.py", "my_folder/largest.py"):
        (tmp_path / name).write_text(blocks[name], encoding="utf-8")
    own_query = tmp_path / "my_folder" / "_large_errors.py"
    own_query.write_text(blocks["my_folder/_large_errors.py"], encoding="utf-8")
    assert issubclass(runpy.run_path(str(own_query))["LargeErrors"], RowQuery)
    code, out, err = say("python -m dpbench --plugins-dir my_folder plugins")
    assert code == 0, err
    assert re.search(r"shrunk +ε-DP +ok +Run the functional mechanism and shrink the weights towards zero\.", out)
    assert re.search(r"metric +max_error +ok +The largest absolute error of a test row\.", out)
    code, out, err = say(blocks["command"].replace("my_folder", "my_folder plan", 1))
    assert code == 0, err
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in out.splitlines() if line.startswith("│")]
    assert [row[:2] for row in rows] == [["run", "shrunk"], ["run", "shrunk"], ["run", "fm"]]


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
    assert block.startswith("linear on census, SYNTHETIC data: rmse on the scaled target, 50 x 5-fold\n")
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in block.splitlines() if line.startswith("│")]
    assert [row[:2] for row in rows] == [
        [mechanism, epsilon] for mechanism in ("fm", "dpba") for epsilon in ("0.1", "0.8", "3.2")
    ]
