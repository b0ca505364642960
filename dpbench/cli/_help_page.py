"""The page that ``python -m dpbench --help`` shows. Its names and defaults are read from where they are defined."""

import json
import textwrap
from collections.abc import Iterable, Mapping
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from dpbench.base.options import Option, options_of
from dpbench.base.version import __version__
from dpbench.cells.cell import Settings
from dpbench.contracts.hooks import KINDS
from dpbench.data.splits import Splits
from dpbench.experiments.presets import HYDRA_CONFIGS, default_choices, preset_configs
from dpbench.registry.lookup import registry

WIDTH = 80

_COMMAND_KEYS = {
    "tracking.uri": ("sqlite:///mlflow.db", "where runs are recorded; a server's address works too"),
    "tracking.experiment": ("dpbench", "the MLflow experiment that holds the runs"),
    "audit.level": ("replay", "none, component, release, all: how each mechanism is tried before its cells are sound"),
    "engine.workers": ("all cores", "how many processes an engine starts or uses"),
    "engine.timeout": ("null", "seconds after which a cell fails"),
    "engine.scheduler": ("null", "the address of a Dask scheduler; null starts one"),
    "engine.address": ("null", "the address of a Ray cluster; null starts one"),
    "engine.folder": ("null", "where engine=files writes units for python -m dpbench work"),
    "zip": ("null", "keys that vary together instead of being multiplied: zip=epsilon,seed"),
    "skip": ("null", "combinations to leave out: skip='{mechanism:dpme,model:logistic}'"),
    "rerun": ("false", "run finished cells again"),
    "fail_fast": ("false", "end at the first failed cell"),
    "quick": ("false", "fewer repeats, for a first look"),
}


def page(subcommands: Mapping[str, str]) -> str:
    """Return the whole page, for a terminal of 80 columns."""
    components = registry()
    groups = {kind: ", ".join(components.names(kind)) for kind in KINDS} | _configured()
    default = default_choices()
    # the options that every component of a kind has are those of its contract
    shared = [row for kind, contract in KINDS.items() for row in _of(contract.load(), f"{kind}.")]
    keys = [*_of(Settings, ""), *_of(Splits, "splits."), *shared, *_COMMAND_KEYS.items()]
    template = files("dpbench.cli").joinpath("help_page.txt").read_text(encoding="utf-8")
    text = template.format(
        version=__version__,
        subcommands=_columns(subcommands.items()),
        groups=_columns((f"{group}={default[group]}" if group in default else group, names) for group, names in groups.items()),
        keys=_columns((f"{key}={value}", text) for key, (value, text) in keys),
    )
    broken = ", ".join(f"{entry.name} ({entry.health})" for entry in components.entries if entry.health in ("conflict", "broken"))
    return text.rstrip() + (f"\n\nNot usable: {broken}; `python -m dpbench plugins` says why." if broken else "")


def _configured() -> dict[str, str]:
    """Return the groups that are folders of configuration files with their choices, and the presets of papers."""
    paths = sorted(path.relative_to(HYDRA_CONFIGS) for path in HYDRA_CONFIGS.glob("*/*.yaml"))
    groups = {
        group: ", ".join(Path(*path.parts[1:]).with_suffix("").as_posix() for path in owned)
        for group, owned in groupby(paths, key=lambda path: path.parts[0])
    }
    return dict(sorted({**groups, "experiment": ", ".join(preset_configs())}.items()))


def _of(owner: type, prefix: str) -> list[tuple[str, tuple[str, str]]]:
    return [(prefix + opt.name, (_default_text(opt), opt.help)) for opt in options_of(owner)]


def _default_text(opt: Option) -> str:
    if opt.default is None or isinstance(opt.default, bool):
        return json.dumps(opt.default)
    if isinstance(opt.default, float):
        return f"{opt.default:g}"
    return str(list(opt.default) if isinstance(opt.default, tuple) else opt.default)


def _columns(rows: Iterable[tuple[str, str]]) -> str:
    """Return lines with the names at the left and the texts wrapped at the right."""
    rows = list(rows)
    left = max(len(name) for name, _ in rows) + 4
    lines = []
    for name, text in rows:
        wrapped = textwrap.wrap(text, WIDTH - left, break_on_hyphens=False) or [""]
        lines += [f"  {name:<{left - 2}}{wrapped[0]}".rstrip(), *(" " * left + line for line in wrapped[1:])]
    return "\n".join(lines) + "\n"
