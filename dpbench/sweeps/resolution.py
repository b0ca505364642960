"""Resolve a grid point into a cell: build its components, check its settings, and collect the versions that enter its key."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from dpbench.audit.subject import AuditSettings
from dpbench.base.errors import Refused
from dpbench.base.memory import machine_memory
from dpbench.cells.cell import Cell, ComponentChoice, Settings
from dpbench.cells.code_versions import versions_of
from dpbench.contracts.hooks import KINDS
from dpbench.contracts.mechanism import Mechanism
from dpbench.data.splits import Splits
from dpbench.inference.settings import InferenceSettings
from dpbench.privacy.queries.polynomial import SensitivityKey
from dpbench.records.budget_free import BUDGET_KEYS
from dpbench.registry.lookup import build
from dpbench.sweeps.grid import GridPoint

PARAM_SETTINGS = ("seed", "budget", "accounting", "noise", "clipped", "exact_weights")
"""Settings that are parameters of a run where the sweep varies them. ε and δ always are, if the mechanism uses a budget."""
RULE_KEYS = {"sensitivity", "mechanism.sensitivity"}
QUICK_REPEATS = 2


@dataclass(frozen=True)
class ResolvedPoint:
    """A grid point whose configuration is valid, with its components."""

    cell: Cell
    params: Mapping[str, str]
    components: Mapping[str, Any]
    """By kind."""
    sensitivity: str
    """The rule of the mechanism's bounds, as the cell's record names it."""


class PartMemo:
    """What points of a grid have in common, made once: thousands of them share a few components."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


def resolve(point: GridPoint, swept: Sequence[str], memo: PartMemo | None = None) -> ResolvedPoint:
    """Resolve a grid point; ``swept`` are the keys that the sweep varies. A wrong value is refused.

    Points of one grid that are resolved with the same ``memo`` share their components.
    """
    config, memo = point.config, memo or PartMemo()
    sections = {kind: repr(config[kind]) for kind in (*KINDS, "splits", "inference")}
    components: dict[str, Any] = {kind: memo.get((kind, sections[kind]), partial(_built, kind, config[kind])) for kind in KINDS}
    settings = Settings(**{item.name: config[item.name] for item in fields(Settings)})
    rule_of = partial(_with_sensitivity, components["mechanism"], settings.sensitivity)
    components["mechanism"], rule, sensitivity = memo.get(("rule", sections["mechanism"], settings.sensitivity), rule_of)
    settings = settings if settings.sensitivity == rule else replace(settings, sensitivity=rule)
    if components["dataset"].resample and settings.noise == "secure":
        raise Refused(
            "With dataset.resample=true a row may count several times, which is for experiments only: the key 'noise' must be "
            "'simulation'. Got 'secure' instead."
        )
    for key in ("quick", "rerun"):
        if not isinstance(config[key], bool):
            raise Refused(f"The key {key!r} must be true or false. Got {config[key]!r} instead.")
    splits = memo.get(("splits", sections["splits"]), lambda: Splits(**config["splits"]))
    if config["quick"]:
        splits = replace(splits, repeats=min(splits.repeats, QUICK_REPEATS))
    budgeted = bool(components["mechanism"].uses_budget())
    if not budgeted:
        settings = settings.without_budget()
    shared = tuple(sections[kind] for kind in KINDS), rule
    choices = memo.get(("choices", shared), lambda: {kind: _choice(component) for kind, component in components.items()})
    versions = memo.get(("versions", shared, settings.flags), lambda: versions_of(components, settings))
    audit = AuditSettings(**config["audit"])
    if audit.level not in ("none", "replay"):  # statistics are numbers of the cell: its seed decides them
        audit = replace(audit, seed=settings.seed)
    inference = memo.get(("inference", sections["inference"]), lambda: InferenceSettings(**config["inference"]))
    cell = Cell(
        **choices, splits=splits, settings=settings, versions=versions, audit=audit, inference=inference, budgeted=budgeted
    )
    names = {kind: component.name for kind, component in components.items()}
    names["dataset"] = components["dataset"].display_name
    privacy = {"epsilon": _shortest(settings.epsilon), "delta": _shortest(settings.delta)} if budgeted else {}
    varied = {key: str(point.axes[key]) for key in swept if key in point.axes and ("." in key or key in PARAM_SETTINGS)}
    for name in {name for options in components["dataset"].variants() for name in options}:
        varied.pop(f"dataset.{name}", None)  # the name of the table is already that of the dataset
    if not budgeted:
        varied = {key: text for key, text in varied.items() if key not in BUDGET_KEYS}
    # whichever key varied it, a rule makes a variant of the mechanism, unless it has no effect on this one
    if sensitivity and RULE_KEYS & point.axes.keys():
        varied["mechanism.sensitivity"] = sensitivity
    else:
        varied.pop("mechanism.sensitivity", None)
    return ResolvedPoint(cell, {**names, **privacy, "splits": splits.describe(), **varied}, components, sensitivity)


def resolve_record(config: Mapping[str, Any], params: Mapping[str, str]) -> ResolvedPoint:
    """Resolve a recorded configuration, in which everything is decided: options that are new since then have their defaults."""
    components: dict[str, Any] = {kind: build(kind, config[kind]) for kind in KINDS}
    settings = Settings(**{item.name: config[item.name] for item in fields(Settings) if item.name in config})
    cell = Cell(
        **{kind: _choice(component) for kind, component in components.items()},
        splits=Splits(**config["splits"]),
        settings=settings,
        versions=versions_of(components, settings),
        audit=AuditSettings(**config.get("audit", {"level": "none"})),
        inference=InferenceSettings(**config.get("inference", {})),
        budgeted="epsilon" in config,
    )
    return ResolvedPoint(cell, params, components, components["mechanism"].sensitivity_rule(settings.sensitivity) or "")


def _built(kind: str, section: Mapping[str, Any]) -> Any:
    """Return a component. Whether a table is streamed is decided here, once for all workers, whatever memory they have."""
    component = build(kind, section)
    return component.for_memory(machine_memory()) if kind == "dataset" else component


def _choice(component: Any) -> ComponentChoice:
    return ComponentChoice(component.name, _jsonable(component.options()))


def _with_sensitivity(mechanism: Mechanism, sensitivity: SensitivityKey) -> tuple[Mechanism, SensitivityKey, str]:
    """Return the mechanism with the option that the key ``sensitivity`` decides, the key's value, and the rule's name.

    The value is ``published`` only where it decides a bound: cells that are the same under both values have one key.
    """
    rule = mechanism.sensitivity_rule(sensitivity)
    if rule == mechanism.sensitivity_rule("tight"):
        return mechanism.with_sensitivity("tight"), "tight", rule or ""
    return mechanism.with_sensitivity(sensitivity), sensitivity, sensitivity


def _shortest(value: float) -> str:
    """Return the shortest text that is exactly this number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _jsonable(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in options.items()}
