"""Expand a request into the configurations of its grid.

Each choice of a group is composed once, and values are set in memory: a grid of a thousand cells is a thousand dictionaries.
Nothing here knows Hydra, which composes the choices (:mod:`dpbench.sweeps.hydra.composition`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from dpbench.base.errors import Refused, unknown
from dpbench.base.options import options_of
from dpbench.cells.cell import Settings
from dpbench.contracts.hooks import KINDS
from dpbench.experiments.combinations import COMBINING_KEYS, Combinations, Values
from dpbench.experiments.presets import unknown_experiment
from dpbench.registry.lookup import registry
from dpbench.sweeps import preset_options
from dpbench.sweeps.grid_notes import duplicate_notes, option_notes, skip_notes

if TYPE_CHECKING:
    from dpbench.sweeps.hydra.composition import HydraComposer

FILE_GROUPS = ("engine", "splits", "experiment")
"""Groups whose choices are configuration files; the choices of the other groups are components."""
PLAIN_KEYS = ("rerun", "fail_fast", "quick", *(item.name for item in fields(Settings)))
FIXED_SECTIONS = ("tracking", "engine", "splits", "audit", "inference")
"""Sections of the configuration that belong to no component; their keys are those of the configuration files."""
SAME_FOR_ALL_CELLS = ("engine", "tracking", "rerun", "fail_fast", "audit")


@dataclass(frozen=True)
class GridPoint:
    """One configuration of the grid, and its values on the swept axes."""

    config: dict[str, Any]
    axes: dict[str, Any]
    notes: tuple[str, ...] = ()
    """How the request differs from what was typed: options of a preset that were left out, and options that were added."""


@dataclass(frozen=True)
class Axis:
    """One key with its values: a single one if the key is not swept."""

    key: str
    values: tuple[Any, ...]
    text: str = ""
    """The override as it was typed."""

    @property
    def swept(self) -> bool:
        return len(self.values) > 1

    @property
    def for_hydra(self) -> bool:
        """Whether the key belongs to Hydra itself, as ``hydra.verbose`` and ``hydra/help`` do."""
        return self.key.partition(".")[0].partition("/")[0] == "hydra"


def expand(request: Sequence[Axis], composer: HydraComposer) -> list[GridPoint]:
    """Return every configuration of the grid, in the order in which the axes were written."""
    counts = Counter(axis.key for axis in request if not axis.for_hydra)
    for key, count in counts.items():
        if count > 1:
            raise Refused(f"The key {key!r} is given {count} times. Write its values once, with commas to sweep them.")
    axes = {axis.key: axis for axis in request if not axis.for_hydra}
    preset = _take_preset(axes, composer)
    typed = {key: axis.values for key, axis in axes.items() if key not in COMBINING_KEYS}
    of_preset = {axis.key: axis for axis in composer.preset_axes(preset, quick=_is_quick(axes))} if preset else {}
    axes = {**of_preset, **axes}
    combining = {key: axes.pop(key) for key in COMBINING_KEYS if key in axes}
    chosen = {key: _chosen_names(axis, composer) for key, axis in axes.items() if key in (*KINDS, *FILE_GROUPS)}
    first = [axis.text for axis in request if axis.for_hydra] + ([f"experiment={preset}"] if preset else [])
    sections = _Sections(chosen, first, composer)
    if preset and sections.base["preset"]:
        sections.base["preset"]["name"] = preset
    refused: preset_options.Refusals = {}
    notes: list[str] = []
    if preset:
        by_group, preset_values = sections.by_group, {key: axis.values for key, axis in axes.items() if key not in typed}
        idle = preset_options.idle_options(preset_values, by_group, typed)
        axes = {key: axis for key, axis in axes.items() if key not in {idle_key for idle_key, _ in idle}}
        refused = {**idle, **preset_options.refused_values(preset_values, by_group, typed)}
        notes += preset_options.notes_on({**preset_options.undo_settings(by_group, typed), **refused}, typed)
    for axis in axes.values():
        _check_axis(axis, sections)
    models = [registry().get("model", name) for name in sections.components("model")]
    if "dataset.threshold" in typed and not any(model.target == "binary" for model in models):
        names = " and ".join(sections.components("model"))
        raise Refused(f"The option dataset.threshold is for binary models, such as model=logistic. It has no effect on {names}.")
    order = {key: chosen.get(key, axis.values) for key, axis in axes.items()}
    rules = _rules(combining, of_preset, order)
    notes += duplicate_notes({key: values for key, values in typed.items() if key not in rules.zipped})
    notes += option_notes(sections.by_group, {key: order[key] for key in order if key not in rules.zipped}, typed)
    notes += preset_options.add_attribute_options(sections.by_group, order)
    points, left_out = _points(sections, order, rules, refused)
    notes += skip_notes(rules, left_out, len(points), typed=combining.get("skip") is not of_preset.get("skip"))
    return [replace(point, notes=tuple(notes)) for point in points]


def _rules(combining: Mapping[str, Axis], of_preset: Mapping[str, Axis], values: Values) -> Combinations:
    """Return the rules of ``zip`` and ``skip``. What is typed must fit the request, what a preset says its own keys."""
    held = {key: axis.values for key, axis in combining.items()}
    typed = {key: rule for key, rule in held.items() if combining[key] is not of_preset.get(key)}
    _parsed(typed).check(values)
    _parsed({key: held[key] for key in held if key not in typed}).check_keys(of_preset)
    return _parsed(held).within(values)


def _parsed(held: Values) -> Combinations:
    return Combinations.parse(*(held.get(key, ()) for key in COMBINING_KEYS))


class _Sections:
    """The configuration with the first choice of every group, and the section of each choice by group and name."""

    def __init__(self, chosen: Mapping[str, Sequence[str]], fixed: Sequence[str], composer: HydraComposer) -> None:
        first = [*fixed, *(f"{group}={names[0]}" for group, names in chosen.items())]
        self.base = composer.compose(first)
        self.choices: dict[str, dict[str, Any]] = {}
        for group, (default, *others) in chosen.items():
            composed = {name: composer.compose([*first, f"{group}={name}"])[group] for name in dict.fromkeys(others)}
            self.choices[group] = {default: self.base[group], **composed}

    @property
    def by_group(self) -> dict[str, dict[str, Any]]:
        """The sections of the groups whose options a preset may set, by the names of the chosen components or files."""
        return {group: self.choices.get(group) or {self.base[group]["name"]: self.base[group]} for group in KINDS} | {
            "splits": self.choices.get("splits") or {self.base["splits"]["scheme"]: self.base["splits"]}
        }

    def components(self, kind: str) -> list[str]:
        """Return the names of the chosen components of a kind."""
        return [str(name) for name in self.choices.get(kind, [self.base[kind]["name"]])]

    def keys(self, group: str) -> set[str]:
        """Return the keys below a group: the options of the chosen components, or the keys of the chosen files."""
        if group in KINDS:
            return {opt.name for name in self.components(group) for opt in options_of(registry().get(group, name))}
        files = self.choices[group].values() if group in self.choices else [self.base[group]]
        return {key for section in files for key in section} - {"name", "scheme"}


def _take_preset(axes: dict[str, Axis], composer: HydraComposer) -> str:
    """Remove the choice of an experiment from the axes and return its name, or an empty text."""
    axis = axes.pop("experiment", None)
    if axis is None:
        return ""
    names = axis.values if axis.swept else _chosen_names(axis, composer)
    if len(names) > 1:
        raise Refused("One experiment at a time. Got " + ", ".join(map(str, names)) + ".")
    return str(names[0])


def _is_quick(axes: Mapping[str, Axis]) -> bool:
    """Return whether the request asks for a first look."""
    return "quick" in axes and axes["quick"].values == (True,)


def _chosen_names(axis: Axis, composer: HydraComposer) -> list[str]:
    """Return the names that an axis chooses from its group."""
    group = axis.key
    known = list(registry().names(group)) if group in KINDS else composer.choices(group)
    names: list[str] = []
    for value in axis.values:
        if hasattr(value, "filter"):  # a pattern such as glob(*) stands for all names that match
            names += value.filter(known)
            continue
        if group in KINDS:
            registry().get(group, str(value))  # says why a component that is known cannot be used
        elif str(value) not in known:
            raise unknown_experiment(str(value), known) if group == "experiment" else unknown(group, str(value), known)
        names.append(str(value))
    if not names:
        raise Refused(f"The override of {group} matches nothing. Known: {', '.join(known)}.")
    return names


def _check_axis(axis: Axis, sections: _Sections) -> None:
    """Refuse an unknown key, and several values where all cells must agree."""
    group, dot, name = axis.key.partition(".")
    if not dot:
        if group not in (*PLAIN_KEYS, *sections.choices):
            known = [*PLAIN_KEYS, *COMBINING_KEYS, *KINDS, *FILE_GROUPS, "tracking.uri", "tracking.experiment"]
            raise unknown("key", axis.key, known)
    elif group not in (*KINDS, *FIXED_SECTIONS):
        raise unknown("group", group, [*KINDS, *FIXED_SECTIONS])
    elif name not in sections.keys(group):
        owner = f"option of {' or '.join(sections.components(group))}" if group in KINDS else f"key of {group}"
        raise unknown(owner, name, sections.keys(group))
    if axis.swept and group in SAME_FOR_ALL_CELLS:
        raise Refused(f"The key {axis.key!r} is the same for a whole sweep. Got {len(axis.values)} values.")


def _points(
    sections: _Sections, values: Values, rules: Combinations, refused: preset_options.Refusals
) -> tuple[list[GridPoint], list[list[int]]]:
    """Return the points of the grid, and for each combination that is left out the conditions that it meets."""
    points: list[GridPoint] = []
    left_out: list[list[int]] = []
    seen: set[str] = set()
    for chosen in rules.combine(values):
        config = deepcopy(sections.base)
        for group, choices in sections.choices.items():
            config[group] = deepcopy(choices[chosen[group]])
        applied = {key: value for key, value in chosen.items() if key in sections.choices or _set(config, key, value, refused)}
        axes = {key: value for key, value in applied.items() if len(values[key]) > 1}
        # an option that one mechanism has and another has not would give the other the same cell once per value
        mark = repr((sorted(axes.items(), key=lambda item: item[0]), [config.get(kind, {}) for kind in KINDS]))
        if mark not in seen:
            seen.add(mark)
            if conditions := rules.met(applied):
                left_out.append(conditions)
            else:
                points.append(GridPoint(config, axes))
    return points, left_out


def _set(config: dict[str, Any], key: str, value: Any, refused: preset_options.Refusals) -> bool:
    """Set a key and return True; return False if the chosen component has no such option, or refuses a preset's value."""
    group, dot, name = key.partition(".")
    section = config[group] if dot else config
    if dot and (name not in section or value in refused.get((key, section.get("name", "")), ())):
        return False
    section[name if dot else group] = value
    return True
