"""The command line of a run: one cell without ``-m``, a sweep with it. Hydra composes, and answers its own flags."""

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from functools import partial

from omegaconf import DictConfig

from dpbench.base.errors import Refused
from dpbench.base.terminal import console, say, say_prose
from dpbench.records.cell_record import CellRecord
from dpbench.report.file_lines import file_lines
from dpbench.report.formatting import plural
from dpbench.report.summary import SweepSummary
from dpbench.sweeps.execution import Outcome, execute
from dpbench.sweeps.grid import Axis, GridPoint
from dpbench.sweeps.hydra.composition import points_of
from dpbench.sweeps.hydra.config_groups import register, register_presets
from dpbench.sweeps.hydra.flags import for_hydra, split
from dpbench.sweeps.hydra.overrides import hydra_errors_refused, parse
from dpbench.sweeps.plan import plan, refuse_pruned
from dpbench.sweeps.profile import profile_text
from dpbench.sweeps.quick import quick_sentences

IGNORED_SECTIONS = ("sweep", "sweeper", "launcher")
"""Sections of Hydra's configuration for sweeps, which dpbench runs itself."""


def main(argv: Sequence[str]) -> int:
    """Run what the command line requests, or let Hydra show it, and return the exit code."""
    flags, overrides = split(argv)
    sweep = "--multirun" in flags
    if "--hydra-help" in flags or "--shell-completion" in flags:
        return _inside_hydra([*for_hydra(flags), *overrides])
    axes = parse(overrides)
    for axis in axes:
        if axis.swept and not sweep:
            raise Refused(f"{axis.text!r} gives several values: add -m to sweep them.")
        if axis.for_hydra:
            _check_for_hydra(axis)
    points = points_of(axes, flags.get("--config-dir"), flags.get("--config-name", "config"))
    if "--cfg" in flags or "--info" in flags:
        return _inside_hydra([*for_hydra(flags), *overrides])
    if len(points) > 1 and not sweep:
        raise Refused(f"The experiment sweeps {len(points)} combinations: add -m to run them.")

    command = [argument for argument in argv if argument != "--profile"]
    run = partial(run_points, points, sweep=sweep, command=command, overrides=overrides, profile="--profile" in flags)
    hydra_overrides = [axis.text for axis in axes if axis.for_hydra]
    if not hydra_overrides:
        return run()
    configuration = {flag: value for flag, value in flags.items() if flag in ("--config-dir", "--config-name")}
    return _inside_hydra([*for_hydra(configuration), *hydra_overrides], lambda _: run())


def _check_for_hydra(axis: Axis) -> None:
    """Refuse an override of Hydra's own keys that would have no effect, or would take the sweep out of dpbench's hands."""
    section = axis.key.removeprefix("hydra")[1:].partition(".")[0]
    if axis.key == "hydra":
        raise Refused(f"The override {axis.text!r} replaces Hydra's whole configuration. Write one key, as in hydra.run.dir=…")
    if axis.text[0] in "+~":
        raise Refused(f"The override {axis.text!r} adds or deletes a key of Hydra's. Write key=value.")
    if section in IGNORED_SECTIONS and axis.text != "hydra/sweeper=dpbench":
        raise Refused(f"The override {axis.text!r} is about sweeps of Hydra's own. dpbench runs its sweeps itself: see engine=….")


def run_points(
    points: Sequence[GridPoint], *, sweep: bool, command: Sequence[str], overrides: Sequence[str], profile: bool = False
) -> int:
    """Run the points of a grid, print their table, say how to open the runs, and return the exit code."""
    from dpbench.report.terminal_answer import print_answer
    from dpbench.report.terminal_table import print_table

    planned, config = plan(points), points[0].config
    if not sweep:
        refuse_pruned(planned)
    for sentence in quick_sentences(planned, config):
        console().print(sentence)
    outcome = execute(planned, config, sweep=sweep, command=command, overrides=overrides)
    if sweep:
        outcome.omissions.attempt("the printed answer", lambda: print_answer(outcome.summary))
    else:
        print_table(outcome.summary)
    for note in outcome.summary.sweep.notes:
        say(f"Note: {note}")
    store = outcome.store if config["tracking"]["uri"] else ""
    releases = outcome.omissions.attempt("the release commands", lambda: _releases(outcome.summary)) or []
    for line in [*_where(outcome, store, config["tracking"]["experiment"]), *releases]:
        say(line)
    say(_counts(outcome.cells))
    say(f"Open the runs: {_ui_command(store, config['tracking']['experiment'])}")
    if profile:
        say(profile_text(), error=True)
    for sentence in outcome.sentences:
        say_prose(sentence, error=True)
    return outcome.exit_code


def _where(outcome: Outcome, uri: str, experiment: str) -> list[str]:
    """Return where a sweep's report and figures are, or the command that writes them; a preset's own figure comes first."""
    if not outcome.files:
        run_id = outcome.summary.sweep.run_id
        words = ["python", "-m", "dpbench", "report", run_id, *_store_options(uri, experiment)]
        return [f"Report: {shlex.join(words)}"] if run_id and not outcome.problem else []
    return file_lines(outcome.summary.sweep, outcome.files)


def _releases(summary: SweepSummary) -> list[str]:
    """Return the command that releases the picked row; of several problems the first, with how to find the others."""
    if not (commands := summary.release_commands):
        return []
    (title, first), *others = commands
    of = f" ({title})" if len(summary.boards) > 1 else ""
    rest = [f"{plural(len(others), 'more release command')}, one for each problem: in the report."] if others else []
    return [f"Release it{of}: {first}", *rest]


def _counts(cells: Sequence[CellRecord]) -> str:
    """Return how many cells ran, and how many did not and why."""
    words = {"run": "run", "resumed": "already recorded (rerun=true runs them again)", "failed": "FAILED", "pruned": "pruned"}
    counts = {state: sum(cell.state == state for cell in cells) for state in words}
    return "Cells: " + ", ".join(f"{count} {words[state]}" for state, count in counts.items() if count or state == "run") + "."


def _ui_command(uri: str, experiment: str) -> str:
    return shlex.join(["python", "-m", "dpbench", "ui", *_store_options(uri, experiment)])


def _store_options(uri: str, experiment: str) -> list[str]:
    return [*(["--uri", uri] if uri else []), *(["--experiment", experiment] if experiment != "dpbench" else [])]


def _inside_hydra(arguments: Sequence[str], job: Callable[[DictConfig], int] = lambda _: 0) -> int:
    """Start Hydra with these arguments, for its flags or for jobs under its logging and working folder; return the exit code."""
    import hydra

    register()
    register_presets()
    codes = [0]
    failures: list[Exception] = []

    def task(config: DictConfig) -> None:
        try:
            codes.append(job(config))
        except Exception as error:  # noqa: BLE001  Hydra would print a line of its own before raising it again
            failures.append(error)

    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra raises its errors instead of printing them
    arguments_before, sys.argv = sys.argv, ["dpbench", *arguments]  # Hydra reads its arguments from nowhere else
    try:
        with hydra_errors_refused():
            hydra.main(config_path="pkg://dpbench.conf", config_name="config", version_base="1.3")(task)()
    except BrokenPipeError:  # the reader of what Hydra prints has left
        raise
    except OSError as error:  # raised by Hydra itself: what a job raises is in `failures`
        raise Refused(f"Hydra cannot make its folder {error.filename}: {error.strerror}.") from None
    except SystemExit as end:  # Hydra has printed its help, or refused one of its flags
        return 2 if end.code else 0
    finally:
        sys.argv = arguments_before
    for failure in failures:
        raise failure
    return max(codes)
