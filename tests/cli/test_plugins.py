"""`plugins` lists every component, as a table for people and as plain data for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dpbench.__main__ import main
from dpbench.audit.result import AuditResult
from dpbench.registry.code_digest import fit_digest
from dpbench.registry.lookup import registry

SHIPPED = {
    ("mechanism", "dpba"),
    ("mechanism", "fm"),
    ("mechanism", "no_privacy"),
    ("model", "linear"),
    ("model", "ridge"),
    ("dataset", "gaussian"),
    ("dataset", "wine"),
    ("attack", "none"),
}
FIELDS = [
    *("kind", "name", "plugin", "distribution", "version", "summary", "guarantee"),
    *("api_version", "health", "reason", "audit", "disable", "options"),
]
WIDTHS = (60, 100, 200)

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A drop-in folder with a plugin that cannot be imported."""
    (tmp_path / "torn.py").write_text("raise ValueError('half a page')\n")
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(tmp_path))
    registry.cache_clear()
    yield tmp_path
    registry.cache_clear()


def listed(capsys: Capture) -> list[dict[str, Any]]:
    assert main(["plugins", "--json"]) == 0
    entries: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return entries


def test_everything_that_ships_is_listed_and_well(capsys: Capture) -> None:
    entries = {(entry["kind"], entry["name"]): entry for entry in listed(capsys)}
    assert set(entries) >= SHIPPED
    for key in SHIPPED:
        assert entries[key]["health"] == "ok", entries[key]["reason"]
        assert entries[key]["distribution"] == "dp-regression-bench"
        assert entries[key]["summary"].endswith(".")
    assert all(entries[key]["guarantee"] for key in SHIPPED if key[0] == "mechanism")


def test_plain_data_has_the_same_fields_for_every_entry(capsys: Capture) -> None:
    for entry in listed(capsys):
        assert list(entry) == FIELDS
        for option in entry["options"]:
            assert list(option) == ["name", "allowed", "default", "help"]
            assert option["help"], f"{entry['name']}.{option['name']} has no line of help"


def test_a_broken_plugin_is_listed_with_its_reason(capsys: Capture) -> None:
    broken = [entry for entry in listed(capsys) if entry["health"] == "broken"]
    assert [(entry["name"], entry["reason"]) for entry in broken] == [("torn.py", "ValueError: half a page")]
    assert main(["plugins"]) == 0
    assert "half a page" in capsys.readouterr().out


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes the output a terminal of so many columns, without colours."""

    def wide(columns: int) -> None:
        for name, value in {"COLUMNS": str(columns), "FORCE_COLOR": "1", "TERM": "xterm", "NO_COLOR": "1"}.items():
            monkeypatch.setenv(name, value)

    return wide


def printed(capsys: Capture) -> str:
    """What `plugins` prints, without the codes that a terminal obeys."""
    assert main(["plugins"]) == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)


@pytest.mark.parametrize("width", [*WIDTHS, None], ids=lambda width: f"{width or 'pipe'}")
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut(width: int | None, capsys: Capture, terminal: Any) -> None:
    if width:
        terminal(width)
    text = printed(capsys)
    commands = [line for line in text.splitlines() if "/" in line]  # the path of a package's folder cannot be broken
    assert max(len(line) for line in text.splitlines() if line not in commands) <= (width or 100)
    assert "…" not in text
    words = text.split()
    for kind, name in SHIPPED:
        assert name in words
        assert set(registry().get(kind, name).summary().split()) <= set(words)


def test_a_wide_terminal_has_a_table_for_each_kind_and_a_narrow_one_a_paragraph_for_each_mechanism(
    capsys: Capture, terminal: Any
) -> None:
    terminal(200)
    (row,) = [line for line in printed(capsys).splitlines() if line.startswith("no_privacy ")]
    assert row.split()[:5] == ["no_privacy", "none", "ok", "not", "yet"]
    assert row.rstrip().endswith(registry().get("mechanism", "no_privacy").summary())
    terminal(60)
    lines = printed(capsys).splitlines()
    assert lines[lines.index("no_privacy") + 1] == "  guarantee: none; health: ok; audit: not yet"


def test_each_distribution_says_what_it_brings_for_which_contracts_and_how_to_leave_it_out(capsys: Capture) -> None:
    own, file = (part.split("\n\n")[0] for part in re.split(r"^(?=torn\.py)", printed(capsys), maxsplit=1, flags=re.MULTILINE))
    assert own.startswith("dp-regression-bench ")
    for sentence in ("22 mechanisms", "Written for version 1 of", "Audits of its mechanisms: ", "PLUGINS=dp-regression-bench\n"):
        assert sentence in f"{own}\n"
    assert file.splitlines()[1:] == ["Brings 1 plugin. Health: 1 broken.", "To leave it out: DPBENCH_DISABLE_PLUGINS=torn"]


def test_the_audits_of_a_store_are_shown_for_the_code_as_it_is(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    classes = [registry().get("mechanism", "fm"), registry().get("model", "linear")]
    result = AuditResult(False, 10, ("It moved.",), mechanisms=("fm",), model="linear", code=fit_digest(classes))
    (tmp_path / "mlflow.audits.jsonl").write_text(result.as_line("abc"))
    assert {entry["name"]: entry["audit"] for entry in listed(capsys) if entry["name"] in ("fm", "dpba", "wine")} == {
        "fm": {"verdict": "refuted", "audits": 1, "reason": "On linear: It moved."},
        "dpba": {"verdict": "not yet", "audits": 0, "reason": ""},
        "wine": None,
    }
    text = printed(capsys)
    assert "refuted (1)" in text
    assert "mechanism fm (fm of dp-regression-bench 0.1.0): On linear: It moved." in text


def test_the_name_that_is_printed_leaves_each_of_them_out(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    (torn,) = [entry for entry in listed(capsys) if entry["plugin"] == "torn.py"]
    monkeypatch.setenv("DPBENCH_DISABLE_PLUGINS", torn["disable"])
    registry.cache_clear()
    assert "torn.py" not in [entry["plugin"] for entry in listed(capsys)]
    monkeypatch.setenv("DPBENCH_DISABLE_PLUGINS", "dp-regression-bench")
    registry.cache_clear()
    assert [entry["plugin"] for entry in listed(capsys)] == ["torn.py"]


def test_it_answers_without_what_takes_long_to_import(python: Callable[[str], str]) -> None:
    code = "import sys; from dpbench.__main__ import main; main(['plugins'])"
    printed = python(f"{code}; print(sorted({{'mlflow', 'sqlalchemy', 'hydra'}} & {{*sys.modules}}))")
    assert printed.splitlines()[-1] == "[]"


def test_what_is_left_out_is_said(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPBENCH_DISABLE_PLUGINS", "dpba,torn")
    assert main(["plugins"]) == 0
    text = capsys.readouterr().out
    assert "Left out by DPBENCH_DISABLE_PLUGINS: dpba" in text
    assert "Left out by DPBENCH_DISABLE_PLUGINS: torn" in text
    assert "half a page" not in text


def test_a_paper_that_cannot_be_read_is_listed_as_broken_and_stops_nobody(folder: Path, capsys: Capture) -> None:
    (folder / "mine" / "presets").mkdir(parents=True)
    (folder / "mine" / "__init__.py").write_text(
        "from pathlib import Path\nfrom dpbench import Paper, hookimpl\n\n"
        "@hookimpl\ndef dpbench_papers():\n    return [Paper('mine', 'Mine 2020', Path(__file__).parent)]\n"
    )
    (folder / "mine" / "presets" / "fig1.yaml").write_text("preset: [")
    papers = {entry["name"]: entry for entry in listed(capsys) if entry["kind"] == "paper"}
    assert papers["mine"]["health"] == "broken"
    assert "fig1.yaml is not YAML" in papers["mine"]["reason"]
    assert len(papers) > 1
    assert {entry["health"] for name, entry in papers.items() if name != "mine"} == {"ok"}
