"""Complete a command line for a shell: subcommands, their options and presets here, keys and values by Hydra."""

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr
from importlib import import_module

import click

from dpbench.cli.main import subcommands


def main(arguments: Sequence[str]) -> int:
    """Print what may stand at the end of COMP_LINE, which the shell's function sets, one word a line; Hydra adds its own."""
    from dpbench.sweeps.hydra import app

    words = os.environ["COMP_LINE"].split(" ")[1:]
    print("\n".join(word for word in _words(words) if word.startswith(words[-1])))
    if words[0] in subcommands() and len(words) > 1:
        if not _takes_overrides(words[0]):
            return 0
        words = words[1:]
    # Hydra knows no flags of ours, and reports what it cannot parse in the middle of the user's line
    os.environ["COMP_LINE"] = " ".join(["dpbench", *(word for word in words[:-1] if "=" in word and word[0] != "-"), words[-1]])
    with redirect_stderr(io.StringIO()):
        return app.main(arguments)


def _words(words: Sequence[str]) -> Iterator[str]:
    if len(words) == 1:
        yield from subcommands()
    elif words[0] in subcommands():
        for parameter in _command(words[0]).params:
            yield from parameter.opts if isinstance(parameter, click.Option) else ()
    if words[-1].startswith("experiment="):
        from dpbench.experiments.presets import preset_configs

        yield from (f"experiment={name}" for name in preset_configs())


def _takes_overrides(subcommand: str) -> bool:
    return any(parameter.name == "overrides" for parameter in _command(subcommand).params)


def _command(name: str) -> click.Command:
    command: click.Command = import_module(f"dpbench.cli.{name}").command
    return command
