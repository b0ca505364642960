"""Write the command that releases what a cell of a sweep fitted: ``python -m dpbench release …`` with its options."""

import math
import re
import shlex
from collections.abc import Mapping
from typing import Any

from dpbench.base.options import options_of
from dpbench.cells.cell import Settings
from dpbench.files.data_frames import PREFIX as FRAME_PREFIX
from dpbench.records.cell_record import CellRecord
from dpbench.registry.lookup import registry
from dpbench.sweeps.description import plugins_flag
from dpbench.sweeps.override_text import override_text

KINDS = ("mechanism", "model", "dataset")
SETTINGS = ("delta", "accounting", "sensitivity")
"""Settings that a release has in common with a cell, in addition to ε and what ε counts."""
ROW_OPTIONS = ("sample_rate", "resample")
"""Options of a dataset that draw rows for a run: a release is fitted on all rows."""
OUT = "model.json"
_FILE_NAME = re.compile(r"(?:[A-Za-z_]|\.{0,2}/)[\w./-]*\.\w+")
MATCH_TOLERANCE = 1e-3
"""Relative tolerance when comparing the accounted ε with the requested one."""


def release_command(cell: CellRecord) -> str:
    """Return the command, which releases at the ε that was accounted for the cell; empty if the cell cannot be released.

    A mechanism that counts ε in a unit of its own gets the number that it was given.
    """
    config, accounted = cell.detail.config, cell.metrics.get("privacy/epsilon_accounted", math.inf)
    if not (cell.ranked and cell.epsilon and math.isfinite(accounted)) or not all(kind in config for kind in KINDS):
        return ""
    if FRAME_PREFIX in str(config["dataset"].get("path", "")):  # a table that was passed from Python is no file
        return ""
    words = [word for kind in KINDS for word in _component(kind, config[kind], str(config.get("sensitivity", "")))]
    own_unit = abs(accounted - cell.epsilon) > MATCH_TOLERANCE * cell.epsilon
    words += [f"epsilon={cell.epsilon:g}", *(["budget=claimed"] if own_unit else [])]
    words += [f"{key}={override_text(config[key])}" for key in SETTINGS if config.get(key) != getattr(Settings(), key)]
    return shlex.join(["python", "-m", "dpbench", *plugins_flag(), "release", *words, f"out={OUT}"])


def _component(kind: str, section: Mapping[str, Any], sensitivity: str) -> list[str]:
    """Return a component's name, and its options that are not the defaults; the rule for bounds is a setting of its own."""
    defaults = {option.name: option.default for option in options_of(registry().get(kind, section["name"]))}
    options = {name: value for name, value in section.items() if name in defaults and _plain(value) != _plain(defaults[name])}
    if options.get("sensitivity") == sensitivity:
        del options["sensitivity"]
    if kind == "dataset":
        options = {name: value for name, value in options.items() if name not in ROW_OPTIONS}
    return [f"{kind}={section['name']}", *(f"{kind}.{name}={_text(value)}" for name, value in options.items())]


def _text(value: Any) -> str:
    """Return a value as a person would type it: the name of a file needs no quotes."""
    if isinstance(value, str) and _FILE_NAME.fullmatch(value):
        return value
    return override_text(tuple(value) if isinstance(value, list) else value)


def _plain(value: Any) -> Any:
    """Return a value such that a list and a tuple of the same items are equal."""
    return list(value) if isinstance(value, tuple) else value
