"""Finds plugins and asks them, one by one, for their classes, so that a broken one stops nobody else."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from dpbench.base.errors import Refused, near_names, unknown
from dpbench.contracts import hooks
from dpbench.contracts.kinds import KINDS, OFFERS
from dpbench.registry.class_checks import fault

GROUP = "dpbench"
DROP_IN = "dpbench_plugins_dir"
"""The package under which the files of the drop-in folder are imported."""


class BrokenPlugin(Exception):
    """What ``DPBENCH_STRICT_PLUGINS=1`` raises, for a plugin's author: the cause is chained to it."""


@dataclass(frozen=True)
class PluginSource:
    """Where a plugin comes from, and how to get hold of it."""

    plugin: str
    distribution: str
    version: str
    load: Callable[[], Any]

    @property
    def aliases(self) -> frozenset[str]:
        """The names by which it can be disabled."""
        return frozenset(map(_normal, (self.plugin, self.plugin.removesuffix(".py"), self.distribution)))


@dataclass(frozen=True)
class Offer:
    """A class or a paper that a plugin gave, or the reason why it is of no use."""

    source: PluginSource
    kind: str
    name: str
    cls: Any = None
    """A component's class, or a paper itself."""
    reason: str = ""


def sources() -> list[PluginSource]:
    """Every plugin there is: the installed ones, then the files of the drop-in folder."""
    installed = sorted(map(_installed, entry_points(group=GROUP)), key=lambda source: (source.distribution, source.plugin))
    folder = os.environ.get("DPBENCH_PLUGINS_DIR", "")
    return installed + (_dropped(Path(folder).expanduser().resolve()) if folder else [])


def without_disabled(found: list[PluginSource]) -> tuple[list[PluginSource], list[PluginSource]]:
    """The plugins to ask, and those that ``DPBENCH_DISABLE_PLUGINS`` leaves out; a name that fits none is refused."""
    names = [name.strip() for name in os.environ.get("DPBENCH_DISABLE_PLUGINS", "").split(",") if name.strip()]
    for name in names:
        if not any(_normal(name) in source.aliases for source in found):
            refusal = unknown("plugin", name, {source.plugin for source in found})
            raise Refused(f"DPBENCH_DISABLE_PLUGINS: {refusal}")
    wanted = {_normal(name) for name in names}
    return [s for s in found if not wanted & s.aliases], [s for s in found if wanted & s.aliases]


def strict() -> bool:
    return os.environ.get("DPBENCH_STRICT_PLUGINS", "") not in ("", "0")


def offers(found: Iterable[PluginSource]) -> Iterator[Offer]:
    """Ask each plugin for its classes and check them."""
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    for source in found:
        try:
            with redirect_stdout(sys.stderr):  # a plugin's prints must not end up in a listing that a program reads
                plugin = source.load()
                manager.register(plugin, name=f"{source.plugin} of {source.distribution}")
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- a stranger's module can raise anything
            yield _broken(source, "plugin", source.plugin, _told(error), error)
            continue
        yield from _offered(source, plugin, manager)


def _offered(source: PluginSource, plugin: Any, manager: pluggy.PluginManager) -> Iterator[Offer]:
    kinds = {kind.hook: name for name, kind in OFFERS.items()}
    callers = manager.get_hookcallers(plugin) or []
    for name in _unmarked(plugin):
        yield _broken(source, "plugin", source.plugin, f"Its function {name} does not carry the marker @hookimpl.")
    for caller in callers:
        if caller.name not in kinds:
            reason = f"There is no hook named {caller.name!r}.{near_names(caller.name, kinds)}"
            yield _broken(source, "plugin", source.plugin, reason)
            continue
        kind = kinds[caller.name]
        for implementation in caller.get_hookimpls():
            if implementation.plugin is plugin:
                yield from _classes(source, kind, caller.name, implementation.function)
    if not callers and not _unmarked(plugin):
        yield _broken(source, "plugin", source.plugin, f"It implements no hook.{near_names('', kinds)}")


def _classes(source: PluginSource, kind: str, hook: str, function: Callable[[], Any]) -> Iterator[Offer]:
    try:
        with redirect_stdout(sys.stderr):
            given = function()
            what = "classes" if kind in KINDS else f"{kind}s"
            if isinstance(given, type) or not isinstance(given, Iterable):
                raise TypeError(f"{hook} must return a list of {what}. Got {given!r} instead.")
            classes = list(given)
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- a stranger's function can raise anything
        yield _broken(source, kind, source.plugin, _told(error), error)
        return
    for cls in classes:
        reason = fault(kind, cls)
        name = getattr(cls, "name", None)
        label = name if isinstance(name, str) else getattr(cls, "__name__", repr(cls))
        yield _broken(source, kind, label, reason) if reason else Offer(source, kind, label, cls)


def _broken(source: PluginSource, kind: str, name: str, reason: str, error: BaseException | None = None) -> Offer:
    if strict():
        raise BrokenPlugin(f"The plugin {source.plugin!r} of {source.distribution} {source.version}: {reason}") from error
    return Offer(source, kind, name, reason=reason)


def _unmarked(plugin: Any) -> list[str]:
    """Functions that look like hooks, defined in the plugin itself, without the marker."""
    return [
        name
        for name, value in getattr(plugin, "__dict__", {}).items()
        if name.startswith(f"{hooks.PROJECT}_")
        and callable(value)
        and getattr(value, "__module__", None) == getattr(plugin, "__name__", None)
        and not hasattr(value, f"{hooks.PROJECT}_impl")
    ]


def _installed(entry: EntryPoint) -> PluginSource:
    if entry.dist is None:
        return PluginSource(entry.name, "unknown distribution", "0", entry.load)
    return PluginSource(entry.name, entry.dist.name, entry.dist.version, entry.load)


def _dropped(folder: Path) -> list[PluginSource]:
    """The files of a folder as plugins; they are modules of one package, so that they can share what begins with ``_``."""
    if not folder.is_dir():
        raise Refused(f"The plugin folder must be an existing folder. Got {str(folder)!r} instead.")
    for name in [name for name in sys.modules if name == DROP_IN or name.startswith(f"{DROP_IN}.")]:
        del sys.modules[name]
    package = ModuleType(DROP_IN, "The files of the drop-in folder.")
    package.__path__ = [str(folder)]
    sys.modules[DROP_IN] = package
    importlib.invalidate_caches()
    modules = [*folder.glob("*.py"), *(path.parent for path in folder.glob("*/__init__.py"))]
    return [_drop_in(path) for path in sorted(modules) if not path.name.startswith("_")]


def _drop_in(path: Path) -> PluginSource:
    """A file, or a folder with an ``__init__.py``."""

    def load() -> ModuleType:
        return importlib.import_module(f"{DROP_IN}.{path.stem}")

    sources = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    version = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:12]
    return PluginSource(path.name, "drop-in file", version, load)


def _told(error: BaseException) -> str:
    """An exception in one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__


def _normal(name: str) -> str:
    return name.strip().lower().replace("_", "-")
