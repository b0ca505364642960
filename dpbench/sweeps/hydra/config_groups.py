"""The registry's components as Hydra config groups, and dpbench's sweeper as a Hydra plugin."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from omegaconf import OmegaConf

from dpbench.base.options import options_of
from dpbench.contracts.kinds import KINDS
from dpbench.experiments.papers import preset_configs
from dpbench.registry.lookup import registry

SWEEPER = "hydra_plugins.dpbench_sweeper"


@dataclass
class SweeperConfig:
    """What ``hydra/sweeper=dpbench`` is; ``params`` holds the grid of a preset."""

    _target_: str = f"{SWEEPER}.DpbenchSweeper"
    params: dict[str, Any] | None = field(default_factory=dict)


@cache
def register() -> None:
    """Make every component and every preset a choice of its group, as if each were a file on Hydra's search path."""
    OmegaConf.register_new_resolver("dpbench.temp", tempfile.gettempdir, replace=True)
    store = ConfigStore.instance()
    for entry in registry().entries:
        if entry.health == "ok" and entry.kind in KINDS:
            defaults = {option.name: _plain(option.default) for option in options_of(entry.offer)}
            store.store(group=entry.kind, name=entry.name, node={"name": entry.name, **defaults}, provider=entry.distribution)
    for name, config in preset_configs().items():
        group, _, figure = name.rpartition("/")
        store.store(group=f"experiment/{group}", name=figure, node=config, package="_global_", provider="dpbench")
    store.store(group="hydra/sweeper", name="dpbench", node=SweeperConfig, provider="dpbench")


@cache
def register_sweeper() -> None:
    """Hydra only takes sweepers below ``hydra_plugins``, so the module answers to that name as well."""
    from dpbench.sweeps.hydra import sweeper

    try:
        import_module("hydra_plugins")
    except ModuleNotFoundError:  # no other plugin is installed: an empty package stands in
        empty = ModuleType("hydra_plugins")
        empty.__path__ = []
        sys.modules["hydra_plugins"] = empty
    sys.modules[SWEEPER] = sweeper
    sweeper.DpbenchSweeper.__module__ = SWEEPER
    Plugins.instance().register(sweeper.DpbenchSweeper)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
