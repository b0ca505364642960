"""The digest of the code behind a component: an edited plugin is never taken for the old one."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from types import ModuleType


def source_digest(cls: type) -> str:
    """A digest of the code behind a component: its file, and those of its package that it uses.

    It is part of a cell's key, so that an edited plugin is never taken for the old one.
    """
    files = sorted(filter(None, (getattr(module, "__file__", None) for module in _own_modules(cls.__module__))))
    return _digest_of(tuple(files)) if files else "no-source"


def _own_modules(name: str) -> list[ModuleType]:
    """The module of this name, and those of its own package that it takes something from."""
    found: dict[str, ModuleType] = {}
    waiting = [name]
    package = name.rpartition(".")[0]
    while waiting:
        module = sys.modules.get(waiting.pop())
        if module is None or module.__name__ in found:
            continue
        found[module.__name__] = module
        homes = {getattr(value, "__module__", None) or getattr(value, "__name__", "") for value in vars(module).values()}
        waiting += [home for home in homes if package and isinstance(home, str) and home.rpartition(".")[0] == package]
    return list(found.values())


@cache
def _digest_of(files: tuple[str, ...]) -> str:
    content = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:
            content.update(file.read())
    return content.hexdigest()[:16]
