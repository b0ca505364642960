"""The task as it travels to workers that other programs started: Dask's and Ray's."""

import multiprocessing
import os
import platform
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any

from dpbench.base.version import __version__
from dpbench.cells.time_limit import ends_process
from dpbench.registry.lookup import registry
from dpbench.sweeps.engines.loop import WorkerDied

PLUGIN_VARIABLES = ("DPBENCH_PLUGINS_DIR", "DPBENCH_DISABLE_PLUGINS", "DPBENCH_STRICT_PLUGINS")
"""Variables that decide which code runs: they must agree. The others, such as folders of caches, belong to a machine."""

_one_unit = threading.Lock()
"""A worker process may have several threads; what cells share, and the limit of BLAS threads, belong to the process."""


@cache
def versions() -> dict[str, str]:
    """Return the versions that a worker must share with the process that sends it units."""
    return {"dpbench": __version__, "Python": platform.python_version(), "NumPy": version("numpy")}


def different_versions(theirs: Mapping[str, str]) -> str:
    """Return which versions differ from those of this process, in the middle of a sentence; empty if none does."""
    mine = versions()
    return ", ".join(f"{name} {theirs.get(name)} instead of {mine[name]}" for name in mine if theirs.get(name) != mine[name])


def plugin_variables() -> dict[str, str]:
    """Return the variables that decide which plugins there are."""
    return {name: os.environ[name] for name in PLUGIN_VARIABLES if name in os.environ}


def take_plugins(variables: Mapping[str, str]) -> None:
    """Use the same plugins as the process with these variables."""
    if plugin_variables() != variables:
        for name in PLUGIN_VARIABLES:
            os.environ.pop(name, None)
        os.environ.update(variables)
        registry.cache_clear()


@dataclass(frozen=True)
class RemoteTask:
    """Runs a unit on a worker as this process would: with the same versions and plugins, one at a time, and without raising.

    Not every exception can be sent back: Dask and Ray would take such a one for a death of the worker.
    """

    task: Callable[[Any], Any]
    folder: str = field(default_factory=os.getcwd)
    """Paths of files may be relative to it."""
    plugins: Mapping[str, str] = field(default_factory=plugin_variables)
    versions: Mapping[str, str] = field(default_factory=versions)

    def __call__(self, unit: Any) -> Any:
        if different := different_versions(self.versions):
            return WorkerDied(f"the worker expects units of {different}")
        if multiprocessing.parent_process() is not None:  # of a Dask worker: it starts another one
            ends_process.set()
        with _one_unit:
            take_plugins(self.plugins)
            if os.path.isdir(self.folder):
                os.chdir(self.folder)
            try:
                return self.task(unit)
            except (Exception, SystemExit) as error:  # noqa: BLE001  the parent gets it as plain data
                return WorkerDied(f"{type(error).__name__}: {error}")
