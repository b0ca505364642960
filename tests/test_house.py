"""The rules of the house that no linter knows: names, sizes, and where a module's tests are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAX_MODULE_LINES = 300
MODULES = sorted(
    path.relative_to(ROOT)
    for folder in ("dpbench", "plugins")
    for path in (ROOT / folder).rglob("*.py")
    if path.name != "__init__.py"
)


def test_no_module_is_longer_than_a_few_pages() -> None:
    lengths = {str(path): len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {path: length for path, length in lengths.items() if length > MAX_MODULE_LINES} == {}


def test_the_package_never_imports_from_its_own_root() -> None:
    """The root looks its names up in the rooms; a room that imports it would close a circle."""
    found = [
        f"{path}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and node.module == "dpbench" and node.level == 0
    ]
    assert found == []


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_every_module_has_its_tests_in_the_same_place(path: Path) -> None:
    assert (ROOT / "tests" / mirror_of(path) / f"test_{module_name(path)}").is_file()


def test_no_test_file_is_left_behind_by_a_module_that_moved() -> None:
    modules = {mirror_of(path) / module_name(path) for path in MODULES}
    assert [str(path) for path in mirrored() if path.with_name(path.name.removeprefix("test_")) not in modules] == []


FOLDERS_ACROSS_MODULES = ("laws", "end_to_end", "guard", "browser", "scripts", "plugins/papers", "plugins/studies")
FILES_ACROSS_MODULES = (
    *("plugins/test_datasets.py", "plugins/test_described.py", "plugins/test_matrix.py", "plugins/test_models.py"),
    "plugins/test_conformance.py",
    *("audit/test_false_alarms.py", "sweeps/test_bad_input.py", "sweeps/test_same_bits.py", "tracking/test_postgresql.py"),
    *("experiments/checks/test_every_check.py", "sweeps/engines/test_clusters.py", "sweeps/test_larger_than_memory.py"),
    *("testing/test_one_fault_one_finding.py", "testing/test_wrong_plugins.py"),
)


def mirrored() -> Iterator[Path]:
    """Yield the test files that are about one module each."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        relative = path.relative_to(ROOT / "tests")
        if (
            len(relative.parts) > 1
            and not str(relative).startswith(FOLDERS_ACROSS_MODULES)
            and str(relative) not in FILES_ACROSS_MODULES
        ):
            yield relative


def mirror_of(path: Path) -> Path:
    """Return the folder below tests/ that mirrors a module's."""
    return path.parent.relative_to("dpbench") if path.parts[0] == "dpbench" else path.parent


def module_name(path: Path) -> str:
    return "main.py" if path.name == "__main__.py" else path.name.lstrip("_")


def tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))
