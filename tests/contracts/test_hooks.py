"""A plugin's functions carry the marker and take no argument; every kind of offer has a contract and a hook of its own."""

from __future__ import annotations

from types import SimpleNamespace

import pluggy
import pytest

from dpbench.contracts import hooks
from dpbench.contracts.component import Component
from dpbench.contracts.hooks import KINDS, OFFERS, hookimpl


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


def test_every_hook_belongs_to_one_kind() -> None:
    specified = {name for name in vars(hooks) if name.startswith("dpbench_")}
    assert {kind.hook for kind in OFFERS.values()} == specified
    assert len({kind.hook for kind in OFFERS.values()}) == len(OFFERS)


def test_components_keep_the_contract_of_their_kind_and_the_other_offers_are_objects() -> None:
    for name, kind in OFFERS.items():
        assert issubclass(kind.load(), Component) == (name in KINDS)
    for name, kind in KINDS.items():
        assert kind.load().kind == name
