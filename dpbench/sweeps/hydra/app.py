"""The Hydra application: one cell without ``-m``, a sweep with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from hydra.errors import MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from dpbench.base.errors import Refused, Unfinished, near_names
from dpbench.records.cell_record import CellRecord
from dpbench.sweeps.grid import COMPONENTS, Axis, GridPoint, loaded, parse, readable
from dpbench.sweeps.hydra.config_groups import register, register_sweeper
from dpbench.sweeps.plan import plan, refuse_pruned

CONFIG = "pkg://dpbench.conf"
FLAGS = {
    **dict.fromkeys(("-m", "--multirun", "-r", "--resolve", "--hydra-help", "--shell-completion", "-sc", "--info"), False),
    **dict.fromkeys(("--cfg", "-c", "--config-dir", "-cd", "--config-name", "-cn", "--package", "-p"), True),
}
"""Hydra's flags that make sense here, and whether a value follows."""


@dataclass
class _Result:
    """What a job said: Hydra hands nothing back to the caller of its decorator."""

    exit_code: int = 0
    error: BaseException | None = None


@dataclass
class _Request:
    """What was asked for: Hydra tells a job the configuration, and not how it was written."""

    point: GridPoint | None = None
    """The single cell that is run; Hydra cannot set an option that is a mapping, so it is composed here."""
    command: Sequence[str] = ()


result = _Result()
request = _Request()


def main(argv: Sequence[str]) -> int:
    """Run what the overrides ask for; the result is the exit code."""
    import hydra

    flags, overrides = _split(argv)
    overrides = [readable(text) for text in overrides]
    multirun = bool({"-m", "--multirun"} & set(flags))
    if multirun and {"--cfg", "-c"} & set(flags):
        raise Refused("--cfg shows the configuration of one cell: leave out -m and give one value a key.")
    register()
    register_sweeper()
    points = [] if "--hydra-help" in flags else _check(overrides, multirun, flags)
    request.point, request.command = None, argv
    if multirun:
        overrides = [_for_the_sweeper(text, axis) for text, axis in zip(overrides, parse(overrides), strict=True)]
    elif points and not {"--cfg", "-c", "--info"} & set(flags):
        request.point = points[0]
        overrides = [text for text, axis in zip(overrides, parse(overrides), strict=True) if axis.hydra]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors come to us, which knows how to say them
    before = sys.argv
    sys.argv = ["dpbench", *flags, *overrides]
    result.exit_code, result.error = 0, None
    try:
        hydra.main(config_path=CONFIG, config_name="config", version_base="1.3")(job)()
    finally:
        sys.argv = before
    if result.error is not None:
        raise result.error
    return result.exit_code


def job(config: DictConfig) -> None:
    """One Hydra job: one cell, run and recorded by itself."""
    try:
        point = request.point or GridPoint(_plain(config), {})
        planned = plan([point])
        refuse_pruned(planned)
        finish(planned, point.config, sweep=False, command=request.command)
    except OmegaConfBaseException as error:
        result.error = Refused(" ".join(str(error).split("\n")[0].split()))
    except (Refused, Unfinished) as error:
        result.error = error  # Hydra would print a line of its own before it raised it again


def _plain(config: DictConfig) -> dict[str, Any]:
    plain: Any = OmegaConf.to_container(config, resolve=True)
    return dict(plain)


def finish(planned: Any, config: dict[str, Any], *, sweep: bool, command: Sequence[str]) -> None:
    """Run a plan, print its table, and say how to open the runs."""
    from dpbench.report.terminal_table import print_table
    from dpbench.sweeps.execution import execute

    outcome = execute(planned, config, sweep=sweep, command=command, overrides=_split(command)[1])
    print_table(outcome.summary)
    print(_counted(outcome.cells))
    tracking = config["tracking"]
    print(f"Open the runs: {_ui(outcome.store if tracking['uri'] else None, tracking['experiment'])}")
    result.exit_code = max(result.exit_code, outcome.exit_code)


def _counted(rows: Sequence[CellRecord]) -> str:
    """How many cells ran, and how many did not and why."""
    words = {"run": "run", "resumed": "already recorded (rerun=true runs them again)", "failed": "FAILED", "pruned": "pruned"}
    counts = {state: sum(row.state == state for row in rows) for state in words}
    return "Cells: " + ", ".join(f"{count} {words[state]}" for state, count in counts.items() if count or state == "run") + "."


def _ui(uri: str | None, experiment: str) -> str:
    options = [f"--uri {uri}"] if uri else []
    options += [f"--experiment {experiment}"] if experiment != "dpbench" else []
    return " ".join(["python -m dpbench ui", *options])


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Flags with their values, and overrides."""
    flags: list[str] = []
    overrides: list[str] = []
    rest = iter(argv)
    for argument in rest:
        if not argument.startswith("-"):
            overrides.append(argument)
            continue
        name, equals, _ = argument.partition("=")
        if name not in FLAGS:
            raise Refused(f"There is no flag {name!r}.{near_names(name, FLAGS)}")
        flags.append(argument)
        if FLAGS[name] and not equals:
            flags += [value for value in [next(rest, None)] if value is not None]
    return flags, overrides


def _check(overrides: Sequence[str], multirun: bool, flags: Sequence[str]) -> list[GridPoint]:
    """Expand the grid before Hydra does, for errors that name what is allowed."""
    if not multirun:
        for text, axis in zip(overrides, parse(overrides), strict=True):
            if axis.swept:
                raise Refused(f"{text!r} gives several values: add -m to sweep them.")
    folder, name = _value_of(flags, "--config-dir", "-cd"), _value_of(flags, "--config-name", "-cn")
    try:
        points = loaded(overrides, folder, name or "config")
        if len(points) > 1 and not multirun and not {"--cfg", "-c"} & set(flags):
            raise Refused(f"The experiment sweeps {len(points)} combinations: add -m to run them.")
        return points
    except MissingConfigException as error:
        raise Refused(" ".join(str(error).split("\n")[0].split())) from None


def _value_of(flags: Sequence[str], *names: str) -> str | None:
    """The value that a flag was given, after it or after an equals sign."""
    for flag, following in zip_longest(flags, flags[1:]):
        name, equals, value = flag.partition("=")
        if name in names:
            return value if equals else following
    return None


def _for_the_sweeper(text: str, axis: Axis) -> str:
    """A component's option as a sweep of one value: Hydra leaves those to the sweeper, which knows whose option it is."""
    component, dot, _ = axis.key.partition(".")
    if dot and component in COMPONENTS and not axis.listed:
        key, _, value = text.partition("=")
        return f"{key}=choice({value})"
    return text
