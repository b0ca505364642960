"""Digests of the code behind a component: an edited plugin is never mistaken for its former self."""

import ast
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

FIT_ROOMS = ("accounting", "audit", "base", "contracts", "data", "fitting", "privacy")
"""The rooms of dpbench that decide what a fit releases, what it costs, and how it is audited."""
FIT_MODULES = ("cells/audit_unit.py", "cells/budgets.py")


def source_digest(cls: type) -> str:
    """Return a digest of the files behind a component: its own, and those of its package that it imports. Part of cell keys."""
    return _source_digest(cls)


@lru_cache(maxsize=512)
def _source_digest(cls: Any) -> str:
    package = cls.__module__.rpartition(".")[0]
    files = _files_behind(cls.__module__, lambda name: bool(package) and name.rpartition(".")[0] == package)
    return _digest_of(files) if files else "no-source"


def fit_digest(classes: Iterable[type]) -> str:
    """Return a digest of all code that a fit of these components runs, dpbench's own included. It is part of what names an audit.

    It follows imports into every module of a component's distribution, and so further than :func:`source_digest`, on which the
    keys of recorded cells depend.
    """
    return _fit_digest(tuple(classes))


@lru_cache(maxsize=512)
def _fit_digest(classes: tuple[Any, ...]) -> str:
    return _digest_of(files_of_fit(classes), _core_source())


@lru_cache(maxsize=512)
def files_of_fit(classes: tuple[Any, ...]) -> dict[str, str]:
    """Return the files of these components' distributions that a fit runs, by their modules' names."""
    files: dict[str, str] = {}
    for cls in classes:
        distribution = distribution_of(cls)
        files |= _files_behind(cls.__module__, lambda name, start=distribution: name.startswith(start))  # type: ignore[misc]
    return files


def distribution_of(offer: Any) -> str:
    """Return how the names of all modules of a component's distribution begin."""
    parts = offer.__module__.split(".")
    return ".".join([*parts[: 2 if parts[0] == "dpbench" else 1], ""])


@cache
def _core_source() -> bytes:
    root = Path(__file__).parents[1]
    files = sorted(file for room in FIT_ROOMS for file in (root / room).rglob("*.py"))
    return b"".join(file.read_bytes() for file in [*files, *(root / name for name in FIT_MODULES)])


def _digest_of(files: dict[str, str], more: bytes = b"") -> str:
    """Return the digest of files, in the order of their modules' names: folders differ between machines."""
    content = b"".join(Path(files[name]).read_bytes() for name in sorted(files))
    return hashlib.sha256(content + more).hexdigest()[:16]


def _files_behind(name: str, belongs: Callable[[str], bool]) -> dict[str, str]:
    """Return the files of a module and of the modules that it imports something from, by name, as far as they belong to it."""
    files: dict[str, str] = {}
    visited: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current in visited:
            continue
        visited.add(current)
        module = sys.modules.get(current)
        spec = _find(current) if module is None else None  # imported only when some function runs
        file = getattr(module, "__file__", None) or (spec.origin if spec else None)
        values = vars(module).values() if module else ()
        homes = {getattr(value, "__module__", None) or getattr(value, "__name__", "") for value in values}
        if file:
            files[current] = file
            # a number or a text does not know the module that it comes from
            homes |= _imports(current, file, Path(file).read_bytes())
        waiting += [home for home in homes if isinstance(home, str) and belongs(home)]
    return files


def _find(name: str) -> ModuleSpec | None:
    """Return where a module of a package is, importing nothing; None if there is none."""
    parent = name.rpartition(".")[0]
    if parent in sys.modules:
        folders = getattr(sys.modules[parent], "__path__", None)
    else:
        package = _find(parent) if parent else None
        folders = package.submodule_search_locations if package else None
    return PathFinder.find_spec(name, list(folders)) if folders else None


@lru_cache(maxsize=1024)
def _imports(name: str, file: str, source: bytes) -> frozenset[str]:
    """Return the modules that a module's import statements may name."""
    if not file.endswith(".py"):
        return frozenset()
    package = name if Path(file).name == "__init__.py" else name.rpartition(".")[0]
    names: set[str] = set()
    try:
        for statement in _import_statements(ast.parse(source)):
            if isinstance(statement, ast.Import):
                names |= {alias.name for alias in statement.names}
            else:
                home = resolve_name("." * statement.level + (statement.module or ""), package)
                names |= {home, *(f"{home}.{alias.name}" for alias in statement.names)}
    except (SyntaxError, ValueError, ImportError):  # broken since it was imported
        return frozenset()
    return frozenset(names)


def _import_statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the import statements that may run before a cell ends: a dataset's ``fetch`` runs for another command only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for statement in child.orelse:
                yield from _import_statements(ast.Module([statement], []))
        elif not (isinstance(child, ast.FunctionDef) and child.name == "fetch"):
            yield from _import_statements(child)
