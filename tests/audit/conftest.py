"""What the tests audit: sound mechanisms, planted faults, and a short way to audit one of them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpbench.accounting.costs import Pure
from dpbench.audit.procedure import Audit, audit
from dpbench.audit.repeated_answers import RepeatedAnswers
from dpbench.audit.subject import AuditSettings, AuditSubject, example_geometry
from dpbench.base.one_thread import one_thread
from dpbench.privacy.calls import Answer, Call
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Noise


def load_module(name: str) -> ModuleType:
    """Load a module of this folder, which is not a package."""
    full = f"audit_{name}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[full] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[full])
    return sys.modules[full]


CASES = load_module("cases")


@pytest.fixture(scope="session")
def faults() -> ModuleType:
    return load_module("faults")


@pytest.fixture(scope="session")
def honest() -> ModuleType:
    return load_module("honest")


@pytest.fixture(scope="session")
def cases() -> ModuleType:
    return CASES


@pytest.fixture(params=CASES.SOUND, ids=[f"{name} {options or ''}" for name, options in CASES.SOUND])
def sound_case(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """A mechanism that keeps its claim, with its options."""
    return request.param


@pytest.fixture(scope="session")
def repeats() -> Callable[..., RepeatedAnswers]:
    """Numbers that a query named ``sum`` returned on two tables, as if its call had been repeated."""

    def build(numbers: Any, exact: Any, noise: Noise | None = None, additive: bool = True) -> RepeatedAnswers:
        query: Any = SimpleNamespace(name="sum")
        geometry: Any = None
        answer = Answer(Call("release", query, geometry, Pure(1.0)), np.asarray(exact)[:1], noise, None)
        return RepeatedAnswers(answer, np.asarray(numbers, dtype=float), np.asarray(exact, dtype=float), additive)

    return build


@pytest.fixture(scope="session")
def audited(make: Callable[..., Any]) -> Callable[..., Audit | None]:
    """Audit a mechanism on a model and a small geometry; None where they do not fit together."""

    def run(
        mechanism: Any, model: str = "linear", shape: tuple[Any, ...] = (2, 3), epsilon: float = 1.0, **settings: Any
    ) -> Audit | None:
        component = make("model", model)
        geometry = example_geometry(component, *shape)
        if mechanism.unsupported(component, geometry):
            return None
        with one_thread():
            budget = Budget(epsilon, 1e-6, mechanism.counted())
            return audit(AuditSubject(mechanism, component, budget, geometry, AuditSettings(**settings)))

    return run
