"""`plugins` lists every component, as a table for people and as plain data for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpbench.__main__ import main
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
FIELDS = ["kind", "name", "plugin", "distribution", "version", "summary", "guarantee", "health", "reason", "options"]

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


def test_piped_every_component_is_one_line(capsys: Capture) -> None:
    assert main(["plugins"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for kind, name in SHIPPED:
        (line,) = [line for line in lines if line.split()[:2] == [kind, name]]
        summary = registry().get(kind, name).summary()
        assert line.rstrip().endswith(f" {summary}")
        assert " ok  " in line
    assert any(line.startswith("dp-regression-bench ") for line in lines)


def test_at_80_columns_nothing_is_cut(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    assert main(["plugins"]) == 0
    text = capsys.readouterr().out
    assert max(len(line) for line in text.splitlines() if not line.startswith("plugin torn")) <= 80
    assert "…" not in text
    words = text.split()
    for kind, name in SHIPPED:
        assert name in words
        assert set(registry().get(kind, name).summary().split()) <= set(words)


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
