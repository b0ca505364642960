"""``audit``: try a mechanism's claim: replays on neighbours, tests of its noise, statistics of its answers and weights."""

from collections.abc import Iterator, Sequence
from dataclasses import fields

import click

from dpbench.audit.procedure import Audit, audit
from dpbench.audit.subject import AuditSettings, AuditSubject, example_geometries
from dpbench.audit.wording import CAVEAT, describe_audit, describe_false_alarms, describe_geometry
from dpbench.base.errors import Inapplicable, Refused, Unfinished, described, unknown
from dpbench.base.one_thread import one_thread
from dpbench.base.terminal import say, say_prose
from dpbench.cells.budgets import budget_of
from dpbench.cells.cell import Settings
from dpbench.cells.loading import dataset_rows
from dpbench.data.splits import Splits
from dpbench.registry.lookup import build

GROUPS = ("mechanism", "model", "dataset")
KEYS = ("epsilon", "delta", "budget", "sensitivity", "seed")


@click.command(name="audit")
@click.argument("overrides", nargs=-1, type=click.UNPROCESSED)
def command(overrides: tuple[str, ...]) -> int:
    """Try a mechanism's claim: replays on neighbours, tests of its noise, statistics of its answers and weights.

    OVERRIDES say what is audited: mechanism=fm model=linear epsilon=1 audit.level=replay (or component, release, all). Tables
    are made up; dataset=wine takes that table's public geometry, and none of its rows. audit.runs, audit.pairs,
    audit.confidence and audit.rows set how much is tried. The exit code is 1 where a claim was found to be false.
    """
    outcomes = []
    with one_thread():
        for title, subject in _subjects(overrides):
            outcomes.append(_outcome(subject))
            say("\n  ".join([title, *describe_audit(outcomes[-1])]))
    failed = sum(not outcome.passed for outcome in outcomes)
    verdict = f"FAILED on {failed} of them." if failed else f"Passed. {CAVEAT}"
    say_prose(f"{verdict} {describe_false_alarms(outcomes)}".rstrip())
    return int(failed > 0)


def _outcome(subject: AuditSubject) -> Audit:
    """Return the outcome of an audit; refuse what cannot be audited. The tables are made up, so an error may be quoted."""
    try:
        return audit(subject)
    except (Refused, Unfinished):
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  a plugin may raise anything
        name = f"{subject.mechanism.name} on {subject.model.name}"
        raise Refused(f"{name} cannot be audited, because its fit on made-up rows failed. {described(error)}") from None


def _subjects(overrides: Sequence[str]) -> Iterator[tuple[str, AuditSubject]]:
    """Yield each mechanism on each geometry, with a title. Refuse if none is supported, else print what is not."""
    from dpbench.sweeps.feasibility import check_memory
    from dpbench.sweeps.hydra.composition import grid_points

    keys = _checked_keys(overrides)
    reasons, count = [], 0
    for point in grid_points(overrides if "audit.level" in keys else [*overrides, "audit.level=all"]):
        mechanism, model, dataset = (build(kind, point.config[kind]) for kind in GROUPS)
        settings = Settings(**{key: point.config[key] for key in KEYS})
        mechanism = mechanism.with_sensitivity(settings.sensitivity)
        audit_settings = AuditSettings(**point.config["audit"], seed=settings.seed)
        if audit_settings.level == "none":
            raise Refused("audit.level=none audits nothing. It must be one of replay, component, release, all.")
        check_memory(dataset, Splits())
        try:
            rows = dataset_rows(dataset, model, Splits(by="blocks"), settings.seed)  # nothing is split here
            geometries = [rows.facts(0).geometry] if "dataset" in keys else example_geometries(model)
        except Inapplicable as error:
            reasons.append(f"{dataset.name}: {error}")
            continue
        for geometry in geometries:
            if reason := mechanism.unsupported(model, geometry):
                reasons.append(f"{describe_geometry(geometry)}: {reason}")
                continue
            count += 1
            options = "".join(f", {key}={value}" for key, value in sorted(point.axes.items()) if key not in GROUPS)
            budget = budget_of(settings, mechanism, model, geometry, audit_settings.rows)
            title = f"{mechanism.name} on {model.name} at ε = {settings.epsilon:g}{options}"
            yield title, AuditSubject(mechanism, model, budget, geometry, audit_settings)
    if not count:
        raise Refused(reasons[0].partition(": ")[2])
    for reason in reasons:
        say(f"Not audited: {reason}")


def _checked_keys(overrides: Sequence[str]) -> set[str]:
    """Return the keys of the overrides and their groups. Keys that have no effect on an audit are refused."""
    from dpbench.sweeps.hydra.overrides import parse

    axes = {axis.key: axis for axis in parse(overrides)}
    for key, axis in axes.items():
        group = key.partition(".")[0]
        if group not in (*GROUPS, "audit") and key not in KEYS:
            names = (f"audit.{item.name}" for item in fields(AuditSettings) if item.name != "seed")
            raise unknown("key of audit", key, [*GROUPS, *KEYS, *names])
        if group == "audit" and axis.swept:
            raise Refused(f"The key {key!r} has several values: all mechanisms are audited in the same way.")
    keys = {*axes, *(key.partition(".")[0] for key in axes)}
    if "mechanism" not in keys:
        raise Refused("An audit must say what is audited, as in mechanism=fm. Got no mechanism=….")
    return keys
