"""Plugins come from distributions and from the drop-in folder, unless they are disabled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.registry.discovery import Registration
from dpbench.registry.lookup import registry


@pytest.mark.parametrize("name", ["first", "one", "First", " one ,"])
def test_a_disabled_plugin_or_distribution_is_left_out(
    install: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    entries: Callable[[str], list[Registration]],
    good: str,
) -> None:
    install("first", one=good)
    install("second", two=good)
    monkeypatch.setenv("DPBENCH_DISABLE_PLUGINS", name)
    assert entries("first") == []
    assert registry().disabled == ("one",)
    assert registry().version_of(registry().get("mechanism", "good")) == "second 1.0"
    with pytest.raises(Refused, match=r"The plugin 'one' is left out by DPBENCH_DISABLE_PLUGINS\."):
        registry().get("mechanism", "one")


def test_a_disabled_plugin_is_not_even_imported(
    install: Callable[..., None], monkeypatch: pytest.MonkeyPatch, entries: Callable[[str], list[Registration]]
) -> None:
    install("sick", boom="raise SystemError('imported')")
    monkeypatch.setenv("DPBENCH_DISABLE_PLUGINS", "boom")
    monkeypatch.setenv("DPBENCH_STRICT_PLUGINS", "1")
    assert entries("sick") == []


def test_disabling_what_is_not_there_is_refused(install: Callable[..., None], monkeypatch: pytest.MonkeyPatch, good: str) -> None:
    install("first", lonely=good)
    monkeypatch.setenv("DPBENCH_DISABLE_PLUGINS", "lonly")
    with pytest.raises(Refused, match=r"DPBENCH_DISABLE_PLUGINS: There is no plugin named 'lonly'\. Did you mean lonely"):
        registry()


def test_a_file_in_the_drop_in_folder_is_a_plugin(folder: Path, entry: Callable[[str], Registration], good: str) -> None:
    (folder / "mine.py").write_text(good)
    (folder / "_helper.py").write_text("raise SystemError('not a plugin')")
    (folder / "notes.txt").write_text("nothing")
    one = entry("drop-in file")
    assert (one.name, one.plugin.name, one.health) == ("good", "mine.py", "ok")
    assert len(one.plugin.version) == 12


def test_an_edited_file_has_another_version(folder: Path, entry: Callable[[str], Registration], good: str) -> None:
    (folder / "mine.py").write_text(good)
    first = entry("drop-in file").plugin.version
    (folder / "mine.py").write_text(good + "\n# edited\n")
    registry.cache_clear()
    assert entry("drop-in file").plugin.version != first


def test_files_of_the_folder_can_share_a_helper(folder: Path, entry: Callable[[str], Registration], good: str) -> None:
    (folder / "_names.py").write_text("NAME = 'shared'\n")
    shared = "from dataclasses import dataclass\nfrom ._names import NAME"
    (folder / "mine.py").write_text(good.replace('"good"', "NAME").replace("from dataclasses import dataclass", shared))
    assert entry("drop-in file").name == "shared"


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(Refused, match=r"The plugin folder must be an existing folder\. Got '.*nowhere' instead\."):
        registry()
