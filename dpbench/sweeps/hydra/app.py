"""The command line of a run: one cell without ``-m``, a sweep with it. Hydra composes, and answers its own flags."""

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial

from omegaconf import DictConfig

from dpbench.base.errors import Refused, Unfinished, near_names
from dpbench.records.cell_record import CellRecord
from dpbench.sweeps.execution import execute
from dpbench.sweeps.grid import GridPoint
from dpbench.sweeps.hydra.composition import plain, points_of
from dpbench.sweeps.hydra.config_groups import register
from dpbench.sweeps.hydra.overrides import hydra_errors_refused, parse
from dpbench.sweeps.override_text import quoted
from dpbench.sweeps.plan import plan, refuse_pruned

SWITCHES = ("--multirun", "--resolve", "--hydra-help", "--shell-completion", "--info")
VALUED_FLAGS = ("--cfg", "--config-dir", "--config-name", "--package")
SHORT_FLAGS = {"-" + "".join(word[0] for word in flag[2:].split("-")): flag for flag in (*SWITCHES, *VALUED_FLAGS)}
"""Each flag by the initials of its words, which is how Hydra shortens them."""
ABOUT_CONFIG = ("--cfg", "--info")
"""Flags that show the configuration instead of running it."""
ABOUT_HYDRA = ("--hydra-help", "--shell-completion")


def main(argv: Sequence[str]) -> int:
    """Run what the command line requests, or let Hydra show it, and return the exit code."""
    flags, overrides = _split(argv)
    sweep = "--multirun" in flags
    if not flags.keys().isdisjoint(ABOUT_HYDRA):
        return _inside_hydra([*_for_hydra(flags), *overrides])
    if sweep and "--cfg" in flags:
        raise Refused("--cfg shows the configuration of one cell: leave out -m and give one value a key.")
    axes = parse(overrides)
    for axis in axes:
        if axis.swept and not sweep:
            raise Refused(f"{axis.text!r} gives several values: add -m to sweep them.")
    points = points_of(axes, flags.get("--config-dir"), flags.get("--config-name", "config"))
    if not flags.keys().isdisjoint(ABOUT_CONFIG):
        return _inside_hydra([*_for_hydra(flags), *overrides])
    for flag in ("--resolve", "--package"):
        if flag in flags:
            raise Refused(f"The flag {flag} needs --cfg, whose output it changes.")
    if len(points) > 1 and not sweep:
        raise Refused(f"The experiment sweeps {len(points)} combinations: add -m to run them.")

    run = partial(run_points, command=argv, overrides=overrides)
    hydra_overrides = [axis.text for axis in axes if axis.for_hydra]
    if not hydra_overrides:
        return run(points, sweep=sweep)
    configuration = {flag: value for flag, value in flags.items() if flag in ("--config-dir", "--config-name")}
    sweepers = [text for text in hydra_overrides if text.startswith("hydra/sweeper=")]
    if sweep and sweepers and sweepers != ["hydra/sweeper=dpbench"]:  # it makes a Hydra job of each cell, as Hydra's own does
        folder = quoted(os.path.join(tempfile.gettempdir(), "dpbench-hydra"))  # nothing but the store in the working folder
        arguments = ["--multirun", *_for_hydra(configuration), f"hydra.sweep.dir={folder}", *overrides]
        return _inside_hydra(arguments, lambda config: run([GridPoint(plain(config), {})], sweep=False))
    return _inside_hydra([*_for_hydra(configuration), *hydra_overrides], lambda _: run(points, sweep=sweep))


def run_points(points: Sequence[GridPoint], *, sweep: bool, command: Sequence[str], overrides: Sequence[str]) -> int:
    """Run the points of a grid, print their table, say how to open the runs, and return the exit code."""
    from dpbench.report.terminal_table import print_table

    planned = plan(points)
    if not sweep:
        refuse_pruned(planned)
    config = points[0].config
    outcome = execute(planned, config, sweep=sweep, command=command, overrides=overrides)
    print_table(outcome.summary)
    for note in outcome.summary.sweep.notes:
        print(f"Note: {note}")
    print(_counts(outcome.cells))
    print(f"Open the runs: {_ui_command(outcome.store if config['tracking']['uri'] else '', config['tracking']['experiment'])}")
    return outcome.exit_code


def _counts(cells: Sequence[CellRecord]) -> str:
    """Return how many cells ran, and how many did not and why."""
    words = {"run": "run", "resumed": "already recorded (rerun=true runs them again)", "failed": "FAILED", "pruned": "pruned"}
    counts = {state: sum(cell.state == state for cell in cells) for state in words}
    return "Cells: " + ", ".join(f"{count} {words[state]}" for state, count in counts.items() if count or state == "run") + "."


def _ui_command(uri: str, experiment: str) -> str:
    options = [f"--uri {uri}"] if uri else []
    options += [f"--experiment {experiment}"] if experiment != "dpbench" else []
    return " ".join(["python -m dpbench ui", *options])


def _split(argv: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the flags by their long names, with their values, and the overrides."""
    flags: dict[str, str] = {}
    overrides: list[str] = []
    rest = iter(argv)
    for argument in rest:
        if not argument.startswith("-"):
            overrides.append(argument)
            continue
        name, equals, value = argument.partition("=")
        flag = SHORT_FLAGS.get(name, name)
        if flag not in (*SWITCHES, *VALUED_FLAGS):
            raise Refused(f"There is no flag {name!r}.{near_names(name, [*SHORT_FLAGS, *SWITCHES, *VALUED_FLAGS])}")
        flags[flag] = value if equals or flag in SWITCHES else next(rest, "")
        if flag in VALUED_FLAGS and not flags[flag]:
            raise Refused(f"The flag {flag} needs a value.")
    return flags, overrides


def _for_hydra(flags: dict[str, str]) -> list[str]:
    return [f"{flag}={value}" if value else flag for flag, value in flags.items()]


def _inside_hydra(arguments: Sequence[str], job: Callable[[DictConfig], int] = lambda _: 0) -> int:
    """Start Hydra with these arguments, for its flags or for jobs under its logging and working folder; return the exit code."""
    import hydra

    register()
    codes = [0]
    failures: list[Exception] = []

    def task(config: DictConfig) -> None:
        if not failures:
            try:
                codes.append(job(config))
            except (Refused, Unfinished) as error:  # Hydra would print a line of its own before raising it again
                failures.append(error)

    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra raises its errors instead of printing them
    arguments_before, sys.argv = sys.argv, ["dpbench", *arguments]  # Hydra reads its arguments from nowhere else
    try:
        with hydra_errors_refused():
            hydra.main(config_path="pkg://dpbench.conf", config_name="config", version_base="1.3")(task)()
    except SystemExit as end:  # Hydra has printed its help, or refused one of its flags
        return end.code if isinstance(end.code, int) else 0
    finally:
        sys.argv = arguments_before
    for failure in failures:
        raise failure
    return max(codes)
