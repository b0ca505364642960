"""Compose the configurations of a grid with Hydra's configuration loader, outside a Hydra application."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hydra import initialize_config_module
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.default_element import InputDefault  # noqa: F401  Hydra's loader needs it imported first
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from dpbench.base.errors import Refused
from dpbench.base.user_path import user_path
from dpbench.sweeps.grid import Axis, GridPoint, expand
from dpbench.sweeps.hydra.config_groups import register, register_presets
from dpbench.sweeps.hydra.overrides import hydra_errors_refused, parse
from dpbench.sweeps.override_text import override_text


def grid_points(overrides: Sequence[str], folder: str | None = None, config_name: str = "config") -> list[GridPoint]:
    """Return the configurations that overrides ask for; ``folder`` is a user's own, as with ``--config-dir``."""
    return points_of(parse(overrides), folder, config_name)


def points_of(axes: Sequence[Axis], folder: str | None = None, config_name: str = "config") -> list[GridPoint]:
    """Return the configurations of a parsed request."""
    if folder is not None or any(axis.key == "experiment" for axis in axes):  # a user's own files may name presets, too
        register_presets()
    with hydra_errors_refused(), _config_loader(folder) as loader:
        return expand(axes, HydraComposer(loader, config_name))


def plain(config: DictConfig) -> dict[str, Any]:
    """Return a configuration as plain data, without Hydra's own section."""
    sections: Any = [key for key in config if key != "hydra"]
    container: Any = OmegaConf.to_container(OmegaConf.masked_copy(config, sections), resolve=True)
    return dict(container)


class HydraComposer:
    """Composes configurations with Hydra's loader, which takes 30 ms each time: the grid asks once per choice."""

    def __init__(self, loader: ConfigLoader, config_name: str) -> None:
        self._loader = loader
        self._config_name = config_name

    def compose(self, overrides: Sequence[str]) -> dict[str, Any]:
        """Return the configuration with these choices."""
        return plain(self._load(overrides))

    def choices(self, group: str) -> list[str]:
        """Return the names of the files in a group and in its folders."""
        found = self._loader.get_group_options
        folders = ["", *(f"{folder}/" for folder in found(group, ObjectType.GROUP))]
        names = [f"{folder}{name}" for folder in folders for name in found(f"{group}/{folder}".rstrip("/"), ObjectType.CONFIG)]
        return sorted(name for name in names if not name.startswith("_"))

    def preset_axes(self, experiment: str, quick: bool = False) -> list[Axis]:
        """Return the axes that a preset sweeps: it lists them as ``hydra.sweeper.params``, and shorter ones as ``quick``."""
        config = self._load([f"experiment={experiment}"])
        params: Any = OmegaConf.to_container(config.hydra.sweeper.get("params") or OmegaConf.create())
        if quick and config.preset:
            params |= OmegaConf.to_container(config.preset.get("quick") or OmegaConf.create())
        return parse([f"{key}={_as_typed(value)}" for key, value in params.items()])

    def _load(self, overrides: Sequence[str]) -> DictConfig:
        return self._loader.load_configuration(self._config_name, list(overrides), RunMode.RUN)


def _as_typed(value: Any) -> str:
    """Return what a preset's YAML holds as it would be typed: a text is an override already, a list is one value."""
    return value if isinstance(value, str) else override_text(tuple(value) if isinstance(value, list) else value)


@contextmanager
def _config_loader(folder: str | None) -> Iterator[ConfigLoader]:
    """Open a loader of dpbench's configuration. A Hydra application that is running, such as the caller's, is put back."""
    register()
    caller = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module("dpbench.conf", version_base="1.3"):
            loader = GlobalHydra.instance().config_loader()
            if folder is not None:
                _add_folder(loader, folder)
            yield loader
    finally:
        GlobalHydra.instance().hydra = caller


def _add_folder(loader: ConfigLoader, folder: str) -> None:
    """Search a user's own folder after dpbench's, where Hydra's own --config-dir puts it."""
    path = user_path(folder).resolve()
    if not path.is_dir():
        raise Refused(f"The option --config-dir must be a folder. Got {folder!r} instead.")
    loader.get_search_path().prepend("command-line", f"file://{path}", SearchPathQuery(provider="schema", path=None))
    loader.repository.initialize_sources(loader.get_search_path())  # type: ignore[attr-defined]
