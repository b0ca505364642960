"""Describe a sweep for its record: the command as it can be repeated, and what its options and metrics mean."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbench.base.options import options_of
from dpbench.base.user_path import user_path
from dpbench.cells.cell import digest
from dpbench.contracts.hooks import KINDS
from dpbench.files.data_frames import PREFIX as FRAME_PREFIX
from dpbench.inference.metrics import INFOS
from dpbench.records.metric_info import MetricInfo
from dpbench.records.preset import Preset
from dpbench.records.sweep_record import SweepRecord
from dpbench.registry.lookup import registry
from dpbench.sweeps.override_text import override_text
from dpbench.sweeps.plan import SweepPlan
from dpbench.tracking.store_uri import masked

MAX_NAMES_IN_TITLE = 4


def describe_sweep(plan: SweepPlan, config: Mapping[str, Any], command: Sequence[str], overrides: Sequence[str]) -> SweepRecord:
    """Return the record of a sweep that has no cells yet."""
    words = [*plugins_flag(), *command, *_from_environment(config, overrides)]
    line = shlex.join(["python", "-m", "dpbench", *map(_without_password, words)])
    typed = tuple(map(_without_password, overrides))
    preset = Preset.of(config["preset"])
    quick = bool(config["quick"])
    notes = (*plan.notes, *_what_the_command_lacks(words))
    return SweepRecord((), line, typed, preset, quick, _option_help(plan), _metric_info(plan), notes=notes)


def plugins_flag() -> list[str]:
    """Return the flag for the folder of plugins, relative to the working folder where it lies below it."""
    folder = os.environ.get("DPBENCH_PLUGINS_DIR")
    if not folder:
        return []
    path, here = user_path(folder).resolve(), Path.cwd()
    return ["--plugins-dir", str(path.relative_to(here) if path.is_relative_to(here) else path)]


def _from_environment(config: Mapping[str, Any], overrides: Sequence[str]) -> list[str]:
    """Return the keys that environment variables decided, as overrides: another shell may not have the variables."""
    typed = {text.partition("=")[0] for text in overrides}
    keys = {}
    if os.environ.get("DPBENCH_AUDIT_LEVEL"):
        keys["audit.level"] = config["audit"]["level"]
    if (uri := os.environ.get("MLFLOW_TRACKING_URI")) and config["tracking"]["uri"] is None:
        keys["tracking.uri"] = override_text(uri) if "," in uri else uri  # without a comma it needs no quotes
    return [f"{key}={text}" for key, text in keys.items() if key not in typed]


def _what_the_command_lacks(words: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each reason why the command as it is recorded does not repeat the sweep."""
    if any(_without_password(word) != word for word in words):
        yield "The recorded command has *** in place of the store's password."
    if any(word.startswith("dataset.path=") and FRAME_PREFIX in word for word in words):
        yield "The recorded command cannot repeat this sweep: its table was passed from Python. Pass it to dpbench.sweep again."


def sweep_key(plan: SweepPlan, preset: Preset | None) -> str:
    """Return a key that two sweeps share if they have the same cells and the same preset."""
    return plan.key if preset is None else digest([plan.key, preset.name])


def sweep_title(plan: SweepPlan, preset: Preset | None) -> str:
    """Return what the runs table calls a sweep: its preset, or its components."""
    count = f"{len(plan.cells)} cell{'s' * (len(plan.cells) != 1)}"
    if preset is not None:
        return f"{preset.name}, {count}"
    names = [sorted({planned.params[kind] for planned in plan.cells}) for kind in ("mechanism", "model", "dataset")]
    short = ["+".join(group) if len(group) <= MAX_NAMES_IN_TITLE else f"{len(group)} of them" for group in names]
    return f"{' x '.join(short)}, {count}"


def _option_help(plan: SweepPlan) -> dict[str, str]:
    """Return the help of every option that the sweep varied, where the components that have it agree."""
    texts: dict[str, set[str]] = {}
    for planned in plan.cells:
        for key in planned.params:
            kind, dot, name = key.partition(".")
            if dot and kind in KINDS:
                options = options_of(registry().get(kind, getattr(planned.cell, kind).name))  # a parameter may be a title
                texts.setdefault(key, set()).update(option.help for option in options if option.name == name)
    return {key: helps.pop() for key, helps in texts.items() if len(helps) == 1}


def _metric_info(plan: SweepPlan) -> dict[str, MetricInfo]:
    """Return the label, meaning and direction of every metric of the sweep's models and attacks."""
    models = dict.fromkeys((planned.params["model"], planned.cell.settings.flags) for planned in plan.cells)
    attacks = dict.fromkeys(planned.params["attack"] for planned in plan.cells)
    infos = [metric.info for name, flags in models for metric in registry().metrics_of(registry().get("model", name), flags)]
    infos += INFOS
    infos += [info.in_group("attack") for name in attacks for info in registry().get("attack", name).metrics]
    return {info.name: info for info in infos}


def _without_password(argument: str) -> str:
    """Return an argument as it may be recorded: the command is part of the record, a store's password is not."""
    key, equals, uri = argument.partition("=")
    return f"{key}={masked(uri)}" if equals and key == "tracking.uri" else argument
