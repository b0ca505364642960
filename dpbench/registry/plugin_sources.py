"""Where plugins come from: installed distributions and the drop-in folder, without those that the user disables."""

import hashlib
import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import Distribution, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from dpbench.base.errors import Refused, unknown
from dpbench.base.user_path import user_path

GROUP = "dpbench"
"""The group of entry points that announce plugins."""
DROP_IN_PACKAGE = "dpbench_plugins_dir"
"""The package under which the files of the drop-in folder are imported."""


@dataclass(frozen=True)
class Plugin:
    """A plugin that is not imported yet: its name, the distribution it belongs to, and how to load it."""

    name: str
    """The entry point, or the file in the drop-in folder."""
    distribution: str
    version: str
    load: Callable[[], Any]
    is_file: bool = False
    """Whether it is a file or a folder of the drop-in folder, and no part of a distribution."""

    @property
    def disabled_by(self) -> str:
        """The name in DPBENCH_DISABLE_PLUGINS that leaves its whole distribution out, or the file."""
        return self.short_name if self.is_file else self.distribution

    @property
    def origin(self) -> str:
        """The distribution and its version, as a reader would cite them."""
        return f"{self.distribution} {self.version}"

    @property
    def short_name(self) -> str:
        """The name without the suffix of a file."""
        return self.name.removesuffix(".py")


def find_plugins() -> tuple[list[Plugin], list[Plugin]]:
    """Return the plugins to load, and those that ``DPBENCH_DISABLE_PLUGINS`` disables."""
    plugins = [*_installed(), *_dropped_in()]
    names = [name for name in map(_normal, os.environ.get("DPBENCH_DISABLE_PLUGINS", "").split(",")) if name]
    aliases = {plugin: {_normal(plugin.name), _normal(plugin.short_name), _normal(plugin.distribution)} for plugin in plugins}
    for name in names:
        if not any(name in known for known in aliases.values()):
            raise Refused(f"DPBENCH_DISABLE_PLUGINS: {unknown('plugin', name, {plugin.name for plugin in plugins})}")
    disabled = [plugin for plugin in plugins if aliases[plugin] & set(names)]
    return [plugin for plugin in plugins if plugin not in disabled], disabled


def _installed() -> list[Plugin]:
    plugins = []
    name_and_version = cache(_name_and_version)  # a distribution parses its metadata each time, and has many plugins
    for entry in entry_points(group=GROUP):
        distribution, version = name_and_version(entry.dist) if entry.dist else ("unknown distribution", "0")
        plugins.append(Plugin(entry.name, distribution, version, entry.load))
    return sorted(plugins, key=lambda plugin: (plugin.distribution, plugin.name))


def _name_and_version(distribution: Distribution) -> tuple[str, str]:
    metadata = distribution.metadata
    return metadata["Name"], metadata["Version"]


def _dropped_in() -> list[Plugin]:
    """Return the plugins of the drop-in folder: modules of one package, so that they can share files that begin with ``_``."""
    if not os.environ.get("DPBENCH_PLUGINS_DIR"):
        return []
    folder = user_path(os.environ["DPBENCH_PLUGINS_DIR"]).resolve()
    if not folder.is_dir():
        raise Refused(f"The plugin folder must be an existing folder. Got {str(folder)!r} instead.")
    for name in [name for name in sys.modules if name == DROP_IN_PACKAGE or name.startswith(f"{DROP_IN_PACKAGE}.")]:
        del sys.modules[name]
    package = ModuleType(DROP_IN_PACKAGE, "The files of the drop-in folder.")
    package.__path__ = [str(folder)]
    sys.modules[DROP_IN_PACKAGE] = package
    importlib.invalidate_caches()
    modules = [*folder.glob("*.py"), *(path.parent for path in folder.glob("*/__init__.py"))]
    return [_drop_in(path) for path in sorted(modules) if not path.name.startswith("_")]


def _drop_in(path: Path) -> Plugin:
    """Return the plugin of a file, or of a folder with an ``__init__.py``; its version is a digest of the source."""
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    version = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
    load = partial(importlib.import_module, f"{DROP_IN_PACKAGE}.{path.stem}")
    return Plugin(path.name, "drop-in file", version, load, is_file=True)


def _normal(name: str) -> str:
    return name.strip().lower().replace("_", "-")
