"""Deliver the results in a folder of unit files to the store, without the process of the sweep that asked for them."""

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpbench.base.errors import Refused
from dpbench.report.formatting import plural
from dpbench.sweeps.engines.files import Delivery
from dpbench.sweeps.engines.folder_lease import FolderLease
from dpbench.sweeps.engines.remote_task import plugin_variables, take_plugins
from dpbench.sweeps.engines.unit_folder import UnitFolder
from dpbench.sweeps.plan import SweepPlan
from dpbench.sweeps.running import SweepStopped
from dpbench.tracking.store_uri import masked


@dataclass(frozen=True)
class Request:
    """What a sweep asks for, as its folder keeps it. A password of a store is left out."""

    plan: SweepPlan
    config: Mapping[str, Any]
    sweep: bool
    command: Sequence[str]
    overrides: Sequence[str]
    folder: str = field(default_factory=os.getcwd)
    """The working folder, to which paths may be relative."""
    plugins: Mapping[str, str] = field(default_factory=plugin_variables)


def request_of(
    plan: SweepPlan, config: Mapping[str, Any], *, sweep: bool, command: Sequence[str], overrides: Sequence[str]
) -> tuple[str, Request]:
    """Return the name and the content of a request, before anything is resumed: the same command has the same name."""
    config = {**config, "tracking": {**config["tracking"], "uri": _without_password(config["tracking"]["uri"])}}
    typed, overridden = ([_masked_override(text) for text in line] for line in (command, overrides))
    return plan.key, Request(plan, config, sweep, typed, overridden)


def flush(path: Path, uri: str | None = None) -> tuple[list[str], bool]:
    """Record the finished cells of a folder; return a sentence for each sweep, and whether all cells of all sweeps are recorded.

    ``uri`` is the store, if it is not the one that the sweep was to write to.
    """
    from dpbench.sweeps.execution import execute  # which imports this module

    folder = UnitFolder(path)
    requests = folder.requests()
    sentences, whole = [], True
    with FolderLease(folder["workers"] / secrets.token_hex(8)) as lease:
        if any(not lease.sees_dead(parent) for parent in folder["parents"].glob("[!.]*")):
            raise Refused(f"The sweep of {str(path)!r} still runs and delivers its results itself: end it first.")
    for name, request in requests.items():
        engine = Delivery(folder, only_whole=bool(request.config["rerun"]))  # delivered twice, its cells would run twice
        config = _prepared(request, uri)
        cells = plural(len(request.plan.to_run), "cell")
        try:
            given = {"sweep": request.sweep, "command": request.command, "overrides": request.overrides}
            outcome = execute(request.plan, config, engine=engine, **given)
        except SweepStopped as error:
            sentences.append(str(error))
            whole = False
        else:
            (folder["requests"] / name).unlink(missing_ok=True)
            with FolderLease(folder["workers"] / secrets.token_hex(8)) as lease:
                folder.clear_up(lease, engine.digests)
            sentences += [f"All of {cells} are recorded in {outcome.store}.", *outcome.sentences]
    return sentences, whole


def _prepared(request: Request, uri: str | None) -> dict[str, Any]:
    """Return the configuration with which to record, after taking the sweep's working folder and plugins."""
    tracking = dict(request.config["tracking"])
    if uri is not None:
        tracking["uri"] = uri
    elif not os.path.isdir(request.folder):
        raise Refused("The working folder of the sweep is not on this machine: name the store, as in tracking.uri=sqlite:///….")
    if os.path.isdir(request.folder):
        os.chdir(request.folder)
    take_plugins(request.plugins)
    return {**request.config, "tracking": tracking}


def _without_password(uri: Any) -> Any:
    return uri if uri is None or masked(uri) == uri else None


def _masked_override(text: str) -> str:
    key, equals, uri = text.partition("=")
    return f"{key}={masked(uri)}" if equals and key == "tracking.uri" else text
