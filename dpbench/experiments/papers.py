"""Read the presets of papers: their files, with the sentences of their choices filled in."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from dpbench.base.errors import Refused, check_known
from dpbench.contracts.paper import Paper
from dpbench.records.preset import Preset
from dpbench.registry.lookup import registry


def papers() -> list[Paper]:
    """Return the papers that plugins offer, whether or not their files can be read."""
    return [registry().get("paper", name) for name in registry().names("paper")]


def preset_configs() -> dict[str, dict[str, Any]]:
    """Return the configuration of every preset by its name; papers that cannot be read are left out."""
    usable = [paper for paper in papers() if not fault_in(read_presets, paper)]
    return {name: config for paper in usable for name, config in read_presets(paper).items()}


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
    grid_of(name, config)  # refuses what is no grid
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
    node: Any = config
    for key in ("hydra", "sweeper", "params"):
        node = node.get(key) or {}
        if not isinstance(node, dict):
            raise Refused(f"The grid of the preset {name} must be a mapping below hydra.sweeper.params. Got {node!r} instead.")
    # the command line has true where YAML reads True
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in node.items()}


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a YAML file that must hold keys and values."""
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C loader is in every wheel, and ten times as fast
        content = yaml.load(path.read_text(encoding="utf-8"), loader)
    except yaml.YAMLError as error:
        raise Refused(f"The file {path.name} is not YAML: {' '.join(str(error).split())}.") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise Refused(f"The file {str(path)!r} cannot be read: {reason}.") from None
    if not isinstance(content, dict):
        raise Refused(f"The file {path.name} must be a mapping of keys to values. Got {type(content).__name__} instead.")
    return content
