"""Read the presets of papers from their files, and say what each shows, its grid, and what it takes.

Neither Hydra nor a tracking store is needed to answer.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from dpbench.base.errors import Refused, check_known, unknown
from dpbench.base.options import options_of
from dpbench.base.user_path import user_path
from dpbench.base.yaml_text import parse_yaml
from dpbench.contracts.hooks import KINDS
from dpbench.contracts.paper import Paper
from dpbench.data.splits import Splits
from dpbench.experiments.combinations import COMBINING_KEYS, Combinations
from dpbench.records.budget_free import BUDGET_KEYS
from dpbench.records.preset import Preset
from dpbench.registry.lookup import build, registry

FOLDER = "experiment"
HYDRA_CONFIGS = Path(str(files("dpbench.conf")))


@dataclass(frozen=True)
class Experiment:
    """An experiment is a choice of ``experiment=``: a preset and the grid that it sweeps."""

    name: str
    preset: Preset | None
    grid: Mapping[str, str]
    """Every key with its values, as they would be typed."""
    rules: Combinations = field(default_factory=Combinations)
    """Which combinations of these values are in the grid."""

    @property
    def cells(self) -> int:
        """The number of cells in the grid, before those that make no sense are pruned."""
        values = {kind: values_of(self.grid.get(kind, default_choices()[kind])) for kind in KINDS}
        values |= {key: values_of(text) for key, text in self.grid.items() if key not in COMBINING_KEYS}
        choices = (dict(zip(KINDS, names, strict=True)) for names in itertools.product(*(values[kind] for kind in KINDS)))
        return len({cell for choice in choices for cell in self._cells_of(values, choice)})

    def _cells_of(self, values: Mapping[str, Sequence[str]], choice: Mapping[str, str]) -> Iterator[frozenset[tuple[str, str]]]:
        """Yield what tells the cells of these components apart: an option counts if its component has and accepts it."""
        accepted = {key: [value for value in values[key] if _accepts(key, value, choice)] for key in values}
        # an option that makes no difference needs one of its values, unless others vary with it
        useful = {key: accepted[key] or values[key][: None if key in self.rules.zipped else 1] for key in values}
        for chosen in self.rules.combine(values, lambda key, value: value in useful[key]):
            point = {key: value for key, value in chosen.items() if accepted[key]}
            budgeted = _uses_budget(frozenset(item for item in point.items() if item[0].partition(".")[0] == "mechanism"))
            if not self.rules.met(point):
                yield frozenset(item for item in point.items() if budgeted or item[0] not in BUDGET_KEYS)

    @property
    def runs(self) -> int:
        """The number of runs of a cell: its repeats times the folds of each."""
        scheme = values_of(self.grid.get("splits", default_choices()["splits"]))[0]
        options = read_mapping(HYDRA_CONFIGS / "splits" / f"{scheme}.yaml")
        changes = {key.partition(".")[2]: yaml.safe_load(text) for key, text in self.grid.items() if key.startswith("splits.")}
        return Splits(**{**options, **changes}).runs

    def facts(self) -> dict[str, Any]:
        """Return everything about it as plain data."""
        facts = {"name": self.name} | {key: getattr(self.preset, key, None) for key in ("title", "shows", "chosen", "minutes")}
        return facts | {"cells": self.cells, "runs": self.runs, "grid": dict(self.grid), "command": command_of(self.name)}


def experiments(folder: str | None = None) -> dict[str, Experiment]:
    """Return every experiment by its name: those of papers, and those of a user's own folder (``--config-dir``)."""
    configs = preset_configs()
    if folder is not None:
        home = user_path(folder)
        if not home.is_dir():
            raise Refused(f"The option --config-dir must be a folder. Got {folder!r} instead.")
        for path in (home / FOLDER).glob("**/*.yaml"):
            name = path.relative_to(home / FOLDER).with_suffix("").as_posix()
            configs[name] = complete(name, read_mapping(path), {})
    presets = {name: Preset.of(config["preset"]) for name, config in sorted(configs.items())}
    return {
        name: Experiment(name, preset, grid_of(name, configs[name]), rules_of(name, configs[name]))
        for name, preset in presets.items()
    }


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


def papers() -> list[Paper]:
    """Return the papers that plugins offer, whether or not their files can be read."""
    return [registry().get("paper", name) for name in registry().names("paper")]


def preset_configs() -> dict[str, dict[str, Any]]:
    """Return the configuration of every preset by its name; papers that cannot be read are left out."""
    usable = (read_presets(paper) for paper in papers() if not fault_in(read_presets, paper))
    return {name: config for presets in usable for name, config in presets.items()}


def broken_papers() -> dict[str, str]:
    """Return a sentence for each paper that has no usable presets, by its name."""
    entries = {entry.name: entry.reason for entry in registry().entries if entry.kind == "paper" and entry.health != "ok"}
    faults = entries | {paper.name: fault_in(read_presets, paper) for paper in papers()}
    return {name: f"The paper {name!r} cannot be used: {fault}" for name, fault in faults.items() if fault}


@cache
def read_presets(paper: Paper) -> dict[str, dict[str, Any]]:
    """Return the configuration of each preset of a paper by its name, with its choices in words."""
    sentences = read_mapping(paper.choices_file) if paper.choices_file.exists() else {}
    return {name: complete(name, read_mapping(path), sentences) for name, path in paper.preset_files.items()}


def complete(name: str, config: dict[str, Any], sentences: dict[str, Any]) -> dict[str, Any]:
    """Add the preset's name, and replace the keys of its choices by their sentences."""
    rules_of(name, config)  # refuses what is no grid
    section = config.get("preset") or {}
    if not isinstance(section, dict):
        raise Refused(f"The section 'preset' of {name} must be a mapping. Got {section!r} instead.")
    if not section:
        return {**config, "preset": None}
    keys = section.get("choices") or []
    if not isinstance(keys, list):
        raise Refused(f"The choices of the preset {name} must be a list of keys of choices.yaml. Got {keys!r} instead.")
    check_known(f"choice for the preset {name}", keys, sentences)
    chosen = " ".join([*(str(sentences[key]) for key in keys), *filter(None, [section.get("chosen")])])
    preset = {key: value for key, value in section.items() if key != "choices"} | {"name": name, "chosen": chosen}
    Preset.of(preset)  # refuses wrong keys and values
    return {**config, "preset": preset}


def fault_in(read: Callable[[Paper], object], paper: Paper) -> str:
    """Return what is wrong with the files that ``read`` reads of a paper, in one sentence, or an empty text."""
    try:
        read(paper)
    except Refused as refusal:
        return str(refusal)
    return ""


def grid_of(name: str, config: dict[str, Any]) -> dict[str, str]:
    """Return every key that a preset sweeps, with its values as they would be typed."""
    # the command line has true where YAML reads True
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in _params(name, config).items()}


def rules_of(name: str, config: dict[str, Any]) -> Combinations:
    """Return which combinations of its values a preset sweeps."""
    params = _params(name, config)
    for key in COMBINING_KEYS:
        if not isinstance(params.get(key), list | dict | None):
            raise Refused(
                f"The key {key!r} of the preset {name} must be a list or a mapping in YAML. Got {params[key]!r} instead."
            )
    return Combinations.parse(*([params.get(key)] for key in COMBINING_KEYS))


def _params(name: str, config: dict[str, Any]) -> dict[str, Any]:
    node: Any = config
    for key in ("hydra", "sweeper", "params"):
        node = node.get(key) or {}
        if not isinstance(node, dict):
            raise Refused(f"The grid of the preset {name} must be a mapping below hydra.sweeper.params. Got {node!r} instead.")
    return dict(node)


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a YAML file that must hold keys and values."""
    try:
        content = parse_yaml(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise Refused(f"The file {path.name} is not YAML: {' '.join(str(error).split())}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"The file {str(path)!r} cannot be read: {getattr(error, 'strerror', 'it is not UTF-8 text')}.") from None
    if not isinstance(content, dict):
        raise Refused(f"The file {path.name} must be a mapping of keys to values. Got {type(content).__name__} instead.")
    return content


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


def _accepts(key: str, value: str, choice: Mapping[str, str]) -> bool:
    """Return whether a key takes a value for these components."""
    kind, dot, option = key.partition(".")
    if kind not in KINDS:
        return True
    return _option_accepts(kind, choice[kind], option, value) if dot else value == choice[kind]


@cache
def _option_accepts(kind: str, name: str, option: str, value: str) -> bool:
    """Return whether a component has an option, and takes this value of it."""
    if option not in {opt.name for opt in options_of(registry().get(kind, name))}:
        return False
    try:
        build(kind, {"name": name, option: yaml.safe_load(value)})
    except Refused:
        return False
    return True


@cache
def _uses_budget(mechanism: frozenset[tuple[str, str]]) -> bool:
    """Return whether a mechanism, given by its name and its options, uses a budget."""
    values = dict(mechanism)
    options = {key.partition(".")[2]: yaml.safe_load(text) for key, text in values.items() if key != "mechanism"}
    return bool(build("mechanism", {"name": values["mechanism"], **options}).uses_budget())


@cache
def default_choices() -> dict[str, str]:
    """Return the default choice of each group."""
    items = read_mapping(HYDRA_CONFIGS / "config.yaml")["defaults"]
    return {str(group): str(name) for item in items if isinstance(item, dict) for group, name in item.items()}
