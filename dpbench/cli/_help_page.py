"""The page that ``python -m dpbench --help`` shows: every name in it is read from where it is defined."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from importlib.resources import files
from itertools import groupby
from pathlib import Path

import yaml

from dpbench.base.options import Option, options_of
from dpbench.base.version import __version__
from dpbench.cells.cell import Settings
from dpbench.contracts.kinds import KINDS
from dpbench.data.splits import Splits
from dpbench.experiments.papers import preset_configs
from dpbench.registry.lookup import registry

WIDTH = 80

_TOP = """\
dpbench {version}: a benchmark framework for differentially private regression.

It runs every mechanism on the same splits with the same random streams, and
records accuracy, privacy and attack results side by side in MLflow.

Usage: python -m dpbench [SUBCOMMAND] [KEY=VALUE ...]
       (`dpbench` is the same command)

Examples:
  python -m dpbench mechanism=fm epsilon=0.8
  python -m dpbench -m mechanism=fm,dpba epsilon=0.1,0.8,3.2
  python -m dpbench plan -m mechanism=fm,dpba epsilon=0.1,0.8,3.2
  python -m dpbench -m mechanism=fm mechanism.ridge=1,2,4 splits.repeats=10
  python -m dpbench ui

Without a subcommand it runs one cell, or, with -m, every combination of the
values that commas separate. A sweep that is run again runs only what is
missing or failed.
"""

_BELOW = """\
Options of one component stand below its group, as in mechanism.ridge=4;
`python -m dpbench plugins --json` lists them all.

Flags:
  -m, --multirun     sweep: commas separate values
  --plugins-dir DIR  also load the plugins that are single files in DIR
  --cfg job          print the configuration and run nothing
  --version          print the version
  -h, --help         print this page, or a subcommand's after its name

Environment:
  DPBENCH_PLUGINS_DIR      the same as --plugins-dir
  DPBENCH_DISABLE_PLUGINS  plugins to leave out: entry points or distributions,
                           separated by commas
  DPBENCH_STRICT_PLUGINS   1: a broken plugin is an error, with its traceback
  DPBENCH_CACHE            where `data fetch` keeps what it downloads
  IPUMS_API_KEY            your key, for `data fetch census`
  MLFLOW_TRACKING_URI      where runs are recorded, unless tracking.uri says so

Exit codes:
  0    all well
  1    something was run and did not hold: the table says which cell failed
  2    the request itself was refused; nothing was written
  130  interrupted
"""

_COMMAND_KEYS = {
    "tracking.uri": ("sqlite:///mlflow.db", "where runs are recorded; a server's address works too"),
    "tracking.experiment": ("dpbench", "the MLflow experiment that holds the runs"),
    "audit.level": ("none", "replay, component, release, all: try every cell's claim as well"),
    "engine.workers": ("all cores", "how many processes the local engine starts"),
    "rerun": ("false", "run finished cells again"),
    "quick": ("false", "fewer repeats, for a first look"),
}


def page(subcommands: Mapping[str, str]) -> str:
    """The whole page, for a terminal of 80 columns."""
    found = registry()
    groups = {kind: ", ".join(found.names(kind)) for kind in KINDS} | _configured()
    default = _defaults()
    keys = [*_of(Settings, ""), *_of(Splits, "splits."), *_shared(), *_COMMAND_KEYS.items()]
    sections = [
        _TOP.format(version=__version__),
        "Subcommands:\n" + _columns(subcommands.items()),
        "Groups, with what is chosen when nothing is said:\n"
        + _columns((f"{group}={default[group]}" if group in default else group, names) for group, names in groups.items()),
        "Keys, with what they are when nothing is said:\n" + _columns((f"{key}={value}", text) for key, (value, text) in keys),
        _BELOW,
    ]
    broken = [entry for entry in found.entries if entry.health != "ok"]
    if broken:
        names = ", ".join(f"{entry.name} ({entry.health})" for entry in broken)
        sections.append(f"Not usable: {names}; `python -m dpbench plugins` says why.\n")
    return "\n".join(sections).rstrip()


def _configured() -> dict[str, str]:
    """The groups that are folders of configuration files, with the choices in them, and the presets of papers."""
    folder = Path(str(files("dpbench.conf")))
    paths = sorted(path.relative_to(folder) for path in folder.glob("*/*.yaml"))
    groups = {
        group: ", ".join(Path(*path.parts[1:]).with_suffix("").as_posix() for path in owned)
        for group, owned in groupby(paths, key=lambda path: path.parts[0])
    }
    return dict(sorted({**groups, "experiment": ", ".join(preset_configs())}.items()))


def _defaults() -> dict[str, str]:
    """What the configuration chooses in each group."""
    chosen = yaml.safe_load(files("dpbench.conf").joinpath("config.yaml").read_text(encoding="utf-8"))["defaults"]
    return {group: name for item in chosen if isinstance(item, dict) for group, name in item.items()}


def _of(owner: type, prefix: str) -> list[tuple[str, tuple[str, str]]]:
    return [(prefix + opt.name, (_shown(opt), opt.help)) for opt in options_of(owner)]


def _shared() -> list[tuple[str, tuple[str, str]]]:
    """The options that every component of a kind has: those of its contract."""
    return [row for kind, contract in KINDS.items() for row in _of(contract.load(), f"{kind}.")]


def _shown(opt: Option) -> str:
    if opt.default is None:
        return "null"
    if isinstance(opt.default, bool):
        return str(opt.default).lower()
    if isinstance(opt.default, float):
        return f"{opt.default:g}"
    return str(list(opt.default) if isinstance(opt.default, tuple) else opt.default)


def _columns(rows: Iterable[tuple[str, str]]) -> str:
    """Names at the left, texts wrapped at the right."""
    rows = list(rows)
    left = max(len(name) for name, _ in rows) + 4
    lines = []
    for name, text in rows:
        wrapped = textwrap.wrap(text, WIDTH - left, break_on_hyphens=False) or [""]
        lines += [f"  {name:<{left - 2}}{wrapped[0]}".rstrip(), *(" " * left + line for line in wrapped[1:])]
    return "\n".join(lines) + "\n"
