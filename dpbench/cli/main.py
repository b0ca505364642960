"""The subcommands, found by their files and imported when they are called, and the page that ``--help`` shows."""

import ast
import pkgutil
import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module

import click

import dpbench.cli
from dpbench.base.errors import Refused, check_known
from dpbench.base.garbage import end_start_up
from dpbench.base.terminal import shown
from dpbench.base.version import __version__


def main(arguments: Sequence[str]) -> int:
    """Run a subcommand, or answer ``--help`` and ``--version``; the result is the exit code."""
    arguments = list(arguments)
    if arguments[0].startswith(("-", "+", "~")) or "=" in arguments[0]:  # a run, for which one page explains everything
        arguments = [argument for argument in arguments if argument in ("--help", "-h", "--version")] or arguments
    try:
        # not _command.main: it turns a reader that left, and an interruption, into exit codes of its own
        with _command.make_context("python -m dpbench", arguments) as context:
            end_start_up()
            result = _command.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        raise Refused(error.format_message()) from None
    return result if isinstance(result, int) else 0


@cache
def subcommands() -> dict[str, str]:
    """The names of the subcommands, with the first line of their modules' docstrings."""
    names = [module.name for module in pkgutil.iter_modules(dpbench.cli.__path__) if module.name != "main"]
    return {name: _first_line(name) for name in sorted(names) if not name.startswith("_")}


def _first_line(name: str) -> str:
    """The first line of a module's docstring, read without importing it."""
    source = pkgutil.get_data("dpbench.cli", f"{name}.py") or b""
    line = (ast.get_docstring(ast.parse(source)) or "").split("\n")[0]
    return re.sub(r"^``[^`]*``: (.)", lambda start: start[1].upper(), line)  # the command's name is shown next to it


class _Subcommands(click.Group):
    """The group of the files in this folder."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(subcommands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        check_known("subcommand", [cmd_name], subcommands())
        command: click.Command = import_module(f"dpbench.cli.{cmd_name}").command
        return command

    def get_help(self, ctx: click.Context) -> str:
        from dpbench.cli._help_page import page

        return shown(page(subcommands()))  # the files of plugins may have any name


@click.group(cls=_Subcommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dpbench", message="%(prog)s %(version)s")
def _command() -> None:
    """Run a subcommand."""
