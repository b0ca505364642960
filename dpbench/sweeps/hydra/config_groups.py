"""The registry's components and the papers' presets as Hydra config groups."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hydra.core.config_store import ConfigStore

from dpbench.base.options import options_of
from dpbench.contracts.hooks import KINDS
from dpbench.experiments.presets import preset_configs
from dpbench.registry.lookup import Registry, registry


@dataclass
class SweeperConfig:
    """``hydra/sweeper=dpbench``, the default: ``params`` holds the grid of a preset, with values of any type."""

    params: dict[str, Any] | None = field(default_factory=dict)


@cache
def register() -> None:
    """Make every component a choice of its group, as if each were a file on Hydra's search path."""
    store = ConfigStore.instance()
    # Hydra copies the whole store for each composition, which takes longer than composing; what it loads, it copies again
    store.__deepcopy__ = lambda memo: store  # type: ignore[attr-defined]
    for entry in registry().entries:
        if entry.health == "ok" and entry.kind in KINDS:
            values = {"name": entry.name} | {option.name: option.default for option in options_of(entry.offer)}
            node = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
            store.store(group=entry.kind, name=entry.name, node=node, provider=entry.plugin.distribution)
    store.store(group="hydra/sweeper", name="dpbench", node=SweeperConfig, provider="dpbench")


def register_presets() -> None:
    """Make every preset a choice of the group ``experiment``."""
    _register_presets_of(registry())


@cache
def _register_presets_of(plugins: Registry) -> None:
    """Register the presets once for a registry, whose papers :func:`preset_configs` reads."""
    store = ConfigStore.instance()
    for name, config in preset_configs().items():
        group, _, figure = name.rpartition("/")
        store.store(group=f"experiment/{group}", name=figure, node=config, package="_global_", provider="dpbench")
