"""What mechanisms, models, datasets and attacks have in common: a name, a docstring, options, a version."""

from __future__ import annotations

import hashlib
import inspect
import sys
from abc import ABC
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from types import ModuleType
from typing import Any, ClassVar, Self

from dpbench.options import check_options, refuse_unknown_options


@dataclass(frozen=True)
class Component(ABC):
    """A frozen dataclass that the registry knows by ``name``; its fields are its options on the command line.

    Options are checked when the object is made: see :mod:`dpbench.options` for the types a field may have.
    """

    kind: ClassVar[str]
    name: ClassVar[str]

    def __post_init__(self) -> None:
        check_options(self, type(self).name)

    @classmethod
    def summary(cls) -> str:
        """The first line of the docstring: what listings show."""
        return (inspect.getdoc(cls) or "").strip().split("\n")[0]

    @classmethod
    def build(cls, options: Mapping[str, Any]) -> Self:
        """The component with these options; unknown names and wrong values are refused in one sentence."""
        refuse_unknown_options(cls, options, cls.name)
        return cls(**options)

    def options(self) -> dict[str, Any]:
        """Every option with its value, as plain data."""
        return asdict(self)


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
