"""The digest of a component's code changes with its own files, and with nothing else."""

from __future__ import annotations

import sys
from importlib import import_module, invalidate_caches
from pathlib import Path

import pytest

from dpbench.registry.code_digest import source_digest

FILES = {
    "__init__": "",
    "used": "def law():\n    return 1\n",
    "mine": "from {package}.used import law\n\nclass Mine:\n    call = law\n",
    "unused": "NUMBER = 1\n",
}


def digest(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, **changed: str) -> str:
    """The digest of the class Mine in a package of its own, with some files changed."""
    package = folder / name
    package.mkdir()
    for module, text in (FILES | changed).items():
        (package / f"{module}.py").write_text(text.format(package=name))
    monkeypatch.syspath_prepend(str(folder))
    invalidate_caches()
    import_module(f"{name}.unused")
    return source_digest(import_module(f"{name}.mine").Mine)


def test_the_files_that_a_component_uses_count_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = FILES["mine"].replace("{package}", "pack_a")  # the same text in every package, whatever its name
    digests = []
    for number, changed in enumerate(({}, {"unused": "NUMBER = 2\n"}, {"used": "def law():\n    return 2\n"})):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name in [name for name in sys.modules if name.partition(".")[0] == "pack_a"]:
            monkeypatch.delitem(sys.modules, name)
        digests.append(digest(folder, "pack_a", monkeypatch, mine=mine, **changed))
    plain, other, edited = digests
    assert plain == other
    assert plain != edited
    assert len(plain) == 16


def test_a_class_without_a_file_has_no_digest() -> None:
    assert source_digest(type("Typed", (), {"__module__": "nowhere"})) == "no-source"
