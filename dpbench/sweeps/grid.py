"""From overrides to configurations: every group choice is composed once, values are set in memory.

Hydra's own sweeper composes every job twice, at 30 ms a composition; a grid of a thousand cells is a thousand dictionaries here.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.default_element import InputDefault  # noqa: F401  Hydra's loader needs it imported first
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, QuotedString
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import OmegaConf

from dpbench.base.errors import Refused, unknown
from dpbench.base.options import options_of
from dpbench.cells.cell import Settings
from dpbench.experiments.presets import unknown_experiment
from dpbench.registry.lookup import registry

COMPONENTS = ("mechanism", "model", "dataset", "attack")
PLAIN_GROUPS = ("engine", "splits", "experiment")
GLOBAL = ("rerun", "quick", *(item.name for item in fields(Settings)))
SHARED = ("tracking", "engine", "splits", "audit")
"""Sections of the configuration that no component owns; their keys are those of the chosen YAML files."""


@dataclass(frozen=True)
class GridPoint:
    """One configuration of the grid, and where it lies on the swept axes."""

    config: dict[str, Any]
    axes: dict[str, Any]


@dataclass(frozen=True)
class Axis:
    """One key with the values it takes: one when it is fixed."""

    key: str
    values: tuple[Any, ...]
    listed: bool = False
    """Whether it was written as a sweep, if only of one value."""
    hydra: bool = False
    """Whether it is Hydra's own: its key is then the whole text."""

    @property
    def swept(self) -> bool:
        return len(self.values) > 1


def expand(overrides: Sequence[str], loader: ConfigLoader, config_name: str = "config") -> list[GridPoint]:
    """Every configuration that the overrides ask for, in the order in which they were written."""
    asked = parse(overrides)
    for_hydra = [axis.key for axis in asked if axis.hydra]
    axes = {axis.key: axis for axis in asked if axis.key not in for_hydra}
    for key, count in Counter(axis.key for axis in asked if not axis.hydra).items():
        if count > 1:
            raise Refused(f"The key {key!r} is given {count} times. Write its values once, with commas to sweep them.")
    experiment = axes.pop("experiment", None)
    preset = [f"experiment={value}" for value in experiment.values] if experiment else []
    typed = frozenset(axes)
    if len(preset) > 1:
        raise Refused("One experiment at a time. Got " + ", ".join(map(str, experiment.values if experiment else ())) + ".")
    if preset:
        _check_choice("experiment", str(preset[0].partition("=")[2]), loader)
        axes = {axis.key: axis for axis in _preset_axes(preset, loader, config_name)} | axes
    groups = {key: _choices(axis, loader) for key, axis in axes.items() if key in (*COMPONENTS, *PLAIN_GROUPS)}
    values = {key: axis for key, axis in axes.items() if key not in groups}
    first = [*for_hydra, *preset, *(f"{key}={names[0]}" for key, names in groups.items())]
    base = _compose(first, loader, config_name)
    if experiment and base["preset"]:
        base["preset"]["name"] = str(experiment.values[0])
    nodes = {
        key: {
            name: base[key] if name == names[0] else _compose([*first, f"{key}={name}"], loader, config_name)[key]
            for name in names
        }
        for key, names in groups.items()
    }
    axes = {key: axis for key, axis in axes.items() if key in typed or not _idle(key, typed, base, nodes)}
    _check_keys({key: axis for key, axis in values.items() if key in axes}, base, nodes)
    _check_swept(axes.values())
    order = [Axis(key, tuple(groups[key])) if key in groups else axis for key, axis in axes.items()]
    return list(_points(base, nodes, order))


def readable(text: str) -> str:
    """The override with a file's name in quotes, where the grammar of overrides could not read the name as it is."""
    key, equals, value = text.partition("=")
    if not equals or key.partition(".")[0] not in ("dataset", "tracking", "out") or value[:1] in ("'", '"', "[", "{"):
        return text
    try:
        OverridesParser.create().parse_override(text)
    except HydraException:
        return f"{key}={quoted(value)}"
    return text


def quoted(text: str) -> str:
    """A text in quotes: a backslash counts only before a quote, or at the end."""
    inner = re.sub(r"(\\*)('|$)", lambda match: match[1] * 2 + ("\\'" if match[2] else ""), text)
    return f"'{inner}'"


def parse(overrides: Sequence[str]) -> list[Axis]:
    """The overrides as axes; one for Hydra itself keeps its text as its key."""
    return [_axis(text) for text in overrides]


def _axis(text: str) -> Axis:
    text = readable(text)
    try:
        override = OverridesParser.create().parse_override(text)
        key = override.key_or_group
        if key.partition(".")[0].partition("/")[0] == "hydra":
            return Axis(text, (), hydra=True)
        if override.is_add() or override.is_force_add() or override.is_delete():
            raise Refused(f"The override {text!r} adds or deletes a key. dpbench has fixed keys: write key=value.")
        if override.package is not None:
            raise Refused(f"The override {text!r} moves {key} to another place. dpbench has fixed keys: write key=value.")
        if override.is_interval_sweep():
            raise Refused(f"The override {text!r} is an interval, which has no values to sweep. Write them with commas.")
        value = override.value()
        if isinstance(value, Glob):
            return Axis(key, (value,), listed=True)
        if override.is_sweep_override():
            return Axis(key, tuple(_plain(item) for item in override.sweep_iterator()), listed=True)
        return Axis(key, (_plain(value),))
    except HydraException as error:
        raise Refused(f"The override {text!r} cannot be read: {_first_line(error).partition(' expecting')[0]}.") from None


def loaded(overrides: Sequence[str], folder: str | None = None, config_name: str = "config") -> list[GridPoint]:
    """Expand outside of a Hydra application: for checks, for ``plan`` and for notebooks."""
    from hydra import initialize_config_module
    from hydra.core.global_hydra import GlobalHydra

    from dpbench.sweeps.hydra.config_groups import register

    register()
    before = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module("dpbench.conf", version_base="1.3"):
            loader = GlobalHydra.instance().config_loader()
            if folder is not None:
                _add_folder(loader, folder)
            return expand(overrides, loader, config_name)
    finally:
        GlobalHydra.instance().hydra = before


def _add_folder(loader: ConfigLoader, folder: str) -> None:
    """Search a user's own folder as well, as --config-dir does."""
    path = Path(folder).expanduser().resolve()
    if not path.is_dir():
        raise Refused(f"The option --config-dir must be a folder. Got {folder!r} instead.")
    loader.get_search_path().prepend("command-line", f"file://{path}", SearchPathQuery(provider="schema", path=None))
    loader.repository.initialize_sources(loader.get_search_path())  # type: ignore[attr-defined]


def _plain(value: Any) -> Any:
    if isinstance(value, QuotedString):
        return value.text
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _choices(axis: Axis, loader: ConfigLoader) -> list[str]:
    known = _known(axis.key, loader)
    names: list[str] = []
    for value in axis.values:
        if isinstance(value, Glob):
            names += value.filter(list(known))
        else:
            _check_choice(axis.key, str(value), loader)
            names.append(str(value))
    if not names:
        raise Refused(f"The override of {axis.key} matches nothing. Known: {', '.join(known)}.")
    return list(dict.fromkeys(names))


def _known(group: str, loader: ConfigLoader) -> list[str]:
    if group in COMPONENTS:
        return list(registry().names(group))
    names: list[str] = []
    for name in loader.get_group_options(group, ObjectType.CONFIG):
        names.append(name)
    for folder in loader.get_group_options(group, ObjectType.GROUP):
        names += [f"{folder}/{name}" for name in loader.get_group_options(f"{group}/{folder}", ObjectType.CONFIG)]
    return sorted(name for name in names if not name.startswith("_"))


def _check_choice(group: str, name: str, loader: ConfigLoader) -> None:
    if group in COMPONENTS:
        registry().get(group, name)
    elif name not in _known(group, loader):
        refuse = unknown_experiment if group == "experiment" else partial(unknown, group)
        raise refuse(name, _known(group, loader))


def _preset_axes(preset: list[str], loader: ConfigLoader, config_name: str) -> list[Axis]:
    """A preset may sweep by itself, through hydra.sweeper.params."""
    config = loader.load_configuration(config_name, preset, RunMode.RUN)
    params: Any = OmegaConf.to_container(config.hydra.sweeper.get("params") or OmegaConf.create())
    return parse([f"{key}={value}" for key, value in params.items()])


def _compose(overrides: list[str], loader: ConfigLoader, config_name: str) -> dict[str, Any]:
    try:
        config = loader.load_configuration(config_name, overrides, RunMode.RUN)
    except HydraException as error:
        raise Refused(_first_line(error)) from None
    own: Any = [key for key in config if key != "hydra"]
    plain: Any = OmegaConf.to_container(OmegaConf.masked_copy(config, own), resolve=True)
    return dict(plain)


def _check_keys(values: Mapping[str, Axis], base: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> None:
    for key in values:
        group, dot, name = key.partition(".")
        if not dot:
            if group not in GLOBAL:
                raise unknown("key", key, [*GLOBAL, *COMPONENTS, *PLAIN_GROUPS, "tracking.uri", "tracking.experiment"])
        elif group not in (*COMPONENTS, *SHARED):
            raise unknown("group", group, [*COMPONENTS, *SHARED])
        elif name not in _keys_of(group, base, nodes):
            what = f"option of {' or '.join(_names(group, base, nodes))}" if group in COMPONENTS else f"key of {group}"
            raise unknown(what, name, _keys_of(group, base, nodes))


def _idle(key: str, typed: Collection[str], base: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a preset sets this for what was replaced on the command line by something that has no such option."""
    group, dot, name = key.partition(".")
    return bool(dot) and group in (*COMPONENTS, "splits") and group in typed and name not in _keys_of(group, base, nodes)


def _keys_of(group: str, base: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """What can stand below a group: the options of the chosen components, or the keys of the chosen files."""
    if group in COMPONENTS:
        return {option.name for name in _names(group, base, nodes) for option in options_of(registry().get(group, name))}
    return {key for node in nodes.get(group, {"": base[group]}).values() for key in node} - {"name", "scheme"}


def _names(group: str, base: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The chosen components of a group."""
    return [str(name) for name in nodes.get(group, {base[group]["name"]: base[group]})]


def _check_swept(axes: Iterable[Axis]) -> None:
    """Where and how a sweep runs is the same for all of its cells."""
    for axis in axes:
        if axis.swept and axis.key.partition(".")[0] in ("engine", "tracking", "rerun"):
            raise Refused(f"The key {axis.key!r} is the same for a whole sweep. Got {len(axis.values)} values.")


def _points(base: dict[str, Any], nodes: Mapping[str, Mapping[str, Any]], order: Sequence[Axis]) -> Iterator[GridPoint]:
    seen: set[str] = set()
    for values in itertools.product(*(axis.values for axis in order)):
        config = deepcopy(base)
        axes: dict[str, Any] = {}
        chosen = dict(zip((axis.key for axis in order), values, strict=True))
        for group, choices in nodes.items():
            config[group] = deepcopy(choices[chosen[group]])
        for axis in order:
            if axis.key in nodes or _set(config, axis.key, chosen[axis.key]):
                axes |= {axis.key: chosen[axis.key]} if axis.swept else {}
        mark = repr((sorted(axes.items(), key=lambda item: item[0]), [config.get(group, {}) for group in COMPONENTS]))
        if mark not in seen:  # an option that one mechanism has and another has not gives the other the same cell again
            seen.add(mark)
            yield GridPoint(config, axes)


def _set(config: dict[str, Any], key: str, value: Any) -> bool:
    """Set a key; False where the chosen component has no such option."""
    group, dot, name = key.partition(".")
    if not dot:
        config[key] = value
        return True
    if name not in config[group]:
        return False
    config[group][name] = value
    return True


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split("\n")[0].split())
