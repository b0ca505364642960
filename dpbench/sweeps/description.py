"""Describe a sweep for its record: the command as it can be repeated, and what its options and metrics mean."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from dpbench.base.options import options_of
from dpbench.cells.cell import digest
from dpbench.contracts.hooks import KINDS
from dpbench.inference.metrics import INFOS
from dpbench.records.metric_info import MetricInfo
from dpbench.records.preset import Preset
from dpbench.records.sweep_record import SweepRecord
from dpbench.registry.lookup import registry
from dpbench.sweeps.plan import SweepPlan
from dpbench.tracking.store_uri import masked

MAX_NAMES_IN_TITLE = 4


def describe_sweep(plan: SweepPlan, config: Mapping[str, Any], command: Sequence[str], overrides: Sequence[str]) -> SweepRecord:
    """Return the record of a sweep that has no cells yet."""
    line = shlex.join(["python", "-m", "dpbench", *map(_without_password, command)])
    typed = tuple(map(_without_password, overrides))
    preset = Preset.of(config["preset"])
    quick = bool(config["quick"])
    return SweepRecord((), line, typed, preset, quick, _option_help(plan), _metric_info(plan), notes=plan.notes)


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
