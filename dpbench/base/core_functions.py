"""Refuse a plugin that replaces functions of dpbench, NumPy, math or Python's builtins, and put these functions back.

All components in a process share these functions: a plugin that replaced one would change the numbers of all others.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from types import FunctionType
from typing import Any

from dpbench.base.core_classes import PACKAGE
from dpbench.base.errors import Refused

ROOMS = ("accounting", "base", "contracts", "data", "fitting", "privacy", "plugins")
"""The rooms whose functions decide about numbers."""
FOREIGN = ("builtins", "math", "numpy", "numpy.linalg", "numpy.random")
"""Modules of others that compute these numbers. They may gain names, which nothing in dpbench uses."""


@contextmanager
def unreplaced(who: str) -> Iterator[None]:
    """Refuse ``who`` if what runs inside replaced something of dpbench, which is put back."""
    before = [(owner, dict(vars(owner)), _contents(owner)) for owner in _owners(_modules())]
    before += [(module, dict(vars(module)), []) for module in map(sys.modules.__getitem__, FOREIGN)]
    try:
        yield
    finally:
        replaced = [name for state in before for name in _restore(*state)]
    if replaced:
        raise Refused(f"{who} replaces functions of dpbench: {', '.join(replaced)}. They were put back.")


def _modules() -> tuple[str, ...]:
    prefixes = tuple(f"{PACKAGE}.{room}" for room in ROOMS)
    return tuple(name for name in list(sys.modules) if name.startswith(prefixes))


@lru_cache(maxsize=1)
def _owners(names: tuple[str, ...]) -> tuple[Any, ...]:
    """Return the modules of these names and the classes that they define."""
    modules = [sys.modules[name] for name in names]
    classes = (value for module in modules for value in vars(module).values() if isinstance(value, type))
    return (*modules, *dict.fromkeys(cls for cls in classes if cls.__module__ in names))


def _contents(owner: Any) -> list[tuple[Any, Any]]:
    """Return what can be replaced where an object stays: the code of its functions, and the entries of its tables."""
    pairs = ((value, _content(value)) for value in vars(owner).values())
    return [(value, content) for value, content in pairs if content is not None]


def _content(value: Any) -> Any:
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    elif isinstance(value, property):
        value = value.fget
    elif isinstance(value, cached_property):
        value = value.func
    if isinstance(value, FunctionType):
        return value, value.__code__, value.__defaults__
    return dict(value) if type(value) is dict else None


def _restore(owner: Any, before: dict[str, Any], contents: list[tuple[Any, Any]]) -> Iterator[str]:
    """Put back what an owner was, and yield the names of what was replaced and by whom."""
    place, now = getattr(owner, "__qualname__", owner.__name__), vars(owner)
    for name in [name for name in {*now, *before} if now.get(name) is not before.get(name) and not name.startswith("__")]:
        origin = getattr(now.get(name), "__module__", None)
        if name in before:
            setattr(owner, name, before[name])
        elif isinstance(now[name], type(sys)) or owner.__name__ in FOREIGN:
            continue  # a submodule that was imported meanwhile, for example
        else:
            delattr(owner, name)
        yield f"{place}.{name}" + (f" by one of {origin}" if origin else "")
    for value, content in contents:
        if _content(value) != content:
            if isinstance(content, dict):
                value.clear()
                value.update(content)
            else:
                function, function.__code__, function.__defaults__ = content
            yield f"the content of {getattr(value, '__qualname__', place)}"
