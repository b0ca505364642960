"""What audits are tried on: cases, planted faults, and a short way to audit one of them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dpbench.audit.auditing import Audit, audit
from dpbench.audit.example_geometries import geometry
from dpbench.audit.settings import AuditSettings
from dpbench.cells.work_unit import one_thread
from dpbench.privacy.ledger import Budget


def beside(name: str) -> ModuleType:
    """A module of this folder, which is no package."""
    full = f"audit_{name}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[full] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[full])
    return sys.modules[full]


@pytest.fixture(scope="session")
def faults() -> ModuleType:
    return beside("faults")


@pytest.fixture(scope="session")
def cases() -> ModuleType:
    return beside("cases")


@pytest.fixture(scope="session")
def audited(make: Callable[..., Any]) -> Callable[..., Audit | None]:
    """An audit of a mechanism on a model and a small geometry; None where they do not go together."""

    def run(
        mechanism: Any, model: str = "linear", shape: tuple[Any, ...] = (2, 3), epsilon: float = 1.0, **plan: Any
    ) -> Audit | None:
        fitted = make("model", model)
        table = geometry(fitted, *shape)
        if mechanism.unsupported(fitted, table):
            return None
        with one_thread():
            return audit(mechanism, fitted, Budget(epsilon, 1e-6, mechanism.counted()), table, AuditSettings(**plan))

    return run
