"""``python -m dpbench …``: a question that is answered at once, or a run.

The command line is looked at before Hydra is imported, because importing it costs more than most answers.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from dpbench.base.errors import Refused, Unfinished

FAILED, REFUSED, INTERRUPTED = 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line asks for; the result is the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ε or box characters shows a mark instead
    try:
        code = _answer(_with_plugins_dir(list(sys.argv[1:] if argv is None else argv)))
        sys.stdout.flush()
        return code
    except Refused as refusal:
        print(" ".join(str(refusal).splitlines()), file=sys.stderr)
        return REFUSED
    except Unfinished as stop:
        print(" ".join(str(stop).splitlines()), file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader, `| head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _answer(arguments: list[str]) -> int:
    if _is_for_hydra(arguments):
        code: int = import_module("dpbench.sweeps.hydra.app").main(arguments)
        return code
    from dpbench.cli.main import run

    return run(arguments)


def _is_for_hydra(arguments: list[str]) -> bool:
    """Overrides and flags are Hydra's, unless the page or the version is asked for; a bare word is a subcommand."""
    if not arguments:
        return True
    first = arguments[0]
    if not (first.startswith(("-", "+", "~")) or "=" in first):
        return False
    return not {"--help", "-h", "--version"} & set(arguments)


def _with_plugins_dir(arguments: list[str]) -> list[str]:
    """Take ``--plugins-dir`` out of the arguments and into the environment, where worker processes see it too."""
    kept: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        flag, equals, folder = argument.partition("=")
        if flag != "--plugins-dir":
            kept.append(argument)
            continue
        folder = folder if equals else next(rest, "")
        if not folder:
            raise Refused("The option --plugins-dir must be followed by a folder. Got nothing instead.")
        os.environ["DPBENCH_PLUGINS_DIR"] = str(Path(folder).expanduser().resolve())
    return kept


if __name__ == "__main__":
    sys.exit(main())
