"""List the presets from their files alone: what each shows, its grid, and what it takes.

Neither Hydra nor a tracking store is needed to answer.
"""

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from dpbench.base.errors import Refused, unknown
from dpbench.base.options import options_of
from dpbench.contracts.kinds import KINDS
from dpbench.data.splits import Splits
from dpbench.experiments.papers import broken_papers, complete, grid_of, preset_configs, read_mapping
from dpbench.records.preset import Preset
from dpbench.registry.lookup import registry

FOLDER = "experiment"
HYDRA_CONFIGS = Path(str(files("dpbench.conf")))


@dataclass(frozen=True)
class Experiment:
    """An experiment is a choice of ``experiment=``: a preset and the grid that it sweeps."""

    name: str
    preset: Preset | None
    grid: Mapping[str, str]
    """Every key with its values, as they would be typed."""

    @property
    def command(self) -> str:
        return command_of(self.name)

    @property
    def cells(self) -> int:
        """The number of cells in the grid, before those that make no sense are pruned."""
        names = [values_of(self.grid.get(kind, _defaults()[kind])) for kind in KINDS]
        choices = [dict(zip(KINDS, combination, strict=True)) for combination in itertools.product(*names)]
        options = {key: len(values_of(text)) for key, text in self.grid.items() if key not in KINDS}
        return sum(math.prod(count for key, count in options.items() if _applies(key, choice)) for choice in choices)

    @property
    def runs(self) -> int:
        """The number of runs of a cell: its repeats times the folds of each."""
        scheme = values_of(self.grid.get("splits", _defaults()["splits"]))[0]
        options = read_mapping(HYDRA_CONFIGS / "splits" / f"{scheme}.yaml")
        changes = {key.partition(".")[2]: yaml.safe_load(text) for key, text in self.grid.items() if key.startswith("splits.")}
        return Splits(**{**options, **changes}).runs

    def facts(self) -> dict[str, Any]:
        """Return everything about it as plain data."""
        about = {key: getattr(self.preset, key, None) for key in ("title", "shows", "chosen", "minutes")}
        counts = {"cells": self.cells, "runs": self.runs}
        return {"name": self.name, **about, **counts, "grid": dict(self.grid), "command": self.command}


def experiments(folder: str | None = None) -> dict[str, Experiment]:
    """Return every experiment by its name: those of papers, and those of a user's own folder (``--config-dir``)."""
    configs = preset_configs()
    if folder is not None:
        home = Path(folder).expanduser()
        if not home.is_dir():
            raise Refused(f"The option --config-dir must be a folder. Got {folder!r} instead.")
        for path in (home / FOLDER).glob("**/*.yaml"):
            name = path.relative_to(home / FOLDER).with_suffix("").as_posix()
            configs[name] = complete(name, read_mapping(path), {})
    grids = {name: grid_of(name, config) for name, config in configs.items()}
    return {name: Experiment(name, Preset.of(configs[name]["preset"]), grids[name]) for name in sorted(configs)}


def select(name: str, known: Mapping[str, Experiment]) -> list[Experiment]:
    """Return the experiment of this name, or all of the paper of this name."""
    matches = [experiment for full_name, experiment in known.items() if name in (full_name, full_name.rpartition("/")[0])]
    if not matches:
        raise unknown_experiment(name, known)
    return matches


def unknown_experiment(name: str, known: Iterable[str]) -> Refused:
    """Return the refusal of a name that is no experiment, with the reason if its paper cannot be used."""
    reason = broken_papers().get(name.partition("/")[0], "")
    return Refused(f"{unknown('experiment', name, known)} {reason}".rstrip())


def command_of(name: str) -> str:
    """Return the command that runs a preset."""
    return f"python -m dpbench -m experiment={name}"


def values_of(text: str) -> list[str]:
    """Split the values of a sweep as it is typed: at commas, except within quotes and brackets."""
    values, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        depth += 0 if quote else (letter in "[{(") - (letter in "]})")
        if letter == "," and not depth and not quote:
            values.append("")
        else:
            values[-1] += letter
    return [value.strip() for value in values]


def _applies(key: str, components: Mapping[str, str]) -> bool:
    """Return whether a key changes the cells of these components: an option does only if one of them has it."""
    kind, dot, option = key.partition(".")
    return not dot or kind not in KINDS or option in {opt.name for opt in options_of(registry().get(kind, components[kind]))}


@cache
def _defaults() -> dict[str, str]:
    """Return the default choice of each group."""
    items = read_mapping(HYDRA_CONFIGS / "config.yaml")["defaults"]
    return {str(group): str(name) for item in items if isinstance(item, dict) for group, name in item.items()}
