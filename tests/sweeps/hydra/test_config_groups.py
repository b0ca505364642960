"""Components and presets are choices of Hydra's groups."""

from __future__ import annotations

import pytest
from hydra.core.config_store import ConfigStore

from dpbench.registry.lookup import registry
from dpbench.sweeps.hydra import config_groups
from dpbench.sweeps.hydra.config_groups import register, register_presets


def test_every_component_is_a_choice_with_the_defaults_of_its_options() -> None:
    register()
    store = ConfigStore.instance()
    for kind in ("mechanism", "model", "dataset", "attack"):
        assert {f"{name}.yaml" for name in registry().names(kind)} <= set(store.list(kind))
    assert store.load("dataset/wine.yaml").node.color == "white"


def test_every_preset_is_an_experiment() -> None:
    register_presets()
    assert "fig9.yaml" in ConfigStore.instance().list("experiment/zhang2012")


def test_presets_of_another_registry_are_registered_too(monkeypatch: pytest.MonkeyPatch) -> None:
    register_presets()
    monkeypatch.setattr(config_groups, "preset_configs", lambda: {"later2030/fig1": {}})
    register.cache_clear()
    register()
    register_presets()
    assert ConfigStore.instance().list("experiment/later2030") == ["fig1.yaml"]
    register.cache_clear()
