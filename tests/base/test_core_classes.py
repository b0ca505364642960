"""A class of dpbench is told from one that only has its name."""

from __future__ import annotations

from dpbench.base.core_classes import is_core_class
from dpbench.privacy.noise import Laplace
from dpbench.registry.lookup import registry


def test_dpbench_s_classes_and_those_of_its_plugins_are_core_classes() -> None:
    assert is_core_class(Laplace)
    assert is_core_class(registry().get("mechanism", "fm"))


def test_a_class_that_borrows_the_name_is_none() -> None:
    borrowed = type("Laplace", (Laplace,), {"__module__": Laplace.__module__, "__qualname__": "Laplace"})
    new = type("Unheard", (Laplace,), {"__module__": Laplace.__module__, "__qualname__": "Unheard"})
    elsewhere = type("Laplace", (Laplace,), {"__module__": "dpbench_plugins_dir.mine"})
    assert [is_core_class(cls) for cls in (borrowed, new, elsewhere, int)] == [False] * 4
