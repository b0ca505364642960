"""Replaces the fit of the built-in functional mechanism when it is imported. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import hookimpl

from ._planted import Planted

ALONE = True

found = [module for name, module in __import__("sys").modules.items() if name == "dpbench.plugins.mechanisms.fm"]
for module in found:
    module.FunctionalMechanism.fit = lambda self, curator, problem, budget: problem.exact(curator._sample)


@dataclass(frozen=True)
class PatchesBuiltinMechanism(Planted):
    """Replaces the fit of the built-in functional mechanism when it is imported."""

    name: ClassVar[str] = "patches_builtin_mechanism"


@hookimpl
def dpbench_mechanisms() -> Any:
    return [PatchesBuiltinMechanism]
