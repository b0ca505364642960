"""Check that a component keeps the laws of its kind: contract, determinism, privacy claim, hard tables."""

import json
from collections.abc import Iterator, Sequence

import click

from dpbench.base.errors import unknown
from dpbench.base.strangers_code import stdout_is_stderr
from dpbench.base.terminal import say
from dpbench.registry.discovery import Registration
from dpbench.registry.lookup import registry


@click.command("check")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of lines.")
def command(name: str, as_json: bool) -> int:
    """Check that a component keeps the laws of its kind, with one line per check and what to do about failures.

    NAME is a component, metric or paper, or a plugin or distribution, of which everything is checked. Tables are made up: no
    data is read except by the check of a dataset. The exit code is 1 if a check fails. `dpbench.testing` has the same for tests.
    """
    from dpbench.testing import Findings
    from dpbench.testing.discovered import check_registration

    found: list[Findings] = []
    for entry in _entries(name):
        with stdout_is_stderr():
            found.append(check_registration(entry))
        if not as_json:
            say("\n".join(found[-1].lines()))
    if as_json:
        say(json.dumps([findings.as_dict() for findings in found], indent=2, ensure_ascii=False))
    return int(not all(findings.passed for findings in found))


def _entries(name: str) -> Sequence[Registration]:
    """Return what has this name: components first, then everything of a plugin or of a distribution."""
    entries = registry().entries
    for same in (_with_name(name), _of_plugin(name)):
        if chosen := list(same):
            return chosen
    raise unknown("component or plugin", name, {entry.name for entry in entries})


def _with_name(name: str) -> Iterator[Registration]:
    return (entry for entry in registry().entries if name in (entry.name, f"{entry.kind}={entry.name}"))


def _of_plugin(name: str) -> Iterator[Registration]:
    owners = ((entry, (entry.plugin.name, entry.plugin.short_name, entry.plugin.distribution)) for entry in registry().entries)
    return (entry for entry, names in owners if name in names)
