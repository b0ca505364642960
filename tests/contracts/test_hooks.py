"""A plugin's functions carry the marker and take no argument."""

from __future__ import annotations

from types import SimpleNamespace

import pluggy
import pytest

from dpbench.contracts import hooks
from dpbench.contracts.hooks import hookimpl


@pytest.fixture
def manager() -> pluggy.PluginManager:
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    return manager


def test_a_marked_function_is_called_and_an_unmarked_one_is_not(manager: pluggy.PluginManager) -> None:
    manager.register(SimpleNamespace(dpbench_models=hookimpl(lambda: ["marked"])))
    manager.register(SimpleNamespace(dpbench_models=lambda: ["unmarked"]))
    assert manager.hook.dpbench_models() == [["marked"]]


def test_a_hook_that_wants_an_argument_is_refused(manager: pluggy.PluginManager) -> None:
    with pytest.raises(pluggy.PluginValidationError):
        manager.register(SimpleNamespace(dpbench_models=hookimpl(lambda curator: [])))
