"""The digest of a component's code changes with its own files, and with nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module, invalidate_caches
from pathlib import Path

import pytest

from dpbench.registry.code_digest import fit_digest, source_digest

FILES = {
    "__init__": "",
    "used": "def law():\n    return 1\n",
    "mine": "from pack_a.used import law\n\nclass Mine:\n    call = law\n",
    "unused": "NUMBER = 1\n",
}

Load = Callable[..., type]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Load the class Mine of a package, imported anew, with some files changed."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def loaded(**changed: str) -> type:
        (tmp_path / "pack_a" / "inner").mkdir(parents=True, exist_ok=True)
        for module, text in (FILES | changed).items():
            (tmp_path / "pack_a" / f"{module}.py").write_text(text)
        for name in [name for name in sys.modules if name.partition(".")[0] == "pack_a"]:
            monkeypatch.delitem(sys.modules, name)
        for cached in tmp_path.rglob("*.pyc"):
            cached.unlink()
        invalidate_caches()
        import_module("pack_a.unused")
        return import_module("pack_a.mine").Mine  # type: ignore[no-any-return]

    return loaded


def test_the_files_that_a_component_uses_count_and_no_others(load: Load) -> None:
    plain = source_digest(load())
    assert source_digest(load(unused="NUMBER = 2\n")) == plain
    assert source_digest(load(used="def law():\n    return 2\n")) != plain
    assert len(plain) == 16


@pytest.mark.parametrize(
    "mine",
    [
        "from ._scale import SHARE\n\nclass Mine: ...\n",
        "from pack_a._scale import SHARE\n\nclass Mine: ...\n",
        "from . import _scale\n\nclass Mine:\n    share = _scale.SHARE\n",
        "from ._scale import *\n\nclass Mine: ...\n",
        "class Mine:\n    def fit(self):\n        from ._scale import SHARE\n        return SHARE\n",
        "from .used import SHARE\n\nclass Mine: ...\n",
    ],
)
def test_a_file_that_gives_only_a_number_counts(load: Load, mine: str) -> None:
    files = {"mine": mine, "used": "from ._scale import SHARE\n"}
    before = load(**files, _scale="SHARE = 1.0\n")
    digests = source_digest(before), fit_digest([before])
    edited = load(**files, _scale="SHARE = 0.25\n")
    assert source_digest(edited) != digests[0]
    assert fit_digest([edited]) != digests[1]


@pytest.mark.parametrize(
    "mine",
    [
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from .unused import NUMBER\n\nclass Mine: ...\n",
        "class Mine:\n    def fetch(self, say):\n        from .unused import NUMBER\n",
    ],
)
def test_a_file_that_no_cell_runs_does_not_count(load: Load, mine: str) -> None:
    before = source_digest(load(mine=mine))
    assert source_digest(load(mine=mine, unused="NUMBER = 2\n")) == before


def test_a_fit_s_digest_follows_numbers_into_other_packages_of_the_distribution(load: Load) -> None:
    mine = {"mine": "class Mine:\n    def fit(self):\n        from .inner.scale import SHARE\n", "inner/__init__": ""}
    before = load(**mine, **{"inner/scale": "SHARE = 1\n"})
    digests = source_digest(before), fit_digest([before])
    edited = load(**mine, **{"inner/scale": "SHARE = 2\n"})
    assert fit_digest([edited]) != digests[1]
    assert source_digest(edited) == digests[0], "a cell's key depends on the component's own package"


def test_a_class_without_a_file_has_no_digest() -> None:
    assert source_digest(type("Typed", (), {"__module__": "nowhere"})) == "no-source"
