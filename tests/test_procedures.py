"""Every procedure of the core is importable from one public place."""

from __future__ import annotations

import importlib
import pkgutil

import dpbench.privacy.procedures
import dpbench.procedures
from dpbench.privacy.procedures.procedure import Procedure


def test_every_procedure_of_the_core_is_public() -> None:
    for module in pkgutil.iter_modules(dpbench.privacy.procedures.__path__):
        importlib.import_module(f"dpbench.privacy.procedures.{module.name}")
    core = {cls.__name__ for cls in Procedure.__subclasses__() if cls.__module__.startswith("dpbench.")}
    assert core <= set(dpbench.procedures.__all__)
    assert all(hasattr(dpbench.procedures, name) for name in dpbench.procedures.__all__)
