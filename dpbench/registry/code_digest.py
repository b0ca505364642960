"""Digests of the code behind a component: an edited plugin is never mistaken for its former self."""

import hashlib
import sys
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
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
    files = _files(_modules_behind(cls.__module__, lambda name: bool(package) and name.rpartition(".")[0] == package))
    return _digest_of(tuple(files)) if files else "no-source"


def fit_digest(classes: Iterable[type]) -> str:
    """Return a digest of all code that a fit of these components runs, dpbench's own included. It is part of what names an audit.

    It follows imports into every module of a component's distribution, and so further than :func:`source_digest`, on which the
    keys of recorded cells depend.
    """
    modules: list[ModuleType] = []
    for cls in classes:
        parts = cls.__module__.split(".")
        distribution = ".".join([*parts[: 2 if parts[0] == "dpbench" else 1], ""])
        modules += _modules_behind(cls.__module__, lambda name, start=distribution: name.startswith(start))  # type: ignore[misc]
    return _digest_of((*_files(modules), *_core_files()))


@cache
def _core_files() -> tuple[str, ...]:
    root = Path(__file__).parents[1]
    return tuple(sorted(str(file) for room in FIT_ROOMS for file in (root / room).rglob("*.py"))) + tuple(
        str(root / name) for name in FIT_MODULES
    )


def _files(modules: Iterable[ModuleType]) -> list[str]:
    return sorted({file for module in modules if (file := getattr(module, "__file__", None))})


def _modules_behind(name: str, belongs: Callable[[str], bool]) -> Iterable[ModuleType]:
    """Return the module of this name and the modules that it imports something from, as far as they belong to it."""
    modules: dict[str, ModuleType] = {}
    waiting = [name]
    while waiting:
        module = sys.modules.get(waiting.pop())
        if module is None or module.__name__ in modules:
            continue
        modules[module.__name__] = module
        homes = {getattr(value, "__module__", None) or getattr(value, "__name__", "") for value in vars(module).values()}
        waiting += [home for home in homes if isinstance(home, str) and belongs(home)]
    return modules.values()


@cache
def _digest_of(files: tuple[str, ...]) -> str:
    return hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()[:16]
