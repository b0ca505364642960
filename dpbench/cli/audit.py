"""``audit``: try a mechanism's claim: replays on neighbours, tests of its noise, statistics of its answers and weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from dpbench.base.errors import Refused, unknown

if TYPE_CHECKING:
    from dpbench.contracts.mechanism import Mechanism
    from dpbench.contracts.model import Model
    from dpbench.data.geometry import Geometry
    from dpbench.privacy.ledger import Budget

    Subject = tuple[Mechanism, Model, Budget, Geometry]

GROUPS = ("mechanism", "model", "dataset")
KEYS = ("epsilon", "delta", "budget", "seed")


@click.command(name="audit")
@click.argument("overrides", nargs=-1, type=click.UNPROCESSED)
def command(overrides: tuple[str, ...]) -> int:
    """Try a mechanism's claim: replays on neighbours, tests of its noise, statistics of its answers and weights.

    OVERRIDES say what is audited: mechanism=fm model=linear epsilon=1 audit.level=replay (or component, release, all). Tables
    are made up; dataset=wine takes that table's public geometry, and none of its rows. audit.runs, audit.pairs,
    audit.confidence and audit.rows set how much is tried. The exit code is 1 where a claim was found to be false.
    """
    from dpbench.audit.procedure import audit
    from dpbench.audit.wording import CAVEAT, describe_audit
    from dpbench.base.one_thread import one_thread

    plan, kept, with_dataset = _read(overrides)
    failed = 0
    with one_thread():
        for title, (mechanism, model, budget, geometry) in _subjects(kept, with_dataset, plan):
            found = audit(mechanism, model, budget, geometry, plan)
            failed += not found.passed
            click.echo(title)
            for line in describe_audit(found):
                click.echo(f"  {line}")
    click.echo(f"FAILED on {failed} of them." if failed else f"Passed. {CAVEAT}")
    return int(failed > 0)


def _read(overrides: Sequence[str]) -> tuple[Any, list[str], bool]:
    """How to audit, what is for the configuration, and whether a dataset is named."""
    from dpbench.audit.settings import AuditSettings
    from dpbench.sweeps.grid import parse

    own: dict[str, Any] = {}
    kept: list[str] = []
    groups: set[str] = set()
    known = [item.name for item in fields(AuditSettings) if item.name != "seed"]
    for text, axis in zip(overrides, parse(overrides), strict=True):
        group, _, name = axis.key.partition(".")
        groups.add(group)
        if group == "audit":
            if name not in known:
                raise unknown("key of audit", name, known)
            if axis.swept:
                raise Refused(f"{text!r} gives several values: an audit is done in one way.")
            own[name] = axis.values[0]
        elif group in GROUPS or axis.key in KEYS:
            kept.append(text)
            if axis.key == "seed":
                own["seed"] = axis.values[0]
        else:
            raise unknown("key of audit", axis.key, [*GROUPS, *KEYS, *(f"audit.{key}" for key in known)])
    if "mechanism" not in groups:
        raise Refused("An audit must say what is audited, as in mechanism=fm. Got no mechanism=….")
    if own.get("level") == "none":
        raise Refused("audit.level=none audits nothing. It must be one of replay, component, release, all.")
    return AuditSettings(**own), kept, "dataset" in groups


def _subjects(overrides: list[str], with_dataset: bool, plan: Any) -> Iterator[tuple[str, Subject]]:
    """Each mechanism on each geometry, with its budget; what is not supported is left out with a sentence, or refused."""
    from dpbench.audit.example_geometries import describe_geometry, example_geometries
    from dpbench.cells.budgets import budget_of
    from dpbench.cells.cell import Settings
    from dpbench.registry.lookup import registry
    from dpbench.sweeps.grid import loaded

    points = loaded(overrides)
    reasons, count = [], 0
    for point in points:
        built = {kind: registry().get(kind, point.config[kind]["name"]).build(_options(point.config[kind])) for kind in GROUPS}
        mechanism, model, dataset = built.values()
        settings = Settings(**{key: point.config[key] for key in KEYS})
        for geometry in [_geometry(dataset, model, settings.seed)] if with_dataset else example_geometries(model):
            reason = mechanism.unsupported(model, geometry)
            if reason:
                reasons.append(f"{describe_geometry(geometry)}: {reason}")
                continue
            count += 1
            options = ", ".join(f"{key}={value}" for key, value in sorted(point.axes.items()) if key not in GROUPS)
            budget = budget_of(settings, mechanism, model, geometry, plan.rows)
            title = f"{mechanism.name} on {model.name} at ε = {settings.epsilon:g}{', ' + options if options else ''}"
            yield title, (mechanism, model, budget, geometry)
    if not count:
        raise Refused(reasons[0].partition(": ")[2])
    for reason in reasons:
        click.echo(f"Not audited: {reason}")


def _geometry(dataset: Any, model: Model, seed: int) -> Geometry:
    from dpbench.cells.loading import DatasetRows
    from dpbench.data.splits import Splits

    return DatasetRows(dataset, model, Splits(), seed).scaled(0).rows.geometry


def _options(config: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key != "name"}
