"""The presets that exist, read from their files alone: what each shows, its grid, and what it takes.

Neither Hydra nor a tracking store is needed to answer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
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
from dpbench.records.preset import Preset
from dpbench.registry.lookup import registry

FOLDER = "experiment"
PACKAGED = Path(str(files("dpbench.conf")))


@dataclass(frozen=True)
class Experiment:
    """One file of ``experiment=``: a preset and the grid that it sweeps."""

    name: str
    preset: Preset | None
    grid: Mapping[str, str]
    """Every key with its values, as they would be typed."""

    @property
    def command(self) -> str:
        return f"python -m dpbench -m experiment={self.name}"

    @property
    def shows(self) -> str:
        return self.preset.shows if self.preset else ""

    @property
    def cells(self) -> int:
        """The cells of the grid, before those that make no sense are pruned.

        An option multiplies the cells of those components only that have it.
        """
        chosen = [values_of(self.grid.get(kind, _defaults()[kind])) for kind in KINDS]
        return sum(self._cells(dict(zip(KINDS, names, strict=True))) for names in itertools.product(*chosen))

    @property
    def runs(self) -> int:
        """The runs of a cell: its repeats, and the folds of each."""
        scheme = values_of(self.grid.get("splits", _defaults()["splits"]))[0]
        known = _read(PACKAGED / "splits" / f"{scheme}.yaml")
        given = {key.partition(".")[2]: yaml.safe_load(text) for key, text in self.grid.items() if key.startswith("splits.")}
        return Splits(**{**known, **given}).runs

    def _cells(self, components: Mapping[str, str]) -> int:
        return math.prod(len(values_of(text)) for key, text in self.grid.items() if key not in KINDS and _has(components, key))


def experiments(folder: str | None = None) -> dict[str, Experiment]:
    """Every preset by its name, those of a user's own folder (``--config-dir``) among them."""
    found = dict(_in(PACKAGED))
    if folder is not None:
        if not Path(folder).expanduser().is_dir():
            raise Refused(f"The option --config-dir must be a folder. Got {folder!r} instead.")
        found |= dict(_in(Path(folder).expanduser()))
    return dict(sorted(found.items()))


def chosen(name: str, known: Mapping[str, Experiment]) -> list[Experiment]:
    """The preset of this name, or all of a folder of them."""
    found = [experiment for each, experiment in known.items() if name in (each, each.rpartition("/")[0])]
    if not found:
        raise unknown("experiment", name, known)
    return found


def values_of(text: str) -> list[str]:
    """The values of a sweep as it is typed: commas part them, except within quotes and brackets."""
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


def _in(folder: Path) -> Iterator[tuple[str, Experiment]]:
    for path in (folder / FOLDER).glob("**/*.yaml"):
        name = path.relative_to(folder / FOLDER).with_suffix("").as_posix()
        config = _read(path)
        preset = Preset.of({"name": name, **config["preset"]} if config.get("preset") else None)
        params = ((config.get("hydra") or {}).get("sweeper") or {}).get("params") or {}
        yield name, Experiment(name, preset, {key: _typed(value) for key, value in params.items()})


def _typed(value: Any) -> str:
    """A value of YAML as the command line has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _has(components: Mapping[str, str], key: str) -> bool:
    """Whether a key changes these cells: one of a component does where that component has the option."""
    kind, dot, option = key.partition(".")
    if not dot or kind not in KINDS:
        return True
    return option in {one.name for one in options_of(registry().get(kind, components[kind]))}


@cache
def _defaults() -> dict[str, str]:
    """What is chosen in each group when nothing is said."""
    items: Iterable[Any] = _read(PACKAGED / "config.yaml")["defaults"]
    return {str(group): str(name) for item in items if isinstance(item, dict) for group, name in item.items()}


def _read(path: Path) -> dict[str, Any]:
    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise Refused(f"The file {path.name} is not YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(read, dict):
        raise Refused(f"The file {path.name} must hold keys and values. Got {type(read).__name__} instead.")
    return read
