"""The digest of the code behind a component: an edited plugin is never mistaken for its former self."""

import hashlib
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType


def source_digest(cls: type) -> str:
    """Return a digest of the files behind a component: its own, and those of its package that it imports. Part of cell keys."""
    files = sorted(file for module in _own_modules(cls.__module__) if (file := getattr(module, "__file__", None)))
    return _digest_of(tuple(files)) if files else "no-source"


def _own_modules(name: str) -> Iterable[ModuleType]:
    """Return the module of this name and, from its own package, the modules that it imports something from."""
    modules: dict[str, ModuleType] = {}
    waiting = [name]
    package = name.rpartition(".")[0]
    while waiting:
        module = sys.modules.get(waiting.pop())
        if module is None or module.__name__ in modules:
            continue
        modules[module.__name__] = module
        homes = {getattr(value, "__module__", None) or getattr(value, "__name__", "") for value in vars(module).values()}
        waiting += [home for home in homes if package and isinstance(home, str) and home.rpartition(".")[0] == package]
    return modules.values()


@cache
def _digest_of(files: tuple[str, ...]) -> str:
    return hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()[:16]
