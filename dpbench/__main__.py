"""The entry point ``python -m dpbench …``: a subcommand, a help page or the version, or else a run.

Hydra is imported for a run only, because importing it takes longer than answering most questions.
"""

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from dpbench.base.environment import check_environment
from dpbench.base.errors import Refused, Unfinished
from dpbench.base.garbage import garbage_postponed
from dpbench.base.interruption import interrupted_by_signals
from dpbench.base.terminal import say_prose
from dpbench.base.user_path import user_path

FAILED, REFUSED, INTERRUPTED = 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="dpbench")
    try:
        check_environment()
        arguments = _take_plugins_dir(list(sys.argv[1:] if argv is None else argv))
        module = "dpbench.sweeps.hydra.app" if _is_for_hydra(arguments) else "dpbench.cli.main"
        module = "dpbench.cli._completion" if _is_completion(arguments) else module
        with interrupted_by_signals(), garbage_postponed():
            code: int = import_module(module).main(arguments)
        sys.stdout.flush()
        return code
    except (Refused, Unfinished) as error:
        say_prose(" ".join(str(error).splitlines()).replace("\t", " "), error=True)
        return REFUSED if isinstance(error, Refused) else FAILED
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as `| head`, has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _is_for_hydra(arguments: list[str]) -> bool:
    """Return whether the arguments are overrides and flags of a run, rather than a subcommand, ``--help`` or ``--version``."""
    if not arguments:
        return True
    run = arguments[0].startswith(("-", "+", "~")) or "=" in arguments[0]
    return run and not {"--help", "-h", "--version"} & set(arguments)


def _is_completion(arguments: list[str]) -> bool:
    """Return whether a shell asks what may stand in a line."""
    flags = ("-sc", "--shell-completion")
    return len(arguments) == 2 and arguments[0] in flags and arguments[1].startswith("query=") and "COMP_LINE" in os.environ


def _take_plugins_dir(arguments: list[str]) -> list[str]:
    """Move ``--plugins-dir`` from the arguments to the environment, where worker processes see it too."""
    others: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        flag, equals, folder = argument.partition("=")
        if flag != "--plugins-dir":
            others.append(argument)
            continue
        folder = folder if equals else next(rest, "")
        if not folder:
            raise Refused("The option --plugins-dir must be followed by a folder. Got nothing instead.")
        os.environ["DPBENCH_PLUGINS_DIR"] = str(user_path(folder).resolve())
    return others


if __name__ == "__main__":
    sys.exit(main())
