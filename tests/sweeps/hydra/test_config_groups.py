"""Components and presets are choices of Hydra's groups."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hydra.core.config_store import ConfigStore

from dpbench.registry.lookup import registry
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


PAPER = """
from pathlib import Path

from dpbench import Paper, hookimpl


@hookimpl
def dpbench_papers():
    return [Paper("later2030", "A later paper", Path(__file__).parent)]
"""


@pytest.mark.usefixtures("fresh")
def test_presets_of_another_registry_are_registered_too(drop_in: Callable[[str, str], Path]) -> None:
    register_presets()
    presets = drop_in("later", PAPER).with_name("presets")
    presets.mkdir()
    (presets / "fig1.yaml").write_text("hydra: {sweeper: {params: {mechanism: fm}}}\n")
    register_presets()
    assert ConfigStore.instance().list("experiment/later2030") == ["fig1.yaml"]
